//! Agents whose hooks report late, twice or never.

use hub_core::answer::AnswerKind;
use hub_core::command::{AgentEvent, Command, HeldHook, Hook, IdempotencyKey};
use hub_core::record::TurnCause;
use hub_core::rejected::Rejected;
use hub_core::waiters::Held;
use hub_engine::writer::{Ask, Done};
use hub_protocol::ProjectName;
use tokio::sync::oneshot;

use super::name;
use crate::oracle::Broken;
use crate::world::{World, tell};

/// All agents.
#[derive(Default)]
pub(crate) struct Hooks {
    sent: Vec<oneshot::Receiver<Result<Done, Rejected>>>,
    /// Requests that are held for an answer.
    held: Vec<Held>,
    /// Events that a hook reports again.
    again: Vec<Hook>,
    next: u64,
}

impl Hooks {
    /// The hub has ended, and with it all requests.
    pub(crate) fn lose(&mut self) {
        self.sent.clear();
        self.held.clear();
    }
}

impl World {
    /// A hook reports an event.
    pub(crate) fn hook(&mut self) {
        if self.process.is_none() {
            return;
        }
        let late = !self.hooks.again.is_empty() && self.rng.chance(15);
        let hook = if late {
            self.hooks.again.remove(0)
        } else {
            self.event()
        };
        if self.rng.chance(10) {
            self.hooks.again.push(hook.clone());
        }
        tell!(self, "the hook of {}: {:?}", hook.id, hook.happened);
        let (reply, answer) = oneshot::channel();
        let command = Command::Hook(Box::new(hook));
        self.queue.push(Ask::Command { command, reply });
        self.hooks.sent.push(answer);
    }

    fn event(&mut self) -> Hook {
        let rng = &mut self.rng;
        let session = (
            ProjectName::default(),
            name(rng.pick::<&str>(&["w1", "w2"])),
        );
        let happened = match rng.below(12) {
            0..2 => AgentEvent::Started,
            2..4 => AgentEvent::Prompt {
                by: *rng.pick(&[TurnCause::Person, TurnCause::Wake, TurnCause::Peer]),
                text: "go".into(),
            },
            4..6 => AgentEvent::Worked,
            6..8 => AgentEvent::Stopped {
                text: "Done.".into(),
                tasks: Vec::new(),
                continues: false,
            },
            8 => AgentEvent::Interrupted,
            9..11 => AgentEvent::Asks {
                text: "Which?".into(),
                options: Vec::new(),
                data: serde_json::Value::Null,
            },
            _ => AgentEvent::Ended,
        };
        let mut hook = Hook::derived(session, happened, "Simulated", 0);
        hook.derived_at = None;
        self.hooks.next += 1;
        let key = format!("hook {}", self.hooks.next);
        hook.once = self.rng.chance(80).then(|| IdempotencyKey {
            digest: key.clone(),
            key,
        });
        if matches!(hook.happened, AgentEvent::Asks { .. }) && self.rng.chance(70) {
            hook.held = Some(HeldHook {
                within_ms: 60_000,
                takes: AnswerKind::Text,
                delays: false,
            });
        }
        hook
    }

    /// Takes the answers to hooks.
    pub(crate) fn collect_hooks(&mut self) -> Result<(), Broken> {
        for mut answer in std::mem::take(&mut self.hooks.sent) {
            match answer.try_recv() {
                Err(oneshot::error::TryRecvError::Empty) => self.hooks.sent.push(answer),
                Ok(Ok(done)) => self.hooks.held.extend(done.held),
                Ok(Err(Rejected::Full | Rejected::Storage)) if !self.is_troubled() => {
                    return Err("a hook is refused for want of space, and there is space".into());
                }
                Ok(Err(_)) | Err(oneshot::error::TryRecvError::Closed) => {}
            }
        }
        // Agents give up at any time.
        if self.rng.chance(5) {
            self.hooks.held.clear();
        }
        Ok(())
    }
}
