//! The bodies of requests to targets: the shapes of ntfy, Slack, Discord and a plain webhook.
//!
//! ntfy: <https://docs.ntfy.sh/publish/#publish-as-json>. Slack: <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>.
//! Discord: <https://discord.com/developers/docs/resources/webhook#execute-webhook>.

use bytes::Bytes;
use hub_protocol::{Kind, Notification, Priority, is_hidden};
use serde_json::{Value, json};

use super::Forward;
use super::buttons::{Button, whole};
use crate::config::ForwardKind;
use crate::core::secret::Secret;

/// The most bytes of a text. ntfy takes 4,096 and Discord 2,000 characters, with the sender and the options.
const MAX_TEXT: usize = 1500;
/// The most bytes of a message to Discord, with its ellipsis less than the characters that it takes.
const MAX_DISCORD: usize = 1990;
/// The most bytes of a label, so that a question with long options fits too.
const MAX_LABEL: usize = 60;

/// The text of a notification that cannot show all that would be allowed.
const NOT_ALL: &str = "\nNot all of it fits here: open it on the dashboard to allow it.";

impl Forward {
    /// The body of the request that passes a notification on, whose stored form is `json`.
    pub(super) fn body(&self, it: &Notification, json: Bytes, buttons: &[Button]) -> Bytes {
        match self.settings.kind {
            ForwardKind::Webhook => json,
            ForwardKind::Ntfy => self.ntfy(it, buttons).to_string().into(),
            ForwardKind::Slack => slack(it).to_string().into(),
            ForwardKind::Discord => discord(it).to_string().into(),
        }
    }

    fn ntfy(&self, it: &Notification, buttons: &[Button]) -> Value {
        let whole = whole(it).filter(|_| !buttons.is_empty());
        let mut text = whole.clone().unwrap_or_else(|| text(it));
        if it.kind == Kind::Approval && whole.is_none() && !buttons.is_empty() {
            text.push_str(NOT_ALL);
        }
        // Buttons show at most three options.
        if buttons.len() < options(it).len() {
            text.push_str(&list(it));
        }
        let mut message = self.ntfy_message(sender(it), &text, level(it.priority));
        message["tags"] = json!([tag(it.kind)]);
        if !buttons.is_empty() {
            message["actions"] = buttons.iter().map(|it| self.action(it)).collect();
        }
        message
    }

    /// A message to the topic of ntfy, with a level from 1 to 5.
    pub(super) fn ntfy_message(&self, title: &str, text: &str, level: u8) -> Value {
        let topic = self.settings.topic.as_ref();
        json!({
            "topic": topic.map(Secret::expose),
            "title": clean(title),
            "message": text,
            "priority": level,
        })
    }

    /// A button, which publishes its token to the topic that the hub reads.
    fn action(&self, button: &Button) -> Value {
        let reply = self.settings.reply_topic.as_ref();
        let reply = reply.map_or("", |it| it.expose());
        json!({
            "action": "http",
            "label": shortened(&clean(&button.label), MAX_LABEL),
            "url": format!("{}/{reply}", self.settings.url.expose()),
            "method": "POST",
            "body": button.token,
            "clear": true,
        })
    }
}

fn slack(it: &Notification) -> Value {
    // Slack's markup needs only these three escaped; it then shows no link and mentions nobody.
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;");
        text.replace('<', "&lt;").replace('>', "&gt;")
    };
    let text = escape(&format!("{}{}", text(it), list(it)));
    json!({ "text": format!("*{}* ({})\n{text}", escape(sender(it)), it.kind.as_str()) })
}

fn discord(it: &Notification) -> Value {
    let text = format!(
        "**{}** ({})\n{}{}",
        sender(it),
        it.kind.as_str(),
        text(it),
        list(it)
    );
    // A link must show where it leads, so none gets a text of its own.
    let text = shortened(&text.replace("](", "]\\("), MAX_DISCORD);
    // Without this, a text could mention everyone.
    json!({ "content": text, "allowed_mentions": { "parse": [] } })
}

/// The sender's name for people.
pub(super) fn sender(it: &Notification) -> &str {
    it.from_name.as_deref().unwrap_or(it.from.as_str())
}

/// The text for people, on as many lines as it has.
fn text(it: &Notification) -> String {
    let title = it.title.as_ref().map(|title| format!("{title}\n"));
    let text = format!("{}{}", title.unwrap_or_default(), it.msg);
    shortened(&clean(&text), MAX_TEXT)
}

fn options(it: &Notification) -> &[String] {
    it.options.as_deref().unwrap_or_default()
}

/// The options of a question, a line each; not more than a message has room for.
fn list(it: &Notification) -> String {
    let line = |option: &String| format!("\n- {}", shortened(&clean(option), MAX_LABEL));
    options(it).iter().take(6).map(line).collect()
}

/// Removes characters that could hide or disguise text.
fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| *c == '\n' || !is_hidden(*c))
        .collect()
}

/// The first bytes of a text, with an ellipsis if it is longer.
fn shortened(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let end = (0..=max).rev().find(|at| text.is_char_boundary(*at));
    format!("{}…", &text[..end.unwrap_or(0)])
}

/// The priority as a number of ntfy.
fn level(priority: Priority) -> u8 {
    match priority {
        Priority::Urgent => 5,
        Priority::High => 4,
        Priority::Normal => 3,
        Priority::Low => 2,
    }
}

/// The tag that ntfy shows as an emoji.
fn tag(kind: Kind) -> &'static str {
    match kind {
        Kind::Question => "question",
        Kind::Approval => "lock",
        Kind::Error => "rotating_light",
        Kind::Complete | Kind::Testing => "white_check_mark",
        Kind::Waiting => "hourglass",
        Kind::Progress | Kind::Message | Kind::Answer | Kind::Ended => "speech_balloon",
    }
}
