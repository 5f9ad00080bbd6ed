//! Buttons on the phone: their answers, and every way in which one comes too late or from somebody else.

use hub_harness::ntfy::button;
use hub_harness::{Hub, Ntfy, each};
use hub_protocol::Timestamp;
use hubd::core::secret::hex;
use hubd::waiters::lease_token::LeaseKey;
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
        ("approval", &[][..], "Allow", "allow"),
        ("approval", &[], "Deny", "deny"),
        ("question", &["postgres", "sqlite"], "sqlite", "sqlite"),
        ("question", &["a", "b", "c", "d"], "c", "c"),
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
    assert_eq!(each(&message["actions"], "label"), json!(["a", "b", "c"]));
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
    it.press(&message, "Allow").await;
    for label in ["Allow", "Deny"] {
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
    assert_eq!(reply["message"], "too late: already answered: b (person)");
    assert_eq!(it.state(id).await, json!(["answered", "b", "person"]));

    let (id, message) = it.asks("question", &["a", "b"]).await;
    let withdraw = format!("/questions/{id}/withdraw");
    it.client.post_json(&withdraw, json!({})).await.expect(200);
    let reply = it.press(&message, "a").await;
    assert_eq!(
        reply["message"],
        "too late: the question is withdrawn already"
    );
}

/// A token as the hub makes it, that expires at a time.
fn token(hub: &Hub, epoch: &str, question: u64, expires_at: Timestamp) -> String {
    let rest = format!("{question}.0.{}", expires_at.as_millis());
    let key = LeaseKey::new(hub.token().as_bytes());
    let tag = key.tag(&format!("hub forward v1 {epoch} phone {rest}"));
    format!("{rest}.{}", hex(&tag))
}

#[tokio::test]
async fn an_expired_button_says_so() {
    let it = Forwarding::start(BUTTONS);
    let (id, message) = it.asks("question", &["a", "b"]).await;
    let epoch = it.client.read("/hub").await["epoch"]
        .as_str()
        .unwrap()
        .to_owned();
    let body = button(&message, "a")["body"].as_str().unwrap();
    let valid = Timestamp::from_millis(body.split('.').nth(2).unwrap().parse().unwrap());
    assert_eq!(
        token(&it.hub, &epoch, id, valid),
        body,
        "the test makes tokens as the hub does"
    );
    let left = valid.as_millis() - Timestamp::now().as_millis();
    assert!((3_500_000..=3_600_000).contains(&left), "{left}");
    let past = token(&it.hub, &epoch, id, Timestamp::now().plus_millis(-1));
    it.ntfy.publish("reply", &past);
    let reply = it.ntfy.until_messages("phone", 2).remove(1);
    let expected = format!("too late: this button has expired; answer with: hubctl answer {id} …");
    assert_eq!(reply["message"], expected);
    assert_eq!(it.state(id).await[0], "open");
}

#[tokio::test]
async fn a_text_that_is_no_token_of_this_question_does_nothing() {
    let it = Forwarding::start(BUTTONS);
    let (other, _) = it.asks("approval", &[]).await;
    let (id, message) = it.asks("approval", &[]).await;
    let body = button(&message, "Allow")["body"].as_str().unwrap();
    let (_, rest) = body.split_once('.').unwrap();
    let longer = "x".repeat(4000);
    for forged in [
        "allow",
        "",
        "1.0.9999999999999.00",
        &longer,
        &format!("{other}.{rest}"),
    ] {
        it.ntfy.publish("reply", forged);
    }
    // The button is read after the forged texts, so they were read too.
    let reply = it.press(&message, "Deny").await;
    assert_eq!(reply["message"], "answered: deny");
    assert_eq!(it.state(other).await[0], "open");
    assert_eq!(it.state(id).await, json!(["answered", "deny", "person"]));
    assert_eq!(it.ntfy.messages("phone").len(), 3);
}

#[tokio::test]
async fn an_answer_that_was_given_while_the_hub_was_down_counts_and_is_read_once() {
    let mut it = Forwarding::start(BUTTONS);
    let (id, message) = it.asks("approval", &[]).await;
    it.hub.stop();
    it.ntfy.press(&message, "Allow").await;
    it.hub.start_again();
    it.client = it.hub.client();
    let reply = it.ntfy.until_messages("phone", 2).remove(1);
    assert_eq!(reply["message"], "answered: allow");
    assert_eq!(it.state(id).await, json!(["answered", "allow", "person"]));
    it.hub.restart();
    it.client = it.hub.client();
    let (_, message) = it.asks("approval", &[]).await;
    let reply = it.press(&message, "Deny").await;
    assert_eq!(reply["message"], "answered: deny");
    assert_eq!(it.ntfy.messages("phone").len(), 4);
}

#[tokio::test]
async fn a_server_with_access_tokens_needs_only_the_answers_topic_to_be_open() {
    let ntfy = Ntfy::start();
    ntfy.require("tk_s3cret");
    let text = super::phone(&ntfy.url(), &format!("{BUTTONS}\ntoken='tk_s3cret'"));
    let it = Forwarding::with(ntfy, &text);
    let (id, message) = it.asks("approval", &[]).await;
    it.press(&message, "Allow").await;
    assert_eq!(it.state(id).await[0], "answered");
    assert!(!message.to_string().contains("s3cret"));
}
