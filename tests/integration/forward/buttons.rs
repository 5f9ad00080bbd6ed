//! Buttons on the phone: their answers, and every way in which one comes too late or from somebody else.

use hub_harness::ntfy::button;
use hub_harness::{Ntfy, each};
use serde_json::{Value, json};

use super::Forwarding;

const BUTTONS: &str = "buttons=true\nreply_topic='reply'";

impl Forwarding {
    /// Asks, and returns the id and the message on the phone.
    async fn asks(&self, kind: &str, options: &[&str]) -> (u64, Value) {
        let before = self.ntfy.messages("phone").len();
        let mut post = json!({ "msg": "?", "from": "w1", "type": kind });
        if !options.is_empty() {
            post["options"] = json!(options);
        }
        let id = self.client.notify(post).await;
        let mut all = self.ntfy.until_messages("phone", before + 1);
        (id, all.swap_remove(before))
    }

    /// Presses a button, and returns what the hub then sends to the phone.
    async fn press(&self, message: &Value, label: &str) -> Value {
        let before = self.ntfy.messages("phone").len();
        self.ntfy.press(message, label).await;
        let mut all = self.ntfy.until_messages("phone", before + 1);
        all.swap_remove(before)
    }

    async fn state(&self, id: u64) -> Value {
        let question = self.client.question(id).await;
        json!([question["state"], question["answer"], question["by"]])
    }
}

#[tokio::test]
async fn a_button_gives_the_persons_answer() {
    let it = Forwarding::start(BUTTONS);
    for (kind, options, label, answer) in [
        ("approval", &[][..], "Approve", "allow"),
        ("approval", &[], "Deny", "deny"),
        ("question", &["postgres", "sqlite"], "sqlite", "sqlite"),
        ("question", &["a", "b", "c"], "c", "c"),
    ] {
        let (id, message) = it.asks(kind, options).await;
        let reply = it.press(&message, label).await;
        assert_eq!(reply["message"], format!("answered: {answer}"));
        assert_eq!(json!([reply["title"], reply["priority"]]), json!(["w1", 2]));
        assert_eq!(it.state(id).await, json!(["answered", answer, "person"]));
    }
}

#[tokio::test]
async fn a_question_without_options_has_no_buttons_and_one_with_many_lists_them() {
    let it = Forwarding::start(BUTTONS);
    let (_, message) = it.asks("question", &[]).await;
    assert_eq!(message["actions"], Value::Null);
    let (_, message) = it.asks("question", &["a", "b", "c", "d"]).await;
    assert_eq!(message["actions"], Value::Null);
    assert_eq!(message["message"], "?\n- a\n- b\n- c\n- d");
}

#[tokio::test]
async fn without_the_setting_there_are_no_buttons() {
    let it = Forwarding::start("");
    let (_, message) = it.asks("approval", &[]).await;
    assert_eq!(message["actions"], Value::Null);
}

#[tokio::test]
async fn a_button_works_once() {
    let it = Forwarding::start(BUTTONS);
    let (id, message) = it.asks("approval", &[]).await;
    it.press(&message, "Approve").await;
    for label in ["Approve", "Deny"] {
        let reply = it.press(&message, label).await;
        assert_eq!(
            reply["message"],
            "too late: already answered: allow (person)"
        );
    }
    assert_eq!(it.state(id).await, json!(["answered", "allow", "person"]));
}

#[tokio::test]
async fn a_question_that_was_settled_elsewhere_takes_no_button() {
    let it = Forwarding::start(BUTTONS);
    let (id, message) = it.asks("question", &["a", "b"]).await;
    it.client.answer(id, "b").await.expect(201);
    let reply = it.press(&message, "a").await;
    assert_eq!(reply["message"], "too late: already answered: b (unknown)");
    assert_eq!(it.state(id).await, json!(["answered", "b", "unknown"]));

    let (id, message) = it.asks("question", &["a", "b"]).await;
    let withdraw = format!("/questions/{id}/withdraw");
    it.client.post_json(&withdraw, json!({})).await.expect(200);
    let reply = it.press(&message, "a").await;
    assert_eq!(
        reply["message"],
        "too late: the question is withdrawn already"
    );
}

#[tokio::test]
async fn presses_that_come_too_late_do_not_delay_another() {
    let it = Forwarding::start(BUTTONS);
    let (_, stale) = it.asks("question", &["a", "b"]).await;
    it.press(&stale, "a").await;
    let (id, message) = it.asks("question", &["c", "d"]).await;
    let old = button(&stale, "a")["body"].as_str().unwrap();
    for _ in 0..150 {
        it.ntfy.publish("reply", old);
    }
    let mut events = it.client.events("?kinds=question").await;
    it.ntfy.press(&message, "d").await;
    while events.next_of("question").await.data["id"] != id {}
    assert_eq!(it.state(id).await, json!(["answered", "d", "person"]));
    let reports = it.ntfy.messages("phone");
    assert!(reports.len() < 30, "{} messages", reports.len());
}

