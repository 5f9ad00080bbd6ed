use http_body_util::BodyExt as _;
use hub_engine::testing::{held_question, lost_answer, memory_hub};
use serde_json::json;

use super::*;

#[tokio::test]
async fn an_answer_that_an_earlier_hub_stored_is_given_to_the_hook_that_asks_again() {
    let hub = memory_hub();
    let id = lost_answer(&hub).await;
    let asks = json!({ "hook_event_name": "PermissionRequest", "session_id": "w1",
        "tool_name": "AskUserQuestion", "tool_input": { "questions": [{ "question": "Which?" }] } });
    let once = Some(IdempotencyKey::new("k", b"claude"));
    let payload = asks.as_object().unwrap();
    let request = HookRequest::new(&hub, "claude", HookParams::default(), payload, once).unwrap();
    let told = respond(&request).await.unwrap().into_body();
    let told: Value = serde_json::from_slice(&told.collect().await.unwrap().to_bytes()).unwrap();
    let answers = &told["hookSpecificOutput"]["decision"]["updatedInput"]["answers"];
    assert_eq!(*answers, json!({ "Which?": "this one" }));
    assert_eq!(state(&hub, id).await, QuestionState::Answered);
    hub.stop();
}

async fn state(hub: &Hub, id: Seq) -> QuestionState {
    let question = questions::settled(hub, id, Duration::ZERO).await;
    question.unwrap().state
}

#[tokio::test]
async fn a_hub_that_stops_keeps_an_answer_for_its_hook_and_another_one_opens_the_question_again() {
    for (stops, expected) in [
        (true, QuestionState::Answered),
        (false, QuestionState::Open),
    ] {
        let hub = memory_hub();
        let id = lost_answer(&hub).await;
        let held = hub.submit(held_question()).await.unwrap().held.unwrap();
        let handover = Handover::new(&hub, id, held, held_question());
        if stops {
            hub.shutdown().cancel();
        }
        drop(handover);
        // The writer answers after what was submitted before.
        tokio::task::yield_now().await;
        hub.ping().await.unwrap();
        assert_eq!(state(&hub, id).await, expected);
        hub.stop();
    }
}
