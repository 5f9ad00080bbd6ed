//! Agents' sessions: helpers for the tests of hooks, receipts and interrupts.

use hub_protocol::{Process, SessionInfo};
use hubd::core::command::{Happened, Hook};
use hubd::core::record::Beginner;

use super::*;

fn hook(id: &str, happened: Happened) -> Hook {
    Hook {
        project: project(),
        given: None,
        id: name(id),
        info: SessionInfo::default(),
        happened,
        event: "Test".into(),
        watched: false,
        held: false,
        once: None,
    }
}

impl Hub {
    /// Applies a hook event of the session whose agent calls it `id`.
    pub(super) fn hook(&mut self, id: &str, happened: Happened) -> Vec<Record> {
        self.hook_of(id, SessionInfo::default(), happened)
    }

    pub(super) fn hook_of(
        &mut self,
        id: &str,
        info: SessionInfo,
        happened: Happened,
    ) -> Vec<Record> {
        let hook = Hook {
            info,
            ..hook(id, happened)
        };
        self.run(&Command::Hook(Box::new(hook)))
    }

    /// Applies a hook event from a terminal that the person has in view.
    pub(super) fn watched_hook(&mut self, id: &str, happened: Happened) -> Vec<Record> {
        let hook = Hook {
            watched: true,
            ..hook(id, happened)
        };
        self.run(&Command::Hook(Box::new(hook)))
    }

    /// Applies a hook event whose request the hub holds until its question is answered.
    pub(super) fn held_hook(&mut self, id: &str, happened: Happened) -> Vec<Record> {
        let hook = Hook {
            held: true,
            ..hook(id, happened)
        };
        self.run(&Command::Hook(Box::new(hook)))
    }

    /// Starts a session as the worker of another.
    pub(super) fn worker(&mut self, id: &str, parent: &str) {
        let parent = Some(name(parent));
        let info = SessionInfo {
            parent,
            ..SessionInfo::default()
        };
        self.hook_of(id, info, Happened::Started);
    }

    /// Starts a session as the one that the person talks to.
    pub(super) fn chosen(&mut self, id: &str) {
        let role = Some("primary".into());
        let info = SessionInfo {
            role,
            ..SessionInfo::default()
        };
        self.hook_of(id, info, Happened::Started);
    }

    pub(super) fn end(&mut self, id: &str, gone: bool) -> Vec<Record> {
        self.run(&Command::End {
            project: project(),
            session: name(id),
            gone,
            quiet: false,
        })
    }

    pub(super) fn state_of(&self, id: &str) -> Option<hub_protocol::SessionState> {
        let told = self.state.session_state(&project(), &name(id));
        told.map(|(state, _)| state)
    }

    /// Returns the text of a notification.
    pub(super) fn msg(&self, id: Seq) -> String {
        let json: serde_json::Value = serde_json::from_str(self.json(id)).unwrap();
        json["msg"].as_str().unwrap().to_owned()
    }

    /// Returns the text of the last notification.
    pub(super) fn last_msg(&self) -> String {
        let last = self
            .log
            .iter()
            .rposition(|it| matches!(it, Record::Notified(_)));
        self.msg(last.unwrap() as Seq + 1)
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

pub(super) fn process(pid: u32) -> SessionInfo {
    SessionInfo {
        process: Some(Process {
            pid,
            started: Some(7),
            boot_id: None,
        }),
        ..SessionInfo::default()
    }
}

pub(super) fn prompt(by: Beginner) -> Happened {
    let text = "do it".into();
    Happened::Prompt { by, text }
}

pub(super) fn stop(text: &str) -> Happened {
    stop_with(text, &[])
}

/// A stop while this background work runs.
pub(super) fn stop_with(text: &str, tasks: &[&str]) -> Happened {
    Happened::Stopped {
        text: text.into(),
        tasks: tasks.iter().map(ToString::to_string).collect(),
        goes_on: false,
    }
}

pub(super) fn failed(reason: &str, for_good: bool) -> Happened {
    let reason = reason.into();
    Happened::Failed { reason, for_good }
}

pub(super) fn idle() -> Happened {
    Happened::Idle {
        text: "it waits".into(),
    }
}

pub(super) fn asks(text: &str) -> Happened {
    Happened::Asks {
        text: text.into(),
        options: vec!["yes".into(), "no".into()],
        data: serde_json::Value::Null,
    }
}

pub(super) fn permission() -> Happened {
    Happened::Permission {
        text: "Bash: rm x".into(),
        data: Some(serde_json::json!({})),
    }
}