#[tokio::test]
async fn a_text_that_is_no_token_of_this_question_does_nothing() {
    let it = Forwarding::start(BUTTONS);
    let (other, _) = it.asks("approval", &[]).await;
    let (id, message) = it.asks("approval", &[]).await;
    let body = button(&message, "Approve")["body"].as_str().unwrap();
    let (_, rest) = body.split_once('.').unwrap();
    let longer = "x".repeat(4000);
    for forged in ["allow", "", "1.0.9999999999999.00", &longer] {
        it.ntfy.publish("reply", forged);
    }
    // It looks like a button of an earlier hub, and is explained once.
    for _ in 0..2 {
        it.ntfy.publish("reply", &format!("{other}.{rest}"));
    }
    // The button is read after the forged texts, so they were read too.
    it.ntfy.press(&message, "Deny").await;
    let reply = it.ntfy.until_messages("phone", 4).remove(3);
    assert_eq!(reply["message"], "answered: deny");
    assert_eq!(it.state(other).await[0], "open");
    assert_eq!(it.state(id).await, json!(["answered", "deny", "person"]));
    assert_eq!(it.ntfy.messages("phone").len(), 4);
}

#[tokio::test]
async fn a_button_of_an_earlier_hub_says_so_and_a_new_one_works() {
    let mut it = Forwarding::start(BUTTONS);
    let (id, message) = it.asks("approval", &[]).await;
    it.hub.restart();
    it.client = it.hub.client();
    let reply = it.press(&message, "Approve").await;
    let expected = format!(
        "too late: this button is not of the hub that runs now; answer with: hubctl answer {id} …"
    );
    assert_eq!(reply["message"], expected);
    assert_eq!(it.state(id).await[0], "open");
    let (_, message) = it.asks("approval", &[]).await;
    let reply = it.press(&message, "Deny").await;
    assert_eq!(reply["message"], "answered: deny");
}

#[tokio::test]
async fn a_server_with_access_tokens_needs_only_the_answers_topic_to_be_open() {
    let ntfy = Ntfy::start();
    ntfy.require("tk_s3cret");
    let text = super::phone(&ntfy.url(), &format!("{BUTTONS}\ntoken='tk_s3cret'"));
    let it = Forwarding::with(ntfy, &text);
    let (id, message) = it.asks("approval", &[]).await;
    it.press(&message, "Approve").await;
    assert_eq!(it.state(id).await[0], "answered");
    assert!(!message.to_string().contains("s3cret"));
}

/// The phone shows the beginning of a notification, so what is allowed there must be all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_phone_does_not_show_to_its_end_can_only_be_denied() {
    let it = Forwarding::start(BUTTONS);
    let hook = |tool: &str, input: Value| json!({ "hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": input });
    for (shown, event) in [
        (false, hook("Bash", json!({ "command": "x".repeat(400) }))),
        (
            false,
            hook("Bash", json!({ "command": "git push ma\u{200b}in" })),
        ),
        (
            false,
            hook("Write", json!({ "file_path": "/home/me/.bashrc" })),
        ),
        (
            true,
            hook("Write", json!({ "file_path": "/a", "content": "x" })),
        ),
    ] {
        let before = it.ntfy.messages("phone").len();
        let client = it.client.clone();
        let asks = tokio::spawn(async move { client.hook("", "w1", event).await });
        let message = it
            .ntfy
            .until_messages("phone", before + 1)
            .swap_remove(before);
        let text = message["message"].as_str().unwrap();
        let labels = &message["actions"];
        if shown {
            assert_eq!(text, "Write: /a\ncontent: x");
            assert_eq!(each(labels, "label"), json!(["Approve", "Deny"]));
        } else {
            assert!(text.ends_with("open it on the dashboard."), "{text}");
            assert_eq!(*labels, Value::Null);
        }
        asks.abort();
    }
}

#[tokio::test]
async fn an_answer_of_a_button_names_its_forward() {
    let it = Forwarding::start(BUTTONS);
    let (id, message) = it.asks("approval", &[]).await;
    it.press(&message, "Approve").await;
    let answer = it.client.question(id).await["answer_id"].clone();
    let answer = it.client.read(&format!("/notifications/{answer}")).await;
    assert_eq!(answer["evidence"], json!({ "forward": "phone" }));
}
