//! A dialog of the agent: what it shows, how words answer it, and the answer in the protocol's terms.
//!
//! An answer has the same form from the terminal and from the hub: `{"kind": …}` for a permission, `{"answers": […]}` for
//! questions, `{"form": {…}}` for a form.

mod form;
mod relayed;

use hub_agents::acp;
use hub_agents::request::{Split, in_order, value_text};
use hub_protocol::{Verdict, verdict};
use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

use self::form::Form;
pub(crate) use self::relayed::relayed;
use crate::protocol::{answered, cancelled, chosen, selected};

/// An open dialog.
#[derive(Debug)]
pub(crate) struct Dialog {
    /// The id of the agent's request.
    pub(crate) request: Value,
    /// The number by which the answers of the hub name it.
    pub(crate) number: u64,
    /// The hub's hold; none until it is the first of the open dialogs.
    pub(crate) hold: Option<AbortHandle>,
    asked: Value,
    form: Option<Form>,
}

/// The meaning of typed words.
#[derive(Debug, PartialEq)]
pub(crate) enum Typed {
    /// The answer.
    Answer(Value),
    /// The dialog needs more, and says what.
    More(String),
}

/// The consequences of the answer to a dialog.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The result for the agent.
    pub(crate) result: Value,
    /// The event for the hub.
    pub(crate) closed: Value,
    /// The reason of a denial, which the protocol has no field for.
    pub(crate) reason: Option<String>,
    /// The answer in words.
    pub(crate) words: String,
}

/// Whether a request of the agent opens a dialog. A page that it asks to open is no form.
pub(crate) fn opens(method: &str, params: &Value) -> bool {
    match method {
        "session/request_permission" => true,
        "elicitation/create" => params["mode"] != "url",
        _ => false,
    }
}

impl Dialog {
    /// A permission, whose tool call is merged with what was said of it before, or a form.
    pub(crate) fn new(request: &Value, number: u64, asked: Value) -> Self {
        Self {
            request: request.clone(),
            number,
            hold: None,
            form: Form::of(&asked),
            asked,
        }
    }

    /// It for a terminal that attached, which answers it.
    pub(crate) fn sent(&self) -> Value {
        json!({ "number": self.number, "asked": self.asked })
    }

    /// The dialog that a session has sent to this terminal, with what was typed of it before.
    pub(crate) fn received(before: Option<Self>, sent: &Value) -> Self {
        let number = sent["number"].as_u64().unwrap_or_default();
        let before = before.filter(|it| it.number == number);
        before.unwrap_or_else(|| Self::new(&Value::Null, number, sent["asked"].clone()))
    }

    /// The parameters of the agent's request.
    pub(crate) fn asked(&self) -> &Value {
        &self.asked
    }

    /// The event by which the hub shows it.
    pub(crate) fn event(&self) -> Value {
        if self.is_elicitation() {
            let schema = &self.asked["requestedSchema"];
            return json!({
                "hook_event_name": "acp.form", "message": self.asked["message"], "requestedSchema": schema,
            });
        }
        json!({ "hook_event_name": "acp.permission", "request": self.asked })
    }

    /// Its text, for a terminal.
    pub(crate) fn shown(&self) -> String {
        if let Some(form) = &self.form {
            let message = self.asked["message"].as_str().unwrap_or_default();
            return format!("? {message}\n{}", form.next());
        }
        let options = self.options().iter().zip(1..);
        let options =
            options.map(|(it, n)| format!("[{n}] {}", it["name"].as_str().unwrap_or_default()));
        let options = options.collect::<Vec<_>>().join("  ");
        format!(
            "? {}\n{options}  (or: allow, always, deny: why)",
            shown(&self.asked)
        )
    }

    /// Reads words that the person typed.
    pub(crate) fn read(&mut self, words: &str) -> Typed {
        if let Some(form) = &mut self.form {
            return form.read(words);
        }
        let number: Option<usize> = words.trim().parse().ok();
        let option = number.and_then(|n| self.options().get(n.checked_sub(1)?));
        if let Some(option) = option {
            return Typed::Answer(json!({ "kind": option["kind"], "option": option["optionId"] }));
        }
        match verdict(words) {
            Some(Verdict::Allow) => Typed::Answer(json!({ "kind": "allow_once" })),
            Some(Verdict::AllowAlways | Verdict::AcceptEdits) => {
                Typed::Answer(json!({ "kind": "allow_always" }))
            }
            Some(Verdict::Deny(reason)) => {
                Typed::Answer(json!({ "kind": "reject_once", "message": reason }))
            }
            None => Typed::More(self.shown()),
        }
    }

