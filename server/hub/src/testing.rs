//! A hub without sockets and its commands, for tests, also those of other crates.

use std::sync::Arc;

use hub_core::answer::AnswerKind;
use hub_core::command::{AgentEvent, Command, HeldHook, Hook, IdempotencyKey};
use hub_core::waiters::WakeLimits;
use hub_core::waiters::lease_token::LeaseKey;
use hub_core::wake_files::WakeFiles;
use hub_log::archive::Recovered;
use hub_log::journal::Journal;
use hub_log::journal::memory::MemoryJournal;
use hub_protocol::{Epoch, ProjectName, Seq, SessionInfo};
use tokio_util::sync::CancellationToken;

use crate::{Hub, HubParts, Rules, draft};

/// A journal in memory.
pub fn memory() -> Arc<MemoryJournal> {
    Arc::new(MemoryJournal::new(Epoch(7)))
}

/// Starts a hub without sockets on a journal in memory.
pub fn memory_hub() -> Hub {
    hub(memory())
}

/// Starts a hub without sockets on `journal`.
pub fn hub(journal: Arc<dyn Journal>) -> Hub {
    let (hub, _) = Hub::start(HubParts {
        journal,
        recovered: Recovered::default(),
        leases: LeaseKey::new(b"secret"),
        offered: 0,
        limits: WakeLimits {
            per_sender_per_minute: 6,
            per_hour: 60,
        },
        rules: Rules::default(),
        rule_set: Arc::default(),
        wake_files: WakeFiles::new("/dev/null/wake".into()),
        queue: 64,
        streams: 64,
        shutdown: CancellationToken::new(),
    });
    hub
}

/// A question of the session `w1`, whose hook is held.
pub fn held_question() -> Command {
    Command::Hook(Box::new(Hook {
        project: ProjectName::default(),
        given: None,
        id: "w1".parse().unwrap(),
        info: SessionInfo::default(),
        other: None,
        shares_process: false,
        acp: false,
        subagent: None,
        dialog: None,
        happened: AgentEvent::Asks {
            text: "Which?".into(),
            options: Vec::new(),
            data: serde_json::Value::Null,
        },
        event: "PermissionRequest".into(),
        watched: false,
        by_peer: false,
        held: Some(HeldHook {
            within_ms: 60_000,
            takes: AnswerKind::Text,
            delays: false,
        }),
        once: Some(IdempotencyKey::new("k", b"claude")),
        derived_at: None,
        acted: None,
        wordless: false,
        used: None,
    }))
}

/// Asks [`held_question`] and answers it. The hook does not get the answer, as if the hub had died; returns the question.
pub async fn lost_answer(hub: &Hub) -> Seq {
    let done = hub.submit(held_question()).await.unwrap();
    let post = hub_protocol::Post {
        msg: "this one".into(),
        from: Some("person".parse().unwrap()),
        kind: Some(hub_protocol::Kind::Answer),
        reply_to: Some(done.ids[0]),
        ..hub_protocol::Post::default()
    };
    let context = draft::Context::new(hub).by_person(true);
    let drafts = vec![draft::prepare(post, &context).unwrap()];
    let answer = Command::Notify { drafts, once: None };
    hub.submit(answer).await.unwrap();
    done.ids[0]
}
