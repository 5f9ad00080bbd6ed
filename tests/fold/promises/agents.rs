//! Agents' sessions: helpers for the tests of hooks, receipts and interrupts.

use hub_core::answer::AnswerKind;
use hub_core::command::{HeldHook, Hook};
use hub_protocol::Process;

use super::*;

pub(super) fn hook(id: &str, happened: AgentEvent) -> Hook {
    crate::hook(&name(id), happened)
}

impl Hub {
    /// Applies a hook event of the session whose agent calls it `id`.
    pub(super) fn hook(&mut self, id: &str, happened: AgentEvent) -> Vec<Record> {
        self.hook_of(id, SessionInfo::default(), happened)
    }

    /// Applies a hook event; returns what it [`told`].
    pub(super) fn told(&mut self, id: &str, event: AgentEvent) -> Vec<String> {
        told(&self.hook(id, event))
    }

    /// Applies a hook event, which must lead to these notifications.
    #[track_caller]
    pub(super) fn tells(&mut self, id: &str, event: AgentEvent, expected: &str) {
        tells(&self.hook(id, event), expected);
    }

    /// Asserts the text of the last notification.
    #[track_caller]
    pub(super) fn last_is(&self, text: &str) {
        assert_eq!(self.last_msg(), text);
    }

    pub(super) fn hook_of(
        &mut self,
        id: &str,
        info: SessionInfo,
        event: AgentEvent,
    ) -> Vec<Record> {
        self.changed_hook(id, event, |it| it.info = info)
    }

    /// Starts a session.
    pub(super) fn start(&mut self, id: &str, info: SessionInfo) -> Vec<Record> {
        self.hook_of(id, info, AgentEvent::Started)
    }

    /// Applies an event that a bridge derived when record `seq` had reported the session's state.
    pub(super) fn derived(&mut self, id: &str, seq: Seq, happened: AgentEvent) -> Vec<Record> {
        let hook = Hook {
            derived_at: Some(seq),
            ..hook(id, happened)
        };
        self.run(&Command::Hook(Box::new(hook)))
    }

    /// Applies a hook event from a terminal that the person has in view.
    pub(super) fn watched_hook(&mut self, id: &str, event: AgentEvent) -> Vec<Record> {
        self.changed_hook(id, event, |it| it.watched = true)
    }

    /// Applies a hook event whose request the hub holds until its question is answered.
    pub(super) fn held_hook(&mut self, id: &str, event: AgentEvent) -> Vec<Record> {
        let held = held(&event);
        self.changed_hook(id, event, |it| it.held = Some(held))
    }

    /// Applies an event of `w1` that names a dialog by the agent's id of it.
    pub(super) fn named_hook(&mut self, dialog: &str, event: AgentEvent) -> Vec<Record> {
        self.changed_hook("w1", event, |it| it.dialog = Some(dialog.into()))
    }

    pub(super) fn changed_hook(
        &mut self,
        id: &str,
        event: AgentEvent,
        change: impl FnOnce(&mut Hook),
    ) -> Vec<Record> {
        let mut hook = hook(id, event);
        change(&mut hook);
        self.run(&Command::Hook(Box::new(hook)))
    }

    /// Starts a session as the worker of another.
    pub(super) fn worker(&mut self, id: &str, parent: &str) {
        self.start(id, info(|it| it.parent = Some(name(parent))));
    }

    /// Starts a session as the one that the person talks to.
    pub(super) fn chosen(&mut self, id: &str) {
        self.start(id, info(|it| it.role = Some("primary".into())));
    }

    pub(super) fn end(&mut self, id: &str, exited: bool) -> Vec<Record> {
        self.run(&Command::End {
            project: project(),
            session: name(id),
            exited,
            process: None,
            quiet: false,
        })
    }

    pub(super) fn state_of(&self, id: &str) -> Option<SessionState> {
        self.state.sessions.with_name(&project(), &name(id))?.state
    }

    /// Returns the text of a notification.
    pub(super) fn msg(&self, id: Seq) -> String {
        let json: serde_json::Value = serde_json::from_str(self.json(id)).unwrap();
        json["msg"].as_str().unwrap().to_owned()
    }

    /// Returns the text of the last notification.
    pub(super) fn last_msg(&self) -> String {
        self.msg(self.last_id())
    }

