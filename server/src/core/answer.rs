//! The answers that an agent's hook takes for its dialog: a text, a decision, or the content of a form.

use hub_protocol::verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The kind of answer that a held hook takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerKind {
    /// Any text.
    Text,
    /// A decision on a permission.
    Permission,
    /// A decision on a plan.
    Plan,
    /// The content of an MCP server's form, or a refusal.
    Form,
}

impl AnswerKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Text, Self::Permission, Self::Plan, Self::Form];

    /// Whether the agent can use this answer.
    pub fn accepts(self, answer: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Permission | Self::Plan => verdict(answer).is_some(),
            Self::Form => FormAnswer::parse(answer).is_some(),
        }
    }

    /// The answers that the agent can use, for people.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Text => "answer with a text",
            Self::Permission => "answer allow, allow always, or deny: why",
            Self::Plan => "answer approve, approve: accept edits, or reject: why",
            Self::Form => "answer accept: {JSON}, decline, or cancel",
        }
    }
}

/// The answer to an MCP server's form.
#[derive(Debug, Clone, PartialEq)]
pub enum FormAnswer {
    /// The form's content.
    Accept(Map<String, Value>),
    /// The person does not want to answer.
    Decline,
    /// The person closed the form.
    Cancel,
}

impl FormAnswer {
    /// Reads `accept: {JSON}`, a JSON object, `decline` or `cancel`.
    pub fn parse(answer: &str) -> Option<Self> {
        let answer = answer.trim();
        match answer {
            "accept" => return Some(Self::Accept(Map::new())),
            "decline" => return Some(Self::Decline),
            "cancel" => return Some(Self::Cancel),
            _ => {}
        }
        let json = answer.strip_prefix("accept:").unwrap_or(answer);
        serde_json::from_str(json).ok().map(Self::Accept)
    }
}

/// Completes the answer to a form with this schema: a plain text is the value of the form's only field. Fails if the
/// answer does not fit the form.
pub fn fill_form(schema: &Value, answer: &str) -> Result<String, String> {
    let fields = schema["properties"].as_object();
    let content = match FormAnswer::parse(answer) {
        Some(FormAnswer::Accept(content)) => content,
        Some(FormAnswer::Decline | FormAnswer::Cancel) => return Ok(answer.to_owned()),
        None => match fields.into_iter().flatten().collect::<Vec<_>>()[..] {
            [(name, field)] => Map::from_iter([(name.clone(), typed(field, answer))]),
            _ => return Err(AnswerKind::Form.expected().to_owned()),
        },
    };
    let required = schema["required"].as_array().into_iter().flatten();
    let missing = { required }
        .filter_map(Value::as_str)
        .find(|name| !content.contains_key(*name));
    if let Some(name) = missing {
        return Err(format!("the form needs a value for '{name}'"));
    }
    for (name, value) in &content {
        let Some(field) = fields.and_then(|it| it.get(name)) else {
            return Err(format!("the form has no field '{name}'"));
        };
        if !fits(field, value) {
            return Err(format!("{value} is no value for the form's field '{name}'"));
        }
    }
    Ok(format!("accept: {}", json!(content)))
}

/// The value of a field that a person typed.
fn typed(field: &Value, text: &str) -> Value {
    let parsed = match field["type"].as_str() {
        Some("integer" | "number" | "boolean") => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed.unwrap_or_else(|| text.into())
}

/// Whether a value has the field's type and is one of its choices. The server checks the rest.
fn fits(field: &Value, value: &Value) -> bool {
    let typed = match field["type"].as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        _ => true,
    };
    let choices = field["enum"].as_array();
    typed && choices.is_none_or(|choices| choices.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forms_answer_fits_its_schema() {
        let port = json!({ "properties": { "port": { "type": "integer" } }, "required": ["port"] });
        let database = json!({
            "properties": { "db": { "type": "string", "enum": ["a", "b"] }, "n": { "type": "number" } },
            "required": ["db"],
        });
        for (schema, answer, filled) in [
            (&port, "80", Ok(r#"accept: {"port":80}"#)),
            (&port, r#"{"port":80}"#, Ok(r#"accept: {"port":80}"#)),
            (
                &port,
                "eighty",
                Err(r#""eighty" is no value for the form's field 'port'"#),
            ),
            (&port, "decline", Ok("decline")),
            (&port, "accept", Err("the form needs a value for 'port'")),
            (
                &database,
                r#"accept: {"db":"a"}"#,
                Ok(r#"accept: {"db":"a"}"#),
            ),
            (
                &database,
                r#"{"db":"c"}"#,
                Err(r#""c" is no value for the form's field 'db'"#),
            ),
            (
                &database,
                r#"{"db":"a","x":1}"#,
                Err("the form has no field 'x'"),
            ),
            (
                &database,
                "a",
                Err("answer accept: {JSON}, decline, or cancel"),
            ),
        ] {
            let expected = filled.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(fill_form(schema, answer), expected, "{answer}");
        }
    }
}