    /// The consequences of an answer from the hub or the terminal.
    pub(crate) fn outcome(&self, answer: &Value) -> Outcome {
        if let Some(form) = answer.get("form") {
            return Outcome {
                result: form.clone(),
                closed: closed(json!({})),
                reason: None,
                words: form["action"].as_str().unwrap_or("answered").to_owned(),
            };
        }
        if let Some(texts) = answer["answers"].as_array() {
            let texts: Vec<String> = texts
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            return Outcome {
                result: answered(&self.asked, &texts),
                closed: closed(json!({ "answers": texts })),
                reason: None,
                words: texts.join(", "),
            };
        }
        let kind = answer["kind"].as_str().unwrap_or("reject_once");
        let allowed = kind.starts_with("allow");
        let reason = answer["message"]
            .as_str()
            .filter(|_| !allowed)
            .map(str::to_owned);
        let option = answer["option"].as_str().map(|it| selected(it.to_owned()));
        Outcome {
            result: option.unwrap_or_else(|| chosen(&self.asked, kind)),
            closed: closed(json!({ "allowed": allowed })),
            words: if allowed { "allowed" } else { "denied" }.to_owned(),
            reason,
        }
    }

    /// The result for the agent when its turn is cancelled.
    pub(crate) fn cancelled(&self) -> Value {
        if self.is_elicitation() {
            json!({ "action": "cancel" })
        } else {
            cancelled()
        }
    }

    /// Ends the hub's hold, because the dialog was closed elsewhere.
    pub(crate) fn release(&mut self) {
        if let Some(hold) = self.hold.take() {
            hold.abort();
        }
    }

    fn is_elicitation(&self) -> bool {
        self.asked["options"].is_null()
    }

    fn options(&self) -> &[Value] {
        self.asked["options"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// The event of a dialog that has closed.
pub(crate) fn closed(how: Value) -> Value {
    let mut event = how;
    event["hook_event_name"] = "acp.closed".into();
    event
}

/// A request with all its fields, and its change as lines that go and come.
fn shown(asked: &Value) -> String {
    let request = acp::request(asked);
    let Split { tool, input, .. } = Split::of(request.as_object().unwrap_or(&Map::new()));
    let mut lines = vec![tool];
    let input = input.unwrap_or_default();
    for (name, value) in in_order(input.as_object().unwrap_or(&Map::new())) {
        let Some(text) = value_text(value) else {
            continue;
        };
        let mark = match name.as_str() {
            "old_string" => "- ",
            "new_string" | "content" => "+ ",
            _ => {
                lines.push(format!("  {name}: {text}"));
                continue;
            }
        };
        lines.extend(text.lines().map(|it| format!("  {mark}{it}")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission() -> Dialog {
        let asked = json!({
            "sessionId": "s",
            "toolCall": {"toolCallId": "t", "kind": "execute", "rawInput": {"command": "make"}},
            "options": [
                {"optionId": "all", "name": "Always", "kind": "allow_always"},
                {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                {"optionId": "no", "name": "No", "kind": "reject_once"},
            ],
        });
        Dialog::new(&json!(7), 0, asked)
    }

    #[test]
    fn words_and_numbers_answer_a_permission() {
        let mut dialog = permission();
        assert!(
            dialog.shown().contains("command: make"),
            "{}",
            dialog.shown()
        );
        for (words, option) in [
            ("1", "all"),
            ("allow", "yes"),
            ("always", "all"),
            ("deny: not now", "no"),
        ] {
            let Typed::Answer(answer) = dialog.read(words) else {
                panic!("{words}")
            };
            let outcome = dialog.outcome(&answer);
            assert_eq!(outcome.result["outcome"]["optionId"], option, "{words}");
            assert_eq!(outcome.closed["allowed"], option != "no", "{words}");
        }
        assert!(matches!(dialog.read("4"), Typed::More(_)));
        assert!(matches!(dialog.read("please do"), Typed::More(_)));
        let denied = json!({"kind": "reject_once", "message": "not now"});
        assert_eq!(dialog.outcome(&denied).reason.as_deref(), Some("not now"));
        assert_eq!(dialog.cancelled()["outcome"]["outcome"], "cancelled");
    }

    #[test]
    fn the_hub_and_the_terminal_answer_a_form_alike() {
        let schema = json!({"type": "object", "properties": {"db": {"type": "string", "enum": ["pg", "sqlite"]}}});
        let asked = json!({"mode": "form", "message": "Which?", "requestedSchema": schema});
        let mut dialog = Dialog::new(&json!("x"), 0, asked);
        assert_eq!(dialog.event()["hook_event_name"], "acp.form");
        let Typed::Answer(answer) = dialog.read("2") else {
            panic!()
        };
        assert_eq!(
            answer,
            json!({"form": {"action": "accept", "content": {"db": "sqlite"}}})
        );
        assert_eq!(dialog.outcome(&answer).result["content"]["db"], "sqlite");
        assert_eq!(dialog.cancelled(), json!({"action": "cancel"}));
    }
}