    /// Returns the whole words of the last notification.
    pub(super) fn last_words(&self) -> String {
        let json: serde_json::Value = serde_json::from_str(self.json(self.last_id())).unwrap();
        json["data"]["said"].as_str().unwrap().to_owned()
    }

    fn last_id(&self) -> Seq {
        let notified = |it: &Record| matches!(it, Record::Notified(_));
        let last = self.log.iter().rposition(notified);
        last.unwrap() as Seq + 1
    }
}

/// How the hub holds a request for an hour.
pub(super) fn held(event: &AgentEvent) -> HeldHook {
    let takes = match event {
        AgentEvent::Permission { .. } => AnswerKind::Permission,
        _ => AnswerKind::Text,
    };
    HeldHook {
        within_ms: HOUR,
        takes,
        delays: false,
    }
}

/// Returns types and inboxes of the notifications in records: `type inbox inbox!`, with a mark if it wakes.
pub(super) fn told(records: &[Record]) -> Vec<String> {
    let said = records.iter().filter_map(|record| match record {
        Record::Notified(it) => Some(&it.route),
        _ => None,
    });
    said.map(|route| {
        let targets = route.targets.iter();
        let targets = targets.map(|it| format!(" {}{}", it.inbox, if it.wakes { "!" } else { "" }));
        format!("{}{}", route.kind, targets.collect::<String>())
    })
    .collect()
}

/// Returns properties of a session.
pub(super) fn info(change: impl FnOnce(&mut SessionInfo)) -> SessionInfo {
    let mut info = SessionInfo::default();
    change(&mut info);
    info
}

pub(super) fn named(text: &str) -> SessionInfo {
    info(|it| it.name = Some(text.into()))
}

pub(super) fn register(session: &str, info: SessionInfo) -> Command {
    let (project, session) = (project(), name(session));
    Command::Register {
        project,
        session,
        info: info.into(),
        runs: false,
    }
}

/// Registers a session as which `hubctl run` runs a command.
pub(super) fn runs(session: &str) -> Command {
    let (project, session) = (project(), name(session));
    Command::Register {
        project,
        session,
        info: Box::default(),
        runs: true,
    }
}

/// `w1`, worker of `lead`, in a turn that a wake began.
pub(super) fn working() -> Hub {
    let mut hub = Hub::new();
    hub.worker("w1", "lead");
    hub.hook("w1", prompt(Wake));
    hub
}

/// Asserts what records [`told`], separated by commas.
#[track_caller]
pub(super) fn tells(records: &[Record], expected: &str) {
    assert_eq!(told(records).join(", "), expected);
}

pub(super) fn process(pid: u32) -> SessionInfo {
    let (started, boot_id) = (Some(7), None);
    let process = Process {
        pid,
        started,
        boot_id,
    };
    info(|it| it.process = Some(process))
}

pub(super) fn prompt(by: TurnCause) -> AgentEvent {
    let text = "do it".into();
    AgentEvent::Prompt { by, text }
}

/// A prompt of the person with this text.
pub(super) fn prompt_of(text: &str) -> AgentEvent {
    AgentEvent::Prompt {
        by: Person,
        text: text.into(),
    }
}

pub(super) fn stop(text: &str) -> AgentEvent {
    stop_with(text, &[])
}

/// A stop while this background work runs.
pub(super) fn stop_with(text: &str, tasks: &[&str]) -> AgentEvent {
    AgentEvent::Stopped {
        text: text.into(),
        tasks: tasks.iter().map(ToString::to_string).collect(),
        continues: false,
    }
}

pub(super) fn failed(reason: &str, permanent: bool) -> AgentEvent {
    AgentEvent::failed(reason, permanent)
}

pub(super) fn idle() -> AgentEvent {
    AgentEvent::Idle {
        text: "it waits".into(),
    }
}

pub(super) fn asks(text: &str) -> AgentEvent {
    AgentEvent::Asks {
        text: text.into(),
        options: vec!["yes".into(), "no".into()],
        data: serde_json::Value::Null,
    }
}

pub(super) fn permission() -> AgentEvent {
    AgentEvent::Permission {
        text: "Bash: rm x".into(),
        data: Some(serde_json::json!({})),
    }
}

/// The notice that follows the request of a permission.
pub(super) fn notice() -> AgentEvent {
    AgentEvent::Permission {
        text: "w1 needs your permission".into(),
        data: None,
    }
}
