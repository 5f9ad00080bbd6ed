//! The kinds of questions, and the answers that the hub takes.

use hub_protocol::{AnswerText, Kind, Question};
use serde_json::{Map, Value};

/// How a question is answered.
#[derive(Debug, PartialEq)]
pub(crate) enum Dialog<'a> {
    /// A permission; `always` is the rule that the agent suggests, or empty.
    Permission { always: String },
    /// A plan; with `edits` it can be approved together with all edits.
    Plan { plan: &'a str, edits: bool },
    /// The questions of one dialog.
    Asks(Vec<Ask<'a>>),
    /// A form with this JSON schema of flat properties.
    Form { schema: &'a Map<String, Value> },
    /// A text, or one of these options.
    Text(&'a [String]),
}

/// One question of a dialog.
#[derive(Debug, PartialEq)]
pub(crate) struct Ask<'a> {
    pub(crate) question: &'a str,
    /// Whether several options may be chosen.
    pub(crate) many: bool,
    /// The options: label and description.
    pub(crate) options: Vec<(&'a str, &'a str)>,
}

/// How `question` is answered, by the data that the agent's hook has added.
pub(crate) fn dialog(question: &Question) -> Dialog<'_> {
    let data = question.data.as_ref().unwrap_or(&Value::Null);
    if question.kind == Kind::Approval {
        let always = rules(&data["request"]["suggestions"]);
        return Dialog::Permission { always };
    }
    let dialog = &data["dialog"];
    let input = &dialog["tool_input"];
    let tool = text(&dialog["tool_name"]);
    if ["ExitPlanMode", "EnterPlanMode"].contains(&tool) {
        return Dialog::Plan {
            plan: text(&input["plan"]),
            edits: tool == "ExitPlanMode",
        };
    }
    let asks: Vec<_> = list(&input["questions"]).iter().map(ask).collect();
    if !asks.is_empty() && asks.iter().all(|it| !it.question.is_empty()) {
        return Dialog::Asks(asks);
    }
    match &dialog["requested_schema"]["properties"] {
        Value::Object(schema) => Dialog::Form { schema },
        _ => Dialog::Text(question.options.as_deref().unwrap_or_default()),
    }
}

fn ask(one: &Value) -> Ask<'_> {
    let options = list(&one["options"]).iter();
    Ask {
        question: text(&one["question"]),
        many: one["multiSelect"] == true,
        options: options
            .map(|it| (text(&it["label"]), text(&it["description"])))
            .filter(|(label, _)| !label.is_empty())
            .collect(),
    }
}

/// The rules that an agent suggests to allow, in a few words.
fn rules(suggestions: &Value) -> String {
    let mut found: Vec<String> = Vec::new();
    for one in list(suggestions) {
        match text(&one["type"]) {
            "setMode" if one["mode"] == "acceptEdits" => found.push("all edits".into()),
            "setMode" => found.push(format!("the mode {}", text(&one["mode"]))),
            "addDirectories" => {
                let all = list(&one["directories"]).iter();
                found.extend(all.map(|it| format!("the directory {}", text(it))));
            }
            _ => found.extend(list(&one["rules"]).iter().map(|rule| {
                match text(&rule["ruleContent"]) {
                    "" => text(&rule["toolName"]).to_owned(),
                    content => format!("{}({content})", text(&rule["toolName"])),
                }
            })),
        }
    }
    found.retain(|it| !it.is_empty());
    found.dedup();
    found.join(", ")
}

/// A form's answer with its default values, to be edited.
pub(crate) fn form_template(schema: &Map<String, Value>) -> String {
    let empty = |of: &Value| match (&of["default"], text(&of["type"])) {
        (Value::Null, "boolean") => Value::Bool(false),
        (Value::Null, "number" | "integer") => Value::from(0),
        (Value::Null, "array") => Value::Array(Vec::new()),
        (Value::Null, _) => Value::from(""),
        (default, _) => default.clone(),
    };
    let fields = schema.iter().map(|(name, of)| (name.clone(), empty(of)));
    Value::Object(fields.collect()).to_string()
}

/// The answer to a dialog, of one text for each question.
pub(crate) fn compose(answers: &[String]) -> AnswerText {
    match answers {
        [only] => AnswerText::Whole(only.clone()),
        all => AnswerText::Each(all.to_vec()),
    }
}

/// A verdict with its optional reason.
pub(crate) fn verdict(word: &str, reason: &str) -> String {
    match reason.trim() {
        "" => word.into(),
        reason => format!("{word}: {reason}"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn question(kind: Kind, data: Value) -> Question {
        Question {
            kind,
            data: Some(data),
            ..Question::default()
        }
    }

    #[test]
    fn each_kind_of_question_is_recognised_by_its_data() {
        let rule = json!({"request": {"suggestions": [{"type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "git push"}, {"toolName": "Read"}]}]}});
        let always = "Bash(git push), Read".into();
        assert_eq!(
            dialog(&question(Kind::Approval, rule)),
            Dialog::Permission { always }
        );
        let plan =
            json!({"dialog": {"tool_name": "ExitPlanMode", "tool_input": {"plan": "1. do"}}});
        assert_eq!(
            dialog(&question(Kind::Question, plan)),
            Dialog::Plan {
                plan: "1. do",
                edits: true
            }
        );
        let asks = json!({"dialog": {"tool_input": {"questions": [{"question": "Which?", "multiSelect": true,
            "options": [{"label": "a", "description": "b"}, {"label": ""}]}]}}});
        assert_eq!(
            dialog(&question(Kind::Question, asks)),
            Dialog::Asks(vec![Ask {
                question: "Which?",
                many: true,
                options: vec![("a", "b")]
            }])
        );
        let form = json!({"dialog": {"requested_schema": {"properties": {"n": {"type": "integer"}, "s": {"default": "x"}}}}});
        let form = question(Kind::Question, form);
        let Dialog::Form { schema } = dialog(&form) else {
            panic!("a form");
        };
        assert_eq!(form_template(schema), r#"{"n":0,"s":"x"}"#);
        assert_eq!(
            dialog(&question(
                Kind::Question,
                json!({"dialog": {"tool_input": {"questions": [{}]}}})
            )),
            Dialog::Text(&[])
        );
    }

    #[test]
    fn answers_are_composed_as_the_hub_takes_them() {
        let two = ["a; b".to_owned(), "c\nd".to_owned()];
        assert_eq!(compose(&two[..1]), AnswerText::Whole("a; b".into()));
        assert_eq!(compose(&two), AnswerText::Each(two.to_vec()));
        assert_eq!(verdict("deny", " not on main "), "deny: not on main");
        assert_eq!(verdict("deny", " "), "deny");
    }
}
