//! Validates responses against openapi.yaml: is the response declared, and does its body match the schema?

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// openapi.yaml as JSON, which each test reads in a fraction of the time.
const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

const SCHEMAS: &str = "#/components/schemas/";

/// The contract, which records the exercised operations.
#[derive(Debug, Clone)]
pub struct Contract(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    document: Value,
    operations: Vec<Operation>,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
    exercised: Mutex<BTreeSet<String>>,
}

/// One operation of the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The `operationId`.
    pub id: String,
    /// The method, in capitals.
    pub method: String,
    /// The path, with parameters in braces.
    pub path: String,
    /// Whether it needs no token.
    pub public: bool,
}

/// The parts of a response that the contract describes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response<'a> {
    pub status: u16,
    pub content_type: Option<&'a str>,
    /// The body; `None` for a stream, which is read later.
    pub body: Option<&'a [u8]>,
}

impl Contract {
    /// Reads openapi.yaml.
    #[allow(clippy::new_without_default)] // nothing wants a default
    pub fn new() -> Self {
        let document: Value = serde_json::from_str(OPENAPI).expect("openapi.json is JSON");
        Self(Arc::new(Inner {
            operations: operations(&document),
            document,
            validators: Mutex::default(),
            exercised: Mutex::default(),
        }))
    }

    /// Returns all operations.
    pub fn operations(&self) -> &[Operation] {
        &self.0.operations
    }

    /// Returns the ids of the operations without a successful response so far.
    pub fn unexercised(&self) -> Vec<String> {
        let exercised = lock(&self.0.exercised);
        let ids = self.0.operations.iter().map(|operation| &operation.id);
        ids.filter(|id| !exercised.contains(*id)).cloned().collect()
    }

    /// Validates a response to a request; panics if it breaks the contract. The path has no query.
    pub(crate) fn validate_response(&self, method: &str, path: &str, response: Response<'_>) {
        if let Err(reason) = self.check(method, path, response) {
            let status = response.status;
            panic!("the contract is broken: {method} {path} answered {status}: {reason}")
        }
    }

    fn check(&self, method: &str, path: &str, response: Response<'_>) -> Result<(), String> {
        // HEAD is GET without a body.
        let (asked, headless) = match method {
            "HEAD" => ("GET", true),
            _ => (method, false),
        };
        let declared = match self.find(asked, path) {
            Some(operation) => self.declared(operation, response.status)?,
            None if response.status < 400 => {
                return Err("the contract has no such operation".into());
            }
            // An error outside any operation: an unknown path, malformed HTTP.
            None => "#/components/responses/Failure".into(),
        };
        if headless {
            return Ok(());
        }
        self.check_content(&declared, response)
    }

    /// Returns the JSON pointer of the operation's response with this status, and notes that it was exercised.
    fn declared(&self, operation: &Operation, status: u16) -> Result<String, String> {
        if status < 400 {
            lock(&self.0.exercised).insert(operation.id.clone());
        }
        let (path, method) = (
            escape(&operation.path),
            operation.method.to_ascii_lowercase(),
        );
        let at = format!("#/paths/{path}/{method}/responses");
        let default = || {
            self.resolve(&format!("{at}/default"))
                .filter(|_| status >= 400)
        };
        let declared = self.resolve(&format!("{at}/{status}")).or_else(default);
        declared.ok_or_else(|| "the contract has no such answer".into())
    }

    /// Validates an event of a stream; panics if it breaks the contract.
    pub(crate) fn validate_event(&self, name: &str, data: &Value) {
        let at = format!("#/components/schemas/StreamEvents/properties/{name}");
        if let Err(reason) = self.validate(&at, data) {
            panic!("the contract is broken: event '{name}': {reason}")
        }
    }

    fn find(&self, method: &str, path: &str) -> Option<&Operation> {
        let mut all = self.0.operations.iter();
        all.find(|operation| operation.method == method && matches(&operation.path, path))
    }

