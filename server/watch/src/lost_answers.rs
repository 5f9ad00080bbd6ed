//! Answers that an earlier hub stored and whose hooks do not come back for them: their questions are open again.

use hub_core::command::Command;
use hub_engine::Hub;
use hub_protocol::Seq;
use tokio_util::sync::CancellationToken;

/// Opens these questions once no hook is expected any more, after each time at which this hub begins to decide, until
/// `shutdown`.
pub async fn watch(hub: Hub, shutdown: CancellationToken) {
    let mut presence = hub.presence();
    let mut done = None;
    loop {
        let until = hub.waiters().read().hooks_expected_until();
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep_until(until.into()), if done != Some(until) => {
                reopen(&hub).await;
                done = Some(until);
            }
            // The time is another one after a change of the active hub.
            changed = presence.changed(), if done == Some(until) => if changed.is_err() { return },
        }
    }
}

async fn reopen(hub: &Hub) {
    if hub.is_standby() {
        return;
    }
    for question in lost(hub) {
        let delivered = false;
        let note = Command::NoteAnswer {
            question,
            delivered,
        };
        if let Err(error) = hub.submit(note).await {
            tracing::warn!(%error, question, "the answer to a question did not reach its agent");
        }
    }
}

fn lost(hub: &Hub) -> Vec<Seq> {
    let lost = hub.read(|state, waiters| {
        let waiters = waiters.read();
        let stored = state.questions.with_stored_answers();
        stored.filter(|id| !waiters.is_held(*id)).collect()
    });
    lost.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use hub_engine::testing::{held_question, lost_answer, memory_hub};
    use hub_protocol::QuestionState;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_question_is_open_again_if_its_hook_does_not_come_back_for_the_answer() {
        let hub = memory_hub();
        let id = lost_answer(&hub).await;
        let is_open = || {
            let state = hub.read(|state, _| state.questions.get(id).map(|it| it.state));
            state.unwrap() == Some(QuestionState::Open)
        };
        let back = hub.submit(held_question()).await.unwrap();
        reopen(&hub).await;
        assert!(!is_open());
        drop(back);
        let own = hub.clone();
        tokio::spawn(watch(own, CancellationToken::new()));
        let mut log = hub.log().subscribe();
        while !is_open() {
            log.changed().await.unwrap();
        }
        hub.stop();
    }
}
