//! The answers that an agent's hook takes for its dialog: a text, one for each question, a decision, or the content of a form.

use std::fmt;

use hub_protocol::{Answer, Choice, Chosen, Control, Decision, Kind, Notification};
use serde_json::{Map, Value, json};

pub use hub_agents::AnswerKind;

use super::asked::dialog_of;
use super::controls::controls;

/// Separates the labels of the options that were chosen for one question.
const AND: &str = ", ";

/// The words of an answer, as the log keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerText {
    /// One text.
    Whole(String),
    /// A text for each question of a dialog that has several, in their order; an empty one leaves its question without
    /// an answer.
    Each(Vec<String>),
}

impl AnswerText {
    /// The texts for each question of a dialog that has several.
    pub fn each(self) -> Option<Vec<String>> {
        match self {
            Self::Whole(_) => None,
            Self::Each(all) => Some(all),
        }
    }
}

impl fmt::Display for AnswerText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = match self {
            Self::Whole(text) => return f.write_str(text),
            Self::Each(all) => all,
        };
        for (number, text) in (1..).zip(all) {
            let gap = if number == 1 { "" } else { " " };
            let text = match text.trim() {
                "" => "(no answer)",
                text => text,
            };
            write!(f, "{gap}{number}. {text}")?;
        }
        Ok(())
    }
}

/// The words of an answer as its question takes them. Fails if no control of the question takes such an answer.
pub fn words_of(asked: &Notification, answer: &Answer) -> Result<AnswerText, String> {
    let controls = controls(asked);
    match (&controls[..], answer) {
        (
            [
                Control::Verdict {
                    allow,
                    always,
                    edits,
                },
            ],
            Answer::Verdict(decision, reason),
        ) => {
            let is_plan = asked.kind != Kind::Approval;
            let is_offered = always.is_some() || is_plan || !allow;
            if *decision == Decision::AllowAlways && !is_offered {
                return Err("the agent offers nothing to allow always: allow or deny it".into());
            }
            let reason = reason.as_deref().unwrap_or_default().trim();
            decided(*decision, reason, is_plan, *edits).map(AnswerText::Whole)
        }
        ([Control::Form { .. }], Answer::Verdict(Decision::Deny, None)) => {
            Ok(AnswerText::Whole("decline".into()))
        }
        ([Control::Form { .. }], Answer::Verdict(Decision::Cancel, None)) => {
            Ok(AnswerText::Whole("cancel".into()))
        }
        ([Control::Form { .. }], Answer::Form(content)) => filled(asked, content),
        ([Control::Form { .. }], Answer::Reply(text)) => {
            filled(asked, &only_field(schema_of(asked), text)?)
        }
        ([Control::Reply | Control::Choice(_)], Answer::Reply(text)) => text_of(text.clone()),
        ([Control::Reply], Answer::Choices(all)) => match &all[..] {
            [Chosen { labels, text }] if labels.is_empty() => {
                text_of(text.clone().unwrap_or_default())
            }
            _ => Err(expected(&controls)),
        },
        ([Control::Choice(_), ..], Answer::Choices(all)) => each(&controls, all),
        _ => Err(expected(&controls)),
    }
}

/// The answers that the controls of a question take, for people.
fn expected(controls: &[Control]) -> String {
    match controls {
        [Control::Verdict { edits: true, .. }] => {
            "this plan takes `verdict`: allow, accept_edits, or deny with a `reason`; hubctl answer ID takes approve, 'approve: accept edits', or 'reject: why'".into()
        }
        [Control::Verdict { .. }] => {
            "this takes `verdict`: allow, allow_always, or deny with a `reason`; hubctl answer ID takes allow, 'allow always', or 'deny: why'".into()
        }
        [Control::Form { .. }] => {
            "this form takes `form` with a value for each field, or `verdict`: deny or cancel; hubctl answer ID takes {JSON}, decline, or cancel".into()
        }
        [Control::Choice(_)] => {
            "this question takes one of its options in `choices`, or a text in `reply`".into()
        }
        [Control::Reply] => "this question takes a text in `reply`".into(),
        all => format!(
            "the dialog has {} questions: {}",
            all.len(),
            AnswerKind::Texts.expected()
        ),
    }
}

/// The words for a decision on a permission or a plan.
fn decided(decision: Decision, reason: &str, is_plan: bool, edits: bool) -> Result<String, String> {
    let words = match (decision, is_plan) {
        (Decision::Allow, false) => "allow",
        (Decision::AllowAlways, false) => "allow always",
        (Decision::Allow, true) => "approve",
        (Decision::AcceptEdits, true) if edits => "approve: accept edits",
        (Decision::Deny, false) => "deny",
        (Decision::Deny, true) => "reject",
        _ if is_plan => return Err("this plan can be allowed or denied".into()),
        _ => return Err("a permission is allowed, allowed always, or denied".into()),
    };
    if decision == Decision::Deny && !reason.is_empty() {
        return Ok(format!("{words}: {reason}"));
    }
    if !reason.is_empty() {
        return Err("only a denial has a reason".into());
    }
    Ok(words.into())
}