    /// Returns the JSON pointer that `at` resolves to through at most one `$ref`; `None` if nothing is there.
    fn resolve(&self, at: &str) -> Option<String> {
        let value = self.0.document.pointer(at.strip_prefix('#')?)?;
        let target = value.get("$ref").and_then(Value::as_str);
        Some(target.unwrap_or(at).to_owned())
    }

    fn check_content(&self, at: &str, response: Response<'_>) -> Result<(), String> {
        let declared = self.0.document.pointer(&format!("{}/content", &at[1..]));
        let Some(declared) = declared.and_then(Value::as_object) else {
            return match response.body {
                Some([]) | None => Ok(()),
                Some(_) => Err("a body where none is declared".into()),
            };
        };
        let kind = response.content_type.unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or(kind).trim();
        if !declared.contains_key(kind) {
            return Err(format!("the content type '{kind}' is not declared"));
        }
        let Some(body) = response.body.filter(|_| kind.ends_with("json")) else {
            return Ok(());
        };
        let value: Value =
            serde_json::from_slice(body).map_err(|error| format!("no JSON: {error}"))?;
        if kind == "application/problem+json" {
            if value["status"] != response.status {
                return Err(format!("the problem says {}", value["status"]));
            }
            self.check_code(at, &value)?;
        }
        let schema = format!("{at}/content/{}/schema", escape(kind));
        self.validate(&schema, &value)
    }

    /// Validates a problem's code: errors share one schema, and a response lists the codes of each status.
    fn check_code(&self, response: &str, problem: &Value) -> Result<(), String> {
        let codes = format!("{}/x-codes", &response[1..]);
        let Some(codes) = self.0.document.pointer(&codes) else {
            return Ok(());
        };
        match codes[problem["status"].to_string()].as_array() {
            Some(codes) if codes.contains(&problem["code"]) => Ok(()),
            _ => Err(format!("the code {} is not declared", problem["code"])),
        }
    }

    fn validate(&self, at: &str, value: &Value) -> Result<(), String> {
        let validator = self.validator(at)?;
        let errors = validator.iter_errors(value);
        let errors = errors.map(|error| format!("{error} at {}; ", error.instance_path()));
        match errors.collect::<String>().as_str() {
            "" => Ok(()),
            errors => Err(format!("{errors}in {value}")),
        }
    }

    /// Returns the schema at a JSON pointer, with the other schemas that it needs and no more: it is compiled for each test.
    fn schema(&self, at: &str) -> Value {
        let document = &self.0.document;
        let schema = document.pointer(&at[1..]).expect("it was found");
        let mut referred = Map::new();
        add_referred(document, schema, &mut referred);
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "allOf": [schema],
            "components": { "schemas": referred },
        })
    }

    /// Returns the validator of the schema at a JSON pointer, compiled once.
    fn validator(&self, at: &str) -> Result<Arc<Validator>, String> {
        if let Some(validator) = lock(&self.0.validators).get(at) {
            return Ok(Arc::clone(validator));
        }
        if self.0.document.pointer(&at[1..]).is_none() {
            return Err(format!("the contract has no {at}"));
        }
        let validator =
            jsonschema::validator_for(&self.schema(at)).map_err(|error| error.to_string())?;
        let validator = Arc::new(validator);
        lock(&self.0.validators).insert(at.into(), Arc::clone(&validator));
        Ok(validator)
    }
}

