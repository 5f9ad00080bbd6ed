//! `OpenCode` and Pi: the hub's extension within the agent's own process. It is one module that all such agents share, and
//! the agent's part after it.

use hub_protocol::{Verdict, first_chars};
use serde_json::{Map, Value, json};

use crate::answer::AnswerKind;
use crate::claude;
use crate::dialog_news::DialogNews;
use crate::event::AgentEvent;
use crate::form::{
    Form, HookReply, InvalidSessionId, ParsedHook, answer_kind, edited, flag, hook, permission,
    session, stopped, text,
};

/// The shared module, with `hubctl hook AGENT` and `["hubctl"]` in place of the commands.
pub const SHARED: &str = include_str!("extension/hub.js");

/// The events that end a turn. `OpenCode` 1 and 2 name it differently.
pub(crate) const STOPS: &[&str] = &["session.idle", "session.execution.succeeded"];

/// Events that are worthless when they arrive late.
pub(crate) const HEARTBEATS: &[&str] = &[
    "tool.execute.before",
    "tool.execute.after",
    "message.updated",
    "message.part.updated",
];

/// The id of no dialog. The end of a tool has it: other tools may wait in their dialogs, whose ends are events of their own.
const NO_DIALOG: &str = "none";

pub(crate) static FORM: Form = Form { parse, render };

pub(crate) fn parse(payload: &Map<String, Value>) -> Result<ParsedHook, InvalidSessionId> {
    let name = text(payload, "hook_event_name");
    let empty = Map::new();
    let properties = payload.get("properties").and_then(Value::as_object);
    let properties = properties.unwrap_or(&empty);
    // The extension says of a dialog that it can answer it. The agent shows the dialog meanwhile.
    let takes = match name {
        _ if !flag(payload, "answerable") => None,
        "permission.asked" => Some(AnswerKind::Permission),
        "question.asked" => Some(answer_kind(
            properties.get("questions").unwrap_or(&Value::Null),
        )),
        _ => None,
    };
    Ok(ParsedHook {
        accepts_context: matches!(name, "chat.message" | "tool.execute.after"),
        happened: happened(name, payload, properties),
        takes,
        dialog: dialog(name, properties),
        news: news(name, properties),
        edited: edited(payload),
        ..hook(payload, session(payload, "session_id")?, name)
    })
}

fn happened(
    name: &str,
    payload: &Map<String, Value>,
    properties: &Map<String, Value>,
) -> AgentEvent {
    match name {
        // These events make notifications.
        "session.idle" | "session.execution.succeeded" => {
            stopped(text(payload, "last_assistant_message"))
        }
        "question.asked" | "form.created" => asked(properties),
        "permission.asked" => permission(request(properties)),
        "session.error" | "session.execution.failed" => failed(properties),
        "session.execution.interrupted" => AgentEvent::Interrupted,
        "session.deleted" => AgentEvent::Ended,
        // These change only the session's state.
        "session.created" => AgentEvent::Started,
        "chat.message" => claude::prompt(text(properties, "text")),
        "tool.execute.after" | "permission.replied" | "question.replied" | "question.rejected"
        | "form.replied" | "form.cancelled" => AgentEvent::Worked,
        _ => AgentEvent::Seen,
    }
}

/// The id of the dialog that an event opens or closes. Those of Pi have none.
fn dialog(name: &str, properties: &Map<String, Value>) -> Option<String> {
    let id = match name {
        "permission.asked" | "question.asked" | "form.replied" | "form.cancelled" => {
            text(properties, "id")
        }
        "permission.replied" | "question.replied" | "question.rejected" => {
            text(properties, "requestID")
        }
        "form.created" => {
            let form = properties.get("form").and_then(Value::as_object);
            form.map_or("", |it| text(it, "id"))
        }
        "tool.execute.after" => NO_DIALOG,
        _ => "",
    };
    (!id.is_empty()).then(|| first_chars(id, 64).into())
}