/// The answers to the questions of a dialog.
fn each(controls: &[Control], all: &[Chosen]) -> Result<AnswerText, String> {
    let (count, given) = (controls.len(), all.len());
    if count != given {
        return Err(format!(
            "the dialog has {count} questions, and there are {given} answers: {}",
            AnswerKind::Texts.expected()
        ));
    }
    let texts = controls
        .iter()
        .zip(all)
        .map(|(control, chosen)| match control {
            Control::Choice(choice) => chosen_text(choice, chosen),
            _ => Err(expected(controls)),
        });
    let mut texts = texts.collect::<Result<Vec<_>, _>>()?;
    if texts.iter().all(String::is_empty) {
        return Err("every answer is empty".into());
    }
    Ok(match texts.pop() {
        Some(only) if texts.is_empty() => AnswerText::Whole(only),
        last => AnswerText::Each(texts.into_iter().chain(last).collect()),
    })
}

/// The answer to one question.
fn chosen_text(choice: &Choice, chosen: &Chosen) -> Result<String, String> {
    let is_offered = |label: &String| choice.options.iter().any(|it| it.label == *label);
    if let Some(label) = chosen.labels.iter().find(|it| !is_offered(it)) {
        let offered: Vec<_> = choice.options.iter().map(|it| &it.label).collect();
        return Err(format!(
            "'{label}' is not offered: labels are of {offered:?}, and other words are a `text`"
        ));
    }
    let text = chosen.text.iter().map(|it| it.trim().to_owned());
    let texts: Vec<_> = { chosen.labels.iter().cloned() }
        .chain(text.filter(|it| !it.is_empty()))
        .collect();
    if texts.len() > 1 && !choice.many {
        return Err(format!("one answer, please, to '{}'", choice.question));
    }
    Ok(texts.join(AND))
}

fn text_of(text: String) -> Result<AnswerText, String> {
    if text.trim().is_empty() {
        return Err("the answer is empty".into());
    }
    Ok(AnswerText::Whole(text))
}

fn schema_of(asked: &Notification) -> &Value {
    &dialog_of(asked)["requested_schema"]
}

fn filled(asked: &Notification, content: &Map<String, Value>) -> Result<AnswerText, String> {
    check_form(schema_of(asked), content)?;
    Ok(AnswerText::Whole(format!("accept: {}", json!(content))))
}

/// The content of a form with a single field that is answered by a text.
fn only_field(schema: &Value, text: &str) -> Result<Map<String, Value>, String> {
    let fields = schema["properties"].as_object();
    match fields.into_iter().flatten().collect::<Vec<_>>()[..] {
        [(name, field)] => Ok(Map::from_iter([(name.clone(), typed(field, text))])),
        _ => Err("the form has several fields: give `form` with a value for each".into()),
    }
}