/// Adds the schemas that a schema refers to, and those that they refer to.
fn add_referred(document: &Value, schema: &Value, found: &mut Map<String, Value>) {
    match schema {
        Value::Array(items) => items
            .iter()
            .for_each(|it| add_referred(document, it, found)),
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str);
            if let Some(name) = name.and_then(|it| it.strip_prefix(SCHEMAS)) {
                let referred = &document["components"]["schemas"][name];
                if found.insert(name.to_owned(), referred.clone()).is_none() {
                    add_referred(document, referred, found);
                }
            }
            fields
                .values()
                .for_each(|it| add_referred(document, it, found));
        }
        _ => {}
    }
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    let paths = document["paths"].as_object();
    for (path, item) in paths.expect("openapi.yaml has paths") {
        for (method, operation) in item.as_object().expect("a path is an object") {
            if let Some(id) = operation["operationId"].as_str() {
                operations.push(Operation {
                    id: id.into(),
                    method: method.to_ascii_uppercase(),
                    path: path.clone(),
                    public: operation["security"] == json!([]),
                });
            }
        }
    }
    operations
}

/// Returns whether `path` matches `template`. A last `{path}` matches the whole rest, slashes included.
fn matches(template: &str, path: &str) -> bool {
    if let Some(before) = template.strip_suffix("{path}") {
        return path
            .strip_prefix(before)
            .is_some_and(|rest| !rest.is_empty());
    }
    let (template, path) = (template.split('/'), path.split('/'));
    let fits =
        |(part, given): (&str, &str)| part.starts_with('{') && !given.is_empty() || part == given;
    template.clone().count() == path.clone().count() && template.zip(path).all(fits)
}

/// Escapes a key for a JSON pointer (RFC 6901).
fn escape(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(contract: &Contract, asked: &str, status: u16, body: &str) -> Result<(), String> {
        let (method, path) = asked.split_once(' ').unwrap();
        let content_type = match status {
            ..400 => "application/json",
            _ => "application/problem+json",
        };
        let response = Response {
            status,
            content_type: Some(content_type),
            body: Some(body.as_bytes()),
        };
        contract.check(method, path, response)
    }

    const SEEN: &str = "PUT /notifications/1/seen";

    #[test]
    fn a_declared_response_is_accepted_and_counted() {
        let contract = Contract::new();
        checked(&contract, SEEN, 200, r#"{"seen":true,"changed":1}"#).unwrap();
        assert!(!contract.unexercised().contains(&"markSeen".to_owned()));
        assert!(contract.unexercised().contains(&"unmarkSeen".to_owned()));
    }

    #[test]
    fn an_undeclared_response_is_refused() {
        let contract = Contract::new();
        let refuses = |asked, status, body| {
            assert!(
                checked(&contract, asked, status, body).is_err(),
                "{asked} {status} {body}"
            );
        };
        let problem = r#"{"status":404,"code":"not_found","title":"no such path"}"#;
        let invalid = r#"{"status":422,"code":"invalid","title":"t","hint":"h"}"#;
        let other = r#"{"status":403,"code":"unauthorized","title":"t","hint":"h"}"#;
        refuses(SEEN, 200, r#"{"seen":true,"more":1}"#);
        refuses(SEEN, 200, r#"{"seen":1}"#);
        refuses(SEEN, 202, r#"{"seen":true}"#);
        refuses("GET /nowhere", 200, "{}");
        refuses("GET /nowhere", 404, problem);
        refuses("GET /healthz", 422, invalid);
        refuses("GET /inboxes", 401, other);
    }

    #[test]
    fn the_examples_match_their_own_schemas() {
        let contract = Contract::new();
        let components = &contract.0.document["components"];
        for (name, schema) in components["schemas"].as_object().unwrap() {
            let at = format!("#/components/schemas/{name}");
            contract.validator(&at).unwrap();
            if let Some(example) = schema.get("example") {
                contract.validate(&at, example).unwrap();
            }
        }
        for (name, response) in components["responses"].as_object().unwrap() {
            let at = format!("#/components/responses/{name}");
            for (kind, media) in response["content"].as_object().unwrap() {
                let Some(example) = media.get("example") else {
                    continue;
                };
                let schema = format!("{at}/content/{}/schema", escape(kind));
                contract.validate(&schema, example).unwrap();
                if kind == "application/problem+json" {
                    contract.check_code(&at, example).unwrap();
                }
            }
        }
    }
}
