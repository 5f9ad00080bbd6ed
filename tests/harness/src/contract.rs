//! Validates responses against openapi.yaml: is the response declared, and does its body match the schema?

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

const OPENAPI: &str = include_str!("../../../openapi.yaml");

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

/// The parts of an exchange that the contract describes.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// The request's method.
    pub method: &'a str,
    /// The request's path, without the query.
    pub path: &'a str,
    /// The response's status.
    pub status: u16,
    /// The response's Content-Type.
    pub content_type: Option<&'a str>,
    /// The response's body; `None` for a stream, which is read later.
    pub body: Option<&'a [u8]>,
}

impl Default for Contract {
    fn default() -> Self {
        Self::new()
    }
}

impl Contract {
    /// Parses openapi.yaml.
    pub fn new() -> Self {
        let document: Value = serde_saphyr::from_str(OPENAPI).expect("openapi.yaml is YAML");
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

    /// Validates a response.
    pub fn check(&self, exchange: Exchange<'_>) -> Result<(), String> {
        let Exchange {
            method,
            path,
            status,
            ..
        } = exchange;
        let broken = |reason: String| format!("{method} {path} answered {status}: {reason}");
        // HEAD is GET without a body.
        let (method, headless) = if method == "HEAD" {
            ("GET", true)
        } else {
            (method, false)
        };
        let Some(operation) = self.find(method, path) else {
            return self.check_undeclared(exchange).map_err(broken);
        };
        if status < 400 {
            lock(&self.0.exercised).insert(operation.id.clone());
        }
        let at = pointer(&[
            "paths",
            &operation.path,
            &method.to_ascii_lowercase(),
            "responses",
        ]);
        let response = self
            .resolve(&format!("{at}/{status}"))
            .or_else(|| {
                self.resolve(&format!("{at}/default"))
                    .filter(|_| status >= 400)
            })
            .ok_or_else(|| broken("the contract has no such answer".into()))?;
        if headless {
            return Ok(());
        }
        self.check_content(&response, exchange).map_err(broken)
    }

    /// Validates an error outside any operation (an unknown path, malformed HTTP).
    fn check_undeclared(&self, exchange: Exchange<'_>) -> Result<(), String> {
        if exchange.status < 400 {
            return Err("the contract has no such operation".into());
        }
        if exchange.method == "HEAD" {
            return Ok(());
        }
        self.check_content("#/components/responses/Failure", exchange)
    }

    /// Validates an event of a stream.
    pub fn check_event(&self, name: &str, data: &Value) -> Result<(), String> {
        let at = "#/components/schemas/StreamEvents/properties";
        self.validate(&format!("{at}/{name}"), data)
            .map_err(|reason| format!("event '{name}': {reason}"))
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

    fn check_content(&self, response: &str, exchange: Exchange<'_>) -> Result<(), String> {
        let declared = self
            .0
            .document
            .pointer(&format!("{}/content", &response[1..]));
        let essence = exchange
            .content_type
            .map(|kind| kind.split(';').next().unwrap_or(kind).trim());
        let Some(declared) = declared.and_then(Value::as_object) else {
            return match exchange.body {
                Some([]) | None => Ok(()),
                Some(_) => Err("a body where none is declared".into()),
            };
        };
        let kind = essence
            .filter(|kind| declared.contains_key(*kind))
            .ok_or_else(|| {
                format!(
                    "the content type {:?} is not declared",
                    exchange.content_type
                )
            })?;
        let Some(body) = exchange.body.filter(|_| kind.ends_with("json")) else {
            return Ok(());
        };
        let value: Value =
            serde_json::from_slice(body).map_err(|error| format!("no JSON: {error}"))?;
        if kind == "application/problem+json" && value["status"] != exchange.status {
            return Err(format!("the problem says {}", value["status"]));
        }
        if kind == "application/problem+json" {
            self.check_code(response, &value)?;
        }
        self.validate(
            &format!("{response}/content/{}/schema", escape(kind)),
            &value,
        )
    }

    /// Validates a problem's code: errors share one schema, and a response lists the codes of each status.
    fn check_code(&self, response: &str, problem: &Value) -> Result<(), String> {
        let Some(codes) = self
            .0
            .document
            .pointer(&format!("{}/x-codes", &response[1..]))
        else {
            return Ok(());
        };
        let codes = codes[problem["status"].to_string()].as_array();
        match codes {
            Some(codes) if codes.contains(&problem["code"]) => Ok(()),
            _ => Err(format!("the code {} is not declared", problem["code"])),
        }
    }

    fn validate(&self, at: &str, value: &Value) -> Result<(), String> {
        let errors: Vec<String> = self
            .validator(at)?
            .iter_errors(value)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(format!("{} in {value}", errors.join("; ")))
        }
    }

    /// Returns the validator of the schema at a JSON pointer, compiled once.
    fn validator(&self, at: &str) -> Result<Arc<Validator>, String> {
        if let Some(validator) = lock(&self.0.validators).get(at) {
            return Ok(Arc::clone(validator));
        }
        if self.0.document.pointer(&at[1..]).is_none() {
            return Err(format!("the contract has no {at}"));
        }
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            // A `$ref` is a URI, in which braces are percent-encoded.
            "$ref": at.replace('{', "%7B").replace('}', "%7D"),
            "paths": self.0.document["paths"],
            "components": self.0.document["components"],
        });
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        let validator = Arc::new(validator);
        lock(&self.0.validators).insert(at.into(), Arc::clone(&validator));
        Ok(validator)
    }
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"]
        .as_object()
        .expect("openapi.yaml has paths")
    {
        for (method, operation) in item.as_object().expect("a path is an object") {
            let Some(id) = operation.get("operationId").and_then(Value::as_str) else {
                continue;
            };
            operations.push(Operation {
                id: id.into(),
                method: method.to_ascii_uppercase(),
                path: path.clone(),
                public: operation
                    .get("security")
                    .is_some_and(|security| security == &json!([])),
            });
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
    template.clone().count() == path.clone().count()
        && template
            .zip(path)
            .all(|(part, given)| part.starts_with('{') && !given.is_empty() || part == given)
}

fn pointer(parts: &[&str]) -> String {
    parts
        .iter()
        .fold("#".into(), |at, part| format!("{at}/{}", escape(part)))
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

    fn exchange<'a>(method: &'a str, path: &'a str, status: u16, body: &'a [u8]) -> Exchange<'a> {
        let content_type = if status < 400 {
            "application/json"
        } else {
            "application/problem+json"
        };
        Exchange {
            method,
            path,
            status,
            content_type: Some(content_type),
            body: Some(body),
        }
    }

    #[test]
    fn a_declared_response_is_accepted_and_counted() {
        let contract = Contract::new();
        contract
            .check(exchange(
                "PUT",
                "/notifications/1/seen",
                200,
                br#"{"seen":true}"#,
            ))
            .unwrap();
        assert!(!contract.unexercised().contains(&"markSeen".to_owned()));
        assert!(contract.unexercised().contains(&"unmarkSeen".to_owned()));
    }

    #[test]
    fn an_undeclared_response_is_refused() {
        let contract = Contract::new();
        for (method, path, status, body) in [
            (
                "PUT",
                "/notifications/1/seen",
                200,
                &br#"{"seen":true,"more":1}"#[..],
            ),
            ("PUT", "/notifications/1/seen", 200, br#"{"seen":1}"#),
            ("PUT", "/notifications/1/seen", 202, br#"{"seen":true}"#),
            ("GET", "/nowhere", 200, b"{}"),
            (
                "GET",
                "/nowhere",
                404,
                br#"{"status":404,"code":"not_found","title":"no such path"}"#,
            ),
            (
                "GET",
                "/healthz",
                422,
                br#"{"status":422,"code":"invalid","title":"t","hint":"h"}"#,
            ),
            (
                "GET",
                "/inboxes",
                401,
                br#"{"status":403,"code":"unauthorized","title":"t","hint":"h"}"#,
            ),
        ] {
            let checked = contract.check(exchange(method, path, status, body));
            assert!(checked.is_err(), "{method} {path} {status}");
        }
    }

    #[test]
    fn the_examples_match_their_own_schemas() {
        let contract = Contract::new();
        let schemas = contract.0.document["components"]["schemas"]
            .as_object()
            .unwrap();
        for (name, schema) in schemas {
            let at = format!("#/components/schemas/{name}");
            contract.validator(&at).unwrap();
            if let Some(example) = schema.get("example") {
                contract.validate(&at, example).unwrap();
            }
        }
        let responses = contract.0.document["components"]["responses"]
            .as_object()
            .unwrap();
        for (name, response) in responses {
            for (kind, media) in response["content"].as_object().unwrap() {
                let at = format!(
                    "#/components/responses/{name}/content/{}/schema",
                    escape(kind)
                );
                if let Some(example) = media.get("example") {
                    contract.validate(&at, example).unwrap();
                    let at = format!("#/components/responses/{name}");
                    if kind == "application/problem+json" {
                        contract.check_code(&at, example).unwrap();
                    }
                }
            }
        }
    }
}