/// Checks that the content of a form fits its schema.
fn check_form(schema: &Value, content: &Map<String, Value>) -> Result<(), String> {
    let fields = schema["properties"].as_object();
    let required = schema["required"].as_array().into_iter().flatten();
    let missing = { required }
        .filter_map(Value::as_str)
        .find(|name| !content.contains_key(*name));
    if let Some(name) = missing {
        return Err(format!("the form needs a value for '{name}'"));
    }
    for (name, value) in content {
        let Some(field) = fields.and_then(|it| it.get(name)) else {
            return Err(format!("the form has no field '{name}'"));
        };
        if !fits(field, value) {
            return Err(format!("{value} is no value for the form's field '{name}'"));
        }
    }
    Ok(())
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

    fn asked(kind: &str, data: &Value) -> Notification {
        let json = json!({
            "id": 1, "ts": "2026-11-21T12:00:00Z", "from": "w1", "type": kind, "msg": "said", "project": "p",
            "priority": "normal", "expires_at": "2026-11-22T12:00:00Z", "data": data,
        });
        serde_json::from_value(json).unwrap()
    }

    fn dialog(data: &Value) -> Notification {
        asked("question", &json!({ "via": "hook", "dialog": data }))
    }

    fn chosen(labels: &[&str], text: &str) -> Chosen {
        Chosen {
            labels: labels.iter().map(|it| (*it).to_owned()).collect(),
            text: Some(text.to_owned()).filter(|it| !it.is_empty()),
        }
    }

    #[test]
    fn each_answer_of_a_dialog_stays_with_its_question() {
        let two = dialog(&json!({ "tool_input": { "questions": [
            { "question": "Which?", "options": [{ "label": "keep; rename" }, { "label": "b" }] },
            { "question": "More?", "multiSelect": true, "options": [{ "label": "x" }, { "label": "y" }] },
        ] } }));
        let all = |all: &[Chosen]| words_of(&two, &Answer::Choices(all.to_vec()));
        let each = |all: [&str; 2]| Ok(AnswerText::Each(all.map(str::to_owned).to_vec()));
        assert_eq!(
            all(&[chosen(&["keep; rename"], ""), chosen(&["x", "y"], "z\nz")]),
            each(["keep; rename", "x, y, z\nz"])
        );
        assert_eq!(
            all(&[chosen(&[], " own "), chosen(&[], "")]),
            each(["own", ""])
        );
        for refused in [
            &[chosen(&["b"], "")][..],
            &[chosen(&["c"], ""), chosen(&["x"], "")],
            &[chosen(&["b"], "too"), chosen(&["x"], "")],
            &[chosen(&[], ""), chosen(&[], " ")],
        ] {
            assert!(all(refused).is_err(), "{refused:?}");
        }
        assert!(words_of(&two, &Answer::Reply("b; x".into())).is_err());
    }

    #[test]
    fn a_permission_takes_a_decision_and_nothing_else() {
        let permission = |suggestions: Value| {
            let input = json!({ "command": "ls" });
            let request =
                json!({ "tool_name": "Bash", "tool_input": input, "suggestions": suggestions });
            asked("approval", &json!({ "via": "hook", "request": request }))
        };
        let once = permission(Value::Null);
        let permission =
            permission(json!([{ "type": "addRules", "rules": [{ "toolName": "Bash" }] }]));
        let plan =
            dialog(&json!({ "tool_name": "ExitPlanMode", "tool_input": { "plan": "1. do" } }));
        let no = Some("not: on main".to_owned());
        for (of, decision, reason, words) in [
            (&permission, Decision::Allow, None, Some("allow")),
            (
                &permission,
                Decision::AllowAlways,
                None,
                Some("allow always"),
            ),
            (&once, Decision::AllowAlways, None, None),
            (&once, Decision::Allow, None, Some("allow")),
            (
                &permission,
                Decision::Deny,
                no.clone(),
                Some("deny: not: on main"),
            ),
            (&permission, Decision::Allow, no.clone(), None),
            (&permission, Decision::AcceptEdits, None, None),
            (&plan, Decision::Allow, None, Some("approve")),
            (
                &plan,
                Decision::AcceptEdits,
                None,
                Some("approve: accept edits"),
            ),
            (&plan, Decision::Deny, no, Some("reject: not: on main")),
            (&plan, Decision::AllowAlways, None, None),
        ] {
            let given = words_of(of, &Answer::Verdict(decision, reason)).ok();
            assert_eq!(
                given,
                words.map(|it| AnswerText::Whole(it.into())),
                "{decision:?}"
            );
        }
        assert!(words_of(&permission, &Answer::Reply("allow".into())).is_err());
    }

    #[test]
    fn a_forms_answer_fits_its_schema() {
        let form = |schema: Value| dialog(&json!({ "message": "?", "requested_schema": schema }));
        let port =
            form(json!({ "properties": { "port": { "type": "integer" } }, "required": ["port"] }));
        let database = form(json!({
            "properties": { "db": { "type": "string", "enum": ["a", "b"] }, "n": { "type": "number" } },
            "required": ["db"],
        }));
        let content = |json: Value| Answer::Form(json.as_object().unwrap().clone());
        let reply = |text: &str| Answer::Reply(text.into());
        for (form, answer, words) in [
            (&port, reply("80"), Ok(r#"accept: {"port":80}"#)),
            (
                &port,
                content(json!({ "port": 80 })),
                Ok(r#"accept: {"port":80}"#),
            ),
            (
                &port,
                reply("eighty"),
                Err(r#""eighty" is no value for the form's field 'port'"#),
            ),
            (&port, Answer::Verdict(Decision::Deny, None), Ok("decline")),
            (&port, Answer::Verdict(Decision::Cancel, None), Ok("cancel")),
            (
                &port,
                content(json!({})),
                Err("the form needs a value for 'port'"),
            ),
            (
                &database,
                content(json!({ "db": "a" })),
                Ok(r#"accept: {"db":"a"}"#),
            ),
            (
                &database,
                content(json!({ "db": "c" })),
                Err(r#""c" is no value for the form's field 'db'"#),
            ),
            (
                &database,
                content(json!({ "db": "a", "x": 1 })),
                Err("the form has no field 'x'"),
            ),
            (
                &database,
                reply("a"),
                Err("the form has several fields: give `form` with a value for each"),
            ),
        ] {
            let expected = words
                .map(|it| AnswerText::Whole(it.into()))
                .map_err(str::to_owned);
            assert_eq!(words_of(form, &answer), expected, "{answer:?}");
        }
    }
}
