//! openapi.yaml as a judge: is this answer declared, and does its body have the declared form?

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

const OPENAPI: &str = include_str!("../../../openapi.yaml");

/// The contract, and which of its operations were exercised.
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
    /// Its `operationId`.
    pub id: String,
    /// Its method, in capitals.
    pub method: String,
    /// Its path, with parameters in braces.
    pub path: String,
    /// Whether it needs no token.
    pub public: bool,
}

/// What came back, as far as the contract is concerned.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// The request's method.
    pub method: &'a str,
    /// The request's path, without the query.
    pub path: &'a str,
    /// The answer's status.
    pub status: u16,
    /// The answer's Content-Type.
    pub content_type: Option<&'a str>,
    /// The answer's body; `None` for a stream that is read later.
    pub body: Option<&'a [u8]>,
}

impl Default for Contract {
    fn default() -> Self {
        Self::new()
    }
}

impl Contract {
    /// Reads openapi.yaml.
    pub fn new() -> Self {
        let document: Value = serde_saphyr::from_str(OPENAPI).expect("openapi.yaml is YAML");
        Self(Arc::new(Inner {
            operations: operations(&document),
            document,
            validators: Mutex::default(),
            exercised: Mutex::default(),
        }))
    }

    /// Every operation.
    pub fn operations(&self) -> &[Operation] {
        &self.0.operations
    }

    /// The operations that no successful answer came from yet.
    pub fn unexercised(&self) -> Vec<String> {
        let exercised = lock(&self.0.exercised);
        let ids = self.0.operations.iter().map(|operation| &operation.id);
        ids.filter(|id| !exercised.contains(*id)).cloned().collect()
    }

    /// Holds an answer against the contract.
    pub fn check(&self, exchange: Exchange<'_>) -> Result<(), String> {
        let Exchange {
            method,
            path,
            status,
            ..
        } = exchange;
        let told = |reason: String| format!("{method} {path} answered {status}: {reason}");
        // HEAD is GET without a body.
        let (method, headless) = if method == "HEAD" {
            ("GET", true)
        } else {
            (method, false)
        };
        let Some(operation) = self.find(method, path) else {
            return self.check_undeclared(exchange).map_err(told);
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
            .ok_or_else(|| told("the contract has no such answer".into()))?;
        if headless {
            return Ok(());
        }
        self.check_content(&response, exchange).map_err(told)
    }

    /// Holds an error that no operation made (an unknown path, no HTTP at all) against the contract.
    fn check_undeclared(&self, exchange: Exchange<'_>) -> Result<(), String> {
        if exchange.status < 400 {
            return Err("the contract has no such operation".into());
        }
        if exchange.method == "HEAD" {
            return Ok(());
        }
        self.check_content("#/components/responses/Failure", exchange)
    }

    /// Holds an event of a stream against the contract.
    pub fn check_event(&self, name: &str, data: &Value) -> Result<(), String> {
        let at = "#/paths/~1events/get/responses/200/content/text~1event-stream/x-events";
        self.validate(&format!("{at}/{name}"), data)
            .map_err(|reason| format!("event '{name}': {reason}"))
    }

    fn find(&self, method: &str, path: &str) -> Option<&Operation> {
        let mut all = self.0.operations.iter();
        all.find(|operation| operation.method == method && matches(&operation.path, path))
    }

    /// The place in the document that `at` names, behind one `$ref`; `None` if there is none.
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
        self.validate(
            &format!("{response}/content/{}/schema", escape(kind)),
            &value,
        )
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

    /// The validator of the schema at a place, made once.
    fn validator(&self, at: &str) -> Result<Arc<Validator>, String> {
        if let Some(validator) = lock(&self.0.validators).get(at) {
            return Ok(Arc::clone(validator));
        }
        if self.0.document.pointer(&at[1..]).is_none() {
            return Err(format!("the contract has no {at}"));
        }
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            // A reference is a URI, in which braces are written otherwise.
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

/// Whether `path` is one of `template`'s. A last `{path}` stands for all that follows, slashes included.
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

/// A key as a part of a JSON pointer (RFC 6901).
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
    fn an_answer_as_declared_is_taken_and_counted() {
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
    fn what_is_not_declared_is_refused() {
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
    fn the_examples_keep_their_own_schemas() {
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
                }
            }
        }
    }
}
