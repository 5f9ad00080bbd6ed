//! The answers that an agent's hook takes for its dialog: a text, one for each question, a decision, or the content of a form.

use hub_protocol::{AnswerText, Notification, QuestionPart, verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The kind of answer that a held hook takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerKind {
    /// Any text.
    Text,
    /// A text for each question of a dialog that has several.
    Texts,
    /// A decision on a permission.
    Permission,
    /// A decision on a plan.
    Plan,
    /// The content of an MCP server's form, or a refusal.
    Form,
}

impl AnswerKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Text,
        Self::Texts,
        Self::Permission,
        Self::Plan,
        Self::Form,
    ];

    /// Whether the agent can use this answer.
    pub fn accepts(self, answer: &Notification) -> bool {
        match self {
            Self::Text => true,
            Self::Texts => answer.answers.is_some(),
            Self::Permission | Self::Plan => verdict(&answer.msg).is_some(),
            Self::Form => FormAnswer::parse(&answer.msg).is_some(),
        }
    }

    /// The answers that the agent can use, for people.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Text => "answer with a text",
            Self::Texts => EACH,
            Self::Permission => "answer allow, allow always, or deny: why",
            Self::Plan => "answer approve, approve: accept edits, or reject: why",
            Self::Form => "answer accept: {JSON}, decline, or cancel",
        }
    }
}

/// How a dialog with several questions is answered.
const EACH: &str = "give the dialog a text for each of its questions, in their order: `answers` of POST /questions/{id}/answer, or hubctl answer ID with --each or --option for each";

/// Separate the answers to several questions in one text.
const SEPARATORS: [char; 2] = [';', '\n'];

/// The words of an answer as the question takes them: `parts` are the questions of its dialog, if it has several. Fails if
/// the words are not one text for each, or one text of which a part could answer another question than it was meant for.
pub fn fitted(parts: &[QuestionPart], answer: AnswerText) -> Result<AnswerText, String> {
    let count = parts.len();
    match answer {
        AnswerText::Whole(text) if count < 2 => Ok(AnswerText::Whole(text)),
        AnswerText::Each(all) if all.iter().all(|it| it.trim().is_empty()) => {
            Err("every answer is empty".into())
        }
        AnswerText::Each(mut all) if count < 2 => match all.pop() {
            Some(only) if all.is_empty() => Ok(AnswerText::Whole(only)),
            _ => Err("this is a single question: give one answer".into()),
        },
        AnswerText::Each(all) if all.len() == count => Ok(AnswerText::Each(all)),
        AnswerText::Each(all) => Err(format!(
            "the dialog has {count} questions, and there are {} answers: {EACH}",
            all.len()
        )),
        AnswerText::Whole(text) => {
            let texts: Vec<_> = text
                .split(SEPARATORS)
                .map(|it| it.trim().to_owned())
                .collect();
            let mut labels = parts.iter().flat_map(|it| &it.options);
            let is_clear = texts.len() == count
                && texts.iter().all(|it| !it.is_empty())
                && !labels.any(|it| it.contains(SEPARATORS));
            { is_clear.then_some(AnswerText::Each(texts)) }.ok_or_else(|| {
                format!("the dialog has {count} questions, and it is not clear which part of the text answers which: {EACH}")
            })
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
    fn no_part_of_a_text_answers_another_question_than_it_was_meant_for() {
        let part = |options: &[&str]| QuestionPart {
            question: "?".into(),
            options: options.iter().map(|it| (*it).to_owned()).collect(),
            many: false,
        };
        let each = |all: &[&str]| AnswerText::Each(all.iter().map(|it| (*it).into()).collect());
        let whole = |text: &str| AnswerText::Whole(text.into());
        let plain = [part(&["a", "b"]), part(&[])];
        let risky = [part(&["keep; rename", "b"]), part(&[]), part(&["c"])];
        for (parts, given, taken) in [
            (&[][..], whole("a; b"), Some(whole("a; b"))),
            (&[], each(&["a; b"]), Some(whole("a; b"))),
            (&[], each(&["a", "b"]), None),
            (&plain, each(&["a; b", ""]), Some(each(&["a; b", ""]))),
            (&plain, each(&["a"]), None),
            (&plain, each(&["a", "b", "c"]), None),
            (&plain, each(&["", " "]), None),
            (&plain, whole("a; b"), Some(each(&["a", "b"]))),
            (&plain, whole("a\nb"), Some(each(&["a", "b"]))),
            (&plain, whole("a"), None),
            (&plain, whole("a; b; c"), None),
            (&plain, whole("a;"), None),
            (&risky, whole("keep; rename; c"), None),
            (&risky, whole("b; x; c"), None),
            (
                &risky,
                each(&["keep; rename", "x", "c"]),
                Some(each(&["keep; rename", "x", "c"])),
            ),
        ] {
            assert_eq!(fitted(parts, given.clone()).ok(), taken, "{given}");
        }
    }

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
