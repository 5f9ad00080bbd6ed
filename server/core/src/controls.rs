//! The controls that answer a question, as the payload of the agent's hook says.

use hub_agents::{PLANS, always};
use hub_protocol::{Choice, Control, Field, FieldChoice, FieldKind, Kind, Notification, Offer};
use serde_json::Value;

use super::asked;

/// The controls of a question or an approval.
pub fn controls(it: &Notification) -> Vec<Control> {
    if it.kind == Kind::Approval {
        let suggestions = asked::of_hook(it).map(|data| &data["request"]["suggestions"]);
        return vec![verdict(it, suggestions.unwrap_or(&Value::Null), false)];
    }
    let dialog = asked::dialog_of(it);
    let tool = text(&dialog["tool_name"]);
    if PLANS.contains(&tool.as_str()) {
        return vec![verdict(it, &Value::Null, tool == "ExitPlanMode")];
    }
    let asks: Vec<_> = list(&dialog["tool_input"]["questions"])
        .iter()
        .map(choice)
        .collect();
    if !asks.is_empty() && asks.iter().all(|it| !it.question.is_empty()) {
        return asks.into_iter().map(Control::Choice).collect();
    }
    if let Some(fields) = fields(&dialog["requested_schema"]) {
        return vec![Control::Form { fields }];
    }
    vec![offered(it)]
}

fn verdict(it: &Notification, suggestions: &Value, edits: bool) -> Control {
    Control::Verdict {
        allow: asked::says_all(it),
        always: always(suggestions),
        edits,
    }
}

/// The options of a question that a client posted, or any text.
fn offered(it: &Notification) -> Control {
    let options = it.options.iter().flatten().map(|label| Offer {
        label: label.clone(),
        description: String::new(),
    });
    let options: Vec<_> = options.collect();
    if options.is_empty() {
        return Control::Reply;
    }
    Control::Choice(Choice {
        question: asked::words(it),
        options,
        ..Choice::default()
    })
}

fn choice(one: &Value) -> Choice {
    let options = list(&one["options"]).iter().map(|it| Offer {
        label: text(&it["label"]),
        description: text(&it["description"]),
    });
    Choice {
        question: text(&one["question"]),
        header: text(&one["header"]),
        many: one["multiSelect"] == true,
        options: options.filter(|it| !it.label.trim().is_empty()).collect(),
    }
}

/// The fields of a JSON schema with flat properties; `None` for another schema.
fn fields(schema: &Value) -> Option<Vec<Field>> {
    let required = list(&schema["required"]);
    let properties = schema["properties"].as_object()?;
    let field = |(name, of): (&String, &Value)| {
        let label = text(&of["title"]);
        Field {
            name: name.clone(),
            label: if label.is_empty() {
                name.clone()
            } else {
                label
            },
            description: text(&of["description"]),
            kind: kind(of),
            required: required.iter().any(|it| it == name.as_str()),
            choices: choices(if of["type"] == "array" {
                &of["items"]
            } else {
                of
            }),
            initial: of.get("default").cloned(),
        }
    };
    Some(properties.iter().map(field).collect())
}

fn kind(of: &Value) -> FieldKind {
    match of["type"].as_str() {
        Some("array") => FieldKind::Choices,
        _ if !choices(of).is_empty() => FieldKind::Choice,
        Some("boolean") => FieldKind::Boolean,
        Some("number") => FieldKind::Number,
        Some("integer") => FieldKind::Integer,
        _ => FieldKind::Text,
    }
}

fn choices(of: &Value) -> Vec<FieldChoice> {
    let titled = list(&of["oneOf"]).iter().chain(list(&of["anyOf"]));
    let titled = titled.map(|it| (text(&it["const"]), text(&it["title"])));
    let plain = list(&of["enum"]).iter().enumerate();
    let plain = plain.map(|(at, it)| (text(it), text(&of["enumNames"][at])));
    let found = titled.chain(plain).filter(|(value, _)| !value.is_empty());
    let found = found.map(|(value, label)| FieldChoice {
        label: if label.is_empty() {
            value.clone()
        } else {
            label
        },
        value,
    });
    found.collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
