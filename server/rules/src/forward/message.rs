//! The bodies of requests to targets: the shapes of ntfy, Slack, Discord and a plain webhook.
//!
//! ntfy: <https://docs.ntfy.sh/publish/#publish-as-json>. Slack: <https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks>.
//! Discord: <https://discord.com/developers/docs/resources/webhook#execute-webhook>.

use bytes::Bytes;
use hub_config::ForwardKind;
use hub_core::secret::Secret;
use hub_engine::needs::Preview;
use hub_protocol::{Kind, Notification, Priority, first_bytes, is_hidden, with_ellipsis};
use serde_json::{Value, json};

use super::Forward;
use super::buttons::Button;

/// The most bytes of an option.
const MAX_LABEL: usize = 60;

/// The text of a question that cannot show all that an answer would allow or settle.
const NOT_ALL: &str = "\nNot all of it fits here: open it on the dashboard.";

impl Forward {
    /// The body of the request that passes a notification on, whose stored form is `json`.
    pub(super) fn body(
        &self,
        it: &Notification,
        (shown, buttons): (&Preview, &[Button]),
        json: Bytes,
    ) -> Bytes {
        let text = text(it, shown);
        match self.settings.kind {
            ForwardKind::Webhook => json,
            ForwardKind::Ntfy => self.ntfy(it, text, buttons).to_string().into(),
            ForwardKind::Slack => slack(it, &text).to_string().into(),
            ForwardKind::Discord => discord(it, &text).to_string().into(),
        }
    }

    fn ntfy(&self, it: &Notification, mut text: String, buttons: &[Button]) -> Value {
        if buttons.is_empty() {
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
            "label": button.label,
            "url": format!("{}/{reply}", self.settings.url.expose()),
            "method": "POST",
            "body": button.token,
            "clear": true,
        })
    }
}

fn slack(it: &Notification, text: &str) -> Value {
    // Slack's markup needs only these three escaped; it then shows no link and mentions nobody.
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;");
        text.replace('<', "&lt;").replace('>', "&gt;")
    };
    let text = escape(&format!("{text}{}", list(it)));
    json!({ "text": format!("*{}* ({})\n{text}", escape(sender(it)), it.kind.as_str()) })
}

fn discord(it: &Notification, text: &str) -> Value {
    let (from, kind, options) = (sender(it), it.kind.as_str(), list(it));
    let text = format!("**{from}** ({kind})\n{text}{options}");
    // A link must show where it leads, so none gets a text of its own.
    let text = text.replace("](", "]\\(");
    // Without this, a text could mention everyone.
    json!({ "content": text, "allowed_mentions": { "parse": [] } })
}

/// The sender's name for people.
pub(super) fn sender(it: &Notification) -> &str {
    it.from_name.as_deref().unwrap_or(it.from.as_str())
}

/// The text for people; of a question also whether there is more to it.
fn text(
    it: &Notification,
    Preview {
        brief, complete, ..
    }: &Preview,
) -> String {
    let asks = matches!(it.kind, Kind::Question | Kind::Approval);
    format!("{brief}{}", if asks && !complete { NOT_ALL } else { "" })
}

/// The options of a question, a line each; not more than a message has room for.
fn list(it: &Notification) -> String {
    let line = |option: &String| {
        let label = clean(option);
        let beginning = first_bytes(&label, MAX_LABEL);
        format!("\n- {}", with_ellipsis(beginning, &label))
    };
    it.options.iter().flatten().take(6).map(line).collect()
}

/// Removes characters that could hide or disguise text.
fn clean(text: &str) -> String {
    text.chars()
        .filter(|c| *c == '\n' || !is_hidden(*c))
        .collect()
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