/// An event's news of the dialog that was closed; `None` if it closes one without saying how.
fn news(name: &str, properties: &Map<String, Value>) -> Option<DialogNews> {
    match name {
        "permission.replied" => match text(properties, "reply") {
            "once" | "always" => Some(DialogNews::Decided { allowed: true }),
            "reject" => Some(DialogNews::Decided { allowed: false }),
            _ => None,
        },
        "question.replied" => {
            let all = properties.get("answers")?.as_array()?;
            let joined = |labels: &Value| {
                let labels = labels.as_array().into_iter().flatten();
                labels
                    .filter_map(Value::as_str)
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            Some(DialogNews::Answered(all.iter().map(joined).collect()))
        }
        "question.rejected" => Some(DialogNews::Answered(Vec::new())),
        _ => Some(DialogNews::Nothing),
    }
}

/// The questions of a dialog, in Claude Code's form: `questions` in `OpenCode` 1, the `fields` of a `form` in `OpenCode` 2,
/// and a single `title` in Pi.
fn asked(properties: &Map<String, Value>) -> AgentEvent {
    let list = |it: &Value| it.as_array().cloned().unwrap_or_default();
    let form = properties.get("form").unwrap_or(&Value::Null);
    let fields = list(&form["fields"]);
    let field = |it: &Value| {
        let words = ["description", "title", "key"].into_iter();
        let question = { words }.find_map(|name| it[name].as_str());
        json!({
            "question": question,
            "header": it["title"],
            "options": it["options"],
            "multiSelect": it["type"] == "multiselect",
        })
    };
    let question = |it: &Value| {
        let mut question = it.clone();
        if let Some(fields) = question.as_object_mut()
            && let Some(several) = fields.remove("multiple")
        {
            fields.insert("multiSelect".into(), several);
        }
        question
    };
    let mut questions: Vec<Value> = match properties.get("questions") {
        Some(given) => list(given).iter().map(question).collect(),
        None => fields.iter().map(field).collect(),
    };
    if questions.is_empty() {
        let titles = [properties.get("title"), form.get("title")].into_iter();
        let title = titles.flatten().find_map(Value::as_str);
        questions = vec![json!({ "question": title, "options": [] })];
    }
    let dialog = json!({ "tool_name": "question", "tool_input": { "questions": questions } });
    claude::questions(dialog.as_object().unwrap_or(&Map::new()))
}

/// The request of a permission, in Claude Code's form. The ids in it say nothing to a person.
fn request(properties: &Map<String, Value>) -> Value {
    let mut input = properties.clone();
    for id in ["id", "sessionID", "tool"] {
        input.remove(id);
    }
    let mut kinds = ["permission", "action"].into_iter();
    let kind = kinds.find_map(|name| input.remove(name));
    let suggestions = suggestions(kind.as_ref(), &mut input);
    let metadata = input.get("metadata").and_then(Value::as_object).cloned();
    let is_new = |it: &Map<String, Value>| !it.keys().any(|name| input.contains_key(name));
    if let Some(metadata) = metadata.filter(is_new) {
        input.remove("metadata");
        let repeated = metadata.get("command").map(|it| json!([it]));
        input.retain(|name, it| name != "patterns" || Some(&*it) != repeated.as_ref());
        input.extend(metadata);
    }
    let mut request = json!({ "tool_name": kind, "tool_input": input });
    if let Some(suggestions) = suggestions {
        request["suggestions"] = suggestions;
    }
    request
}

/// Takes the patterns out of a request that `always` would allow, as rules in Claude Code's form: `always` in `OpenCode` 1,
/// which forgets them when it ends, `save` in `OpenCode` 2, which keeps them.
fn suggestions(kind: Option<&Value>, input: &mut Map<String, Value>) -> Option<Value> {
    let mut named = [
        ("always", "until OpenCode is restarted"),
        ("save", "in this project, for good"),
    ]
    .into_iter();
    let found = named.find_map(|(name, lasts)| Some((input.remove(name)?, lasts)));
    let (patterns, lasts) = found?;
    let rule = |pattern: &Value| {
        Some(match pattern.as_str()? {
            "*" => json!({ "toolName": kind }),
            some => json!({ "toolName": kind, "ruleContent": some }),
        })
    };
    let rules: Vec<_> = patterns
        .as_array()?
        .iter()
        .map(rule)
        .collect::<Option<_>>()?;
    let suggestion = json!({ "type": "addRules", "rules": rules, "lasts": lasts });
    (!rules.is_empty()).then(|| json!([suggestion]))
}

/// A failed turn. `OpenCode` 1 reports an interrupted one as an error too.
fn failed(properties: &Map<String, Value>) -> AgentEvent {
    let error = properties.get("error").and_then(Value::as_object);
    let name = error.map_or("", |error| text(error, "name"));
    if name == "MessageAbortedError" {
        return AgentEvent::Interrupted;
    }
    let kind = error.map_or("", |error| text(error, "type"));
    let reason = [name, kind, "error"].into_iter().find(|it| !it.is_empty());
    AgentEvent::failed(reason.unwrap_or_default(), true)
}

/// The answer that the extension reads: a text for the model, or the person's answer to the dialog in `OpenCode`'s terms.
pub(crate) fn render(_: &ParsedHook, reply: HookReply) -> Option<Value> {
    if !reply.answers.is_empty() {
        return Some(json!({ "answers": reply.answers }));
    }
    Some(match reply.decision {
        Some(Verdict::Deny(reason)) => json!({ "decision": "reject", "message": reason }),
        Some(Verdict::AllowAlways) => json!({ "decision": "always" }),
        Some(Verdict::Allow | Verdict::AcceptEdits) => json!({ "decision": "once" }),
        None => json!({ "context": reply.context? }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str, properties: &Value) -> ParsedHook {
        let payload =
            json!({ "hook_event_name": name, "session_id": "s1", "properties": properties });
        parse(payload.as_object().unwrap()).unwrap()
    }

    fn event(name: &str, properties: &Value) -> AgentEvent {
        parsed(name, properties).happened
    }

    #[test]
    fn the_end_of_a_dialog_names_the_one_that_began_and_the_end_of_a_tool_names_none() {
        let named = |name: &str, properties: Value| parsed(name, &properties).dialog;
        let request = || json!({ "requestID": "1" });
        for (begins, properties, ends) in [
            (
                "permission.asked",
                json!({ "id": "1" }),
                ("permission.replied", request()),
            ),
            (
                "question.asked",
                json!({ "id": "1" }),
                ("question.replied", request()),
            ),
            (
                "question.asked",
                json!({ "id": "1" }),
                ("question.rejected", request()),
            ),
            (
                "form.created",
                json!({ "form": { "id": "1" } }),
                ("form.replied", json!({ "id": "1" })),
            ),
            (
                "form.created",
                json!({ "form": { "id": "1" } }),
                ("form.cancelled", json!({ "id": "1" })),
            ),
        ] {
            assert_eq!(named(begins, properties).as_deref(), Some("1"), "{begins}");
            assert_eq!(named(ends.0, ends.1).as_deref(), Some("1"), "{}", ends.0);
        }
        let ends_tool = named("tool.execute.after", json!({ "tool": "bash" }));
        assert_eq!(ends_tool.as_deref(), Some(NO_DIALOG));
        let of_pi = json!({ "title": "Which db?" });
        assert_eq!(named("question.asked", of_pi), None);
        assert_eq!(named("question.replied", json!(null)), None);
        assert_eq!(named("session.idle", json!({})), None);
    }

    #[test]
    fn a_permission_shows_what_it_is_for() {
        for (properties, shown) in [
            (
                json!({ "permission": "bash", "metadata": { "command": "ls" }, "patterns": ["ls *"] }),
                "bash: ls",
            ),
            (
                json!({ "permission": "edit", "patterns": ["a", "b"] }),
                "edit: a, b",
            ),
            (
                json!({ "action": "shell", "resources": ["ls"] }),
                "shell: ls",
            ),
            (json!({}), ""),
        ] {
            let asked = event("permission.asked", &properties);
            let AgentEvent::Permission { text, .. } = asked else {
                panic!("{asked:?}")
            };
            assert_eq!(text, shown);
        }
    }

    #[test]
    fn a_permission_comes_with_its_request_and_without_ids() {
        let properties = json!({
            "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["ls"], "always": ["ls *"],
            "metadata": { "command": "ls" }, "tool": { "messageID": "msg_1", "callID": "call_1" },
        });
        let asked = event("permission.asked", &properties);
        let AgentEvent::Permission { data, .. } = asked else {
            panic!("{asked:?}")
        };
        let rules = json!([{ "toolName": "bash", "ruleContent": "ls *" }]);
        let suggestion =
            json!({ "type": "addRules", "rules": rules, "lasts": "until OpenCode is restarted" });
        let request = json!({
            "tool_name": "bash", "tool_input": { "command": "ls" }, "suggestions": [suggestion],
        });
        assert_eq!(data, Some(request));
    }

    #[test]
    fn a_permission_offers_the_patterns_that_always_would_allow() {
        let offered = |more: Value| {
            let mut properties = more;
            properties["action"] = "shell".into();
            let AgentEvent::Permission { data, .. } = event("permission.asked", &properties) else {
                panic!("{properties}")
            };
            data.unwrap()["suggestions"].take()
        };
        let all = offered(json!({ "save": ["*"] }));
        assert_eq!(all[0]["rules"], json!([{ "toolName": "shell" }]));
        assert_eq!(all[0]["lasts"], "in this project, for good");
        for none in [
            json!({}),
            json!({ "save": [] }),
            json!({ "always": "x" }),
            json!({ "always": [1] }),
        ] {
            assert_eq!(offered(none), Value::Null);
        }
    }

    #[test]
    fn a_question_has_its_text_and_its_options_in_every_version() {
        let option = json!({ "label": "sqlite", "description": "small", "value": "sqlite" });
        let one = json!({ "question": "Which db?", "header": "Database", "options": [option], "multiple": false });
        let form = json!({ "key": "q0", "title": "Database", "description": "Which db?", "type": "string", "options": [option] });
        for (name, properties, options) in [
            (
                "question.asked",
                json!({ "questions": [one] }),
                vec!["sqlite".to_owned()],
            ),
            (
                "form.created",
                json!({ "form": { "title": "Questions", "fields": [form] } }),
                vec!["sqlite".to_owned()],
            ),
            (
                "question.asked",
                json!({ "title": "Which db?" }),
                Vec::new(),
            ),
        ] {
            let AgentEvent::Asks {
                text,
                options: found,
                data,
            } = event(name, &properties)
            else {
                panic!("{name}")
            };
            assert_eq!((text.as_str(), found), ("Which db?", options), "{name}");
            let question = &data["tool_input"]["questions"][0];
            assert_eq!(question["question"], "Which db?", "{name}");
        }
    }

    #[test]
    fn an_interrupted_turn_is_told_apart_from_a_failed_one() {
        let aborted = json!({ "error": { "name": "MessageAbortedError" } });
        assert_eq!(event("session.error", &aborted), AgentEvent::Interrupted);
        for (error, reason) in [
            (json!({ "name": "APIError" }), "APIError"),
            (
                json!({ "type": "provider.transport" }),
                "provider.transport",
            ),
            (json!(null), "error"),
        ] {
            let failed = event("session.execution.failed", &json!({ "error": error }));
            let AgentEvent::Failed { reason: found, .. } = failed else {
                panic!("{failed:?}")
            };
            assert_eq!(found, reason);
        }
    }
}
