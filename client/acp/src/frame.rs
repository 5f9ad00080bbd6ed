//! The lines of the protocol: JSON-RPC 2.0, one message a line.

use serde_json::{Value, json};

/// The code of an error for a method that this side does not have.
pub(crate) const UNKNOWN_METHOD: i64 = -32601;

/// One message, with the line that it came as.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// The line, to be passed on as it is.
    pub(crate) line: String,
    message: Value,
}

/// The kind of a message, with its parts.
#[derive(Debug, PartialEq)]
pub(crate) enum Message<'a> {
    /// It wants an answer.
    Request {
        id: &'a Value,
        method: &'a str,
        params: &'a Value,
    },
    /// It wants none.
    Notification { method: &'a str, params: &'a Value },
    /// The result of a request, or its error.
    Response {
        id: &'a Value,
        outcome: Result<&'a Value, &'a Value>,
    },
    /// Something else, which only a proxy passes on.
    Other,
}

impl Frame {
    /// Reads a line. What is no JSON is [`Message::Other`].
    pub(crate) fn new(line: String) -> Self {
        let message = serde_json::from_str(&line).unwrap_or_default();
        Self { line, message }
    }

    /// The message of the line.
    pub(crate) fn message(&self) -> Message<'_> {
        let of = &self.message;
        let (id, method, params) = (of.get("id"), of["method"].as_str(), &of["params"]);
        match (id, method) {
            (Some(id), Some(method)) => Message::Request { id, method, params },
            (None, Some(method)) => Message::Notification { method, params },
            (Some(id), None) => match (of.get("result"), of.get("error")) {
                (_, Some(error)) => Message::Response {
                    id,
                    outcome: Err(error),
                },
                (result, None) => Message::Response {
                    id,
                    outcome: Ok(result.unwrap_or(&Value::Null)),
                },
            },
            (None, None) => Message::Other,
        }
    }

    /// The line of the same message with other parameters.
    pub(crate) fn with_params(&self, params: Value) -> String {
        let mut message = self.message.clone();
        message["params"] = params;
        message.to_string()
    }
}

/// The line of a request.
pub(crate) fn request(id: impl Into<Value>, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }).to_string()
}

/// The line of a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// The line of an answer.
pub(crate) fn response(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// The line of an error.
pub(crate) fn failure(id: &Value, code: i64, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string()
}

/// The words of an error, with the details that the agent adds.
pub(crate) fn words(error: &Value) -> String {
    let message = error["message"]
        .as_str()
        .unwrap_or("the agent gave no reason");
    let details = match &error["data"] {
        Value::String(text) => Some(text.as_str()),
        data => ["details", "message", "errorKind"]
            .iter()
            .find_map(|it| data[*it].as_str()),
    };
    match details.filter(|it| !message.contains(it)) {
        Some(details) => format!("{message}: {details}"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_request_a_notification_an_answer_or_something_else() {
        let (one, params) = (json!(1), json!({"a": 2}));
        let of = |line: &str| Frame::new(line.to_owned());
        let method = "m";
        assert_eq!(
            of(&request(1, method, &params)).message(),
            Message::Request {
                id: &one,
                method,
                params: &params
            }
        );
        assert_eq!(
            of(&notification(method, &params)).message(),
            Message::Notification {
                method,
                params: &params
            }
        );
        assert_eq!(
            of(&response(&one, &params)).message(),
            Message::Response {
                id: &one,
                outcome: Ok(&params)
            }
        );
        let failed = of(&failure(&one, -1, "no"));
        let Message::Response {
            outcome: Err(error),
            ..
        } = failed.message()
        else {
            panic!("{failed:?}")
        };
        assert_eq!(words(error), "no");
        for other in ["", "[1]", "{}", "x"] {
            assert_eq!(of(other).message(), Message::Other, "{other}");
        }
    }

    #[test]
    fn other_parameters_change_nothing_else() {
        let line = r#"{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":1},"_meta":{"z":0}}"#;
        let changed = Frame::new(line.into()).with_params(json!({"a": 2}));
        assert_eq!(changed, line.replace(":1}", ":2}"));
    }
}
