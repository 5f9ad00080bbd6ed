//! The controls that answer a question, as the payload of the agent's hook says.

use hub_protocol::{
    Choice, Control, Field, FieldChoice, FieldKind, Kind, Notification, Offer, reveal,
};
use serde_json::Value;

use super::asked;

/// The tools by which an agent asks whether it may carry out a plan, or make one.
pub const PLANS: [&str; 2] = ["ExitPlanMode", "EnterPlanMode"];

/// How long rules hold that an agent suggests without saying so.
const FOR_SESSION: &str = "for this session";

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

/// All that an agent suggests to allow from now on, and for how long: `Bash(make *) for this session`. `None` if it suggests
/// nothing, or something that these words cannot say: a person allows what they read.
pub fn always(suggestions: &Value) -> Option<String> {
    let all = list(suggestions);
    let found = all.iter().map(suggested).collect::<Option<Vec<_>>>()?;
    let mut found = found.concat();
    found.retain(|it| !it.is_empty());
    found.dedup();
    let lasts = all.first()?["lasts"].as_str().unwrap_or(FOR_SESSION);
    (!found.is_empty()).then(|| reveal(&format!("{} {lasts}", found.join(", "))))
}

/// What one suggestion would allow; `None` for one that does something else.
fn suggested(one: &Value) -> Option<Vec<String>> {
    let allows = one["behavior"].as_str().is_none_or(|it| it == "allow");
    Some(match one["type"].as_str()? {
        "setMode" if one["mode"] == "acceptEdits" => vec!["all edits".into()],
        "setMode" => vec![format!("the mode {}", one["mode"].as_str()?)],
        "addDirectories" => {
            let all = list(&one["directories"]).iter();
            all.map(|it| format!("the directory {}", text(it)))
                .collect()
        }
        "addRules" if allows => list(&one["rules"]).iter().map(rule).collect(),
        _ => return None,
    })
}

fn rule(rule: &Value) -> String {
    match text(&rule["ruleContent"]) {
        content if content.is_empty() => text(&rule["toolName"]),
        content => format!("{}({content})", text(&rule["toolName"])),
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_agent_would_allow_from_now_on_is_said_whole_or_not_offered() {
        let make = json!({"toolName": "Bash", "ruleContent": "make *"});
        let add = |rules: Value| json!({"type": "addRules", "behavior": "allow", "rules": rules});
        let said = |all: &[Value]| always(&json!(all));
        for (suggestion, words) in [
            (
                add(json!([make, {"toolName": "Read"}])),
                "Bash(make *), Read for this session",
            ),
            (
                json!({"type": "setMode", "mode": "acceptEdits"}),
                "all edits for this session",
            ),
            (
                json!({"type": "addDirectories", "directories": ["/a"]}),
                "the directory /a for this session",
            ),
            (
                json!({"type": "addRules", "rules": [make], "lasts": "until x"}),
                "Bash(make *) until x",
            ),
            (
                add(json!([{"toolName": "Bash", "ruleContent": "a\u{202e}"}])),
                "Bash(a[U+202E]) for this session",
            ),
        ] {
            assert_eq!(said(&[suggestion]).as_deref(), Some(words));
        }
        let deny = json!({"type": "addRules", "behavior": "deny", "rules": [make]});
        for other in [
            deny,
            json!({"type": "replaceRules", "rules": [make]}),
            json!("x"),
        ] {
            assert_eq!(said(&[add(json!([make])), other]), None);
        }
        assert_eq!(said(&[]), None);
        assert_eq!(always(&Value::Null), None);
    }
}
