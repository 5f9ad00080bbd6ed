//! The records of one command. Its later notifications see the earlier ones, though the state does not hold them yet.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hub_protocol::{
    InboxName, Kind, Notification, Priority, ProjectName, Seq, SessionState, Timestamp,
};
use serde_json::Value;

use super::listener::{Pair, removed};
use super::notify::Stop;
use super::texts;
use super::{Leased, State};
use crate::command::{Draft, Refusal};
use crate::draft;
use crate::record::{ListenerEnd, Record};

/// What the hub says by itself stops being offered after this, in milliseconds.
const TTL_MS: i64 = 7 * 24 * 3600 * 1000;

/// Bytes of JSON that the hub passes on beside a text of its own.
const MAX_DATA: usize = 16 * 1024;

/// Records on their way: notifications first, so that their numbers are known, then what follows from them.
pub(super) struct Batch<'a> {
    pub(super) state: &'a State,
    pub(super) now: Timestamp,
    pub(super) leased: &'a Leased<'a>,
    pub(super) notified: Vec<Record>,
    pub(super) after: Vec<Record>,
    pub(super) opened: BTreeMap<ProjectName, BTreeSet<InboxName>>,
    pub(super) keyed: HashMap<Place, (Seq, Priority)>,
    pub(super) sessions: BTreeMap<(ProjectName, InboxName), SessionState>,
    /// Questions that this command settles.
    pub(super) answered: BTreeSet<Seq>,
    /// Questions that this command asks under a key.
    pub(super) asked: HashMap<(ProjectName, InboxName, String), Seq>,
    /// Listeners that it uses up.
    fired: BTreeSet<Pair>,
}

/// Within this a key collapses.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) project: ProjectName,
    pub(super) inbox: InboxName,
    pub(super) from: InboxName,
    pub(super) key: String,
}

/// Something that the hub says by itself, of or for a session.
pub(super) struct Said<'a> {
    pub(super) project: &'a ProjectName,
    pub(super) from: &'a InboxName,
    pub(super) to: Option<&'a InboxName>,
    pub(super) kind: Kind,
    pub(super) msg: String,
    pub(super) data: Option<Value>,
    pub(super) reply_to: Option<Seq>,
    pub(super) key: Option<&'a str>,
    pub(super) options: Vec<String>,
    /// Whether it tells the sender's state.
    pub(super) tells_state: bool,
    /// Whether it rides along instead of waking.
    pub(super) quiet: bool,
    /// Whether it goes to no inbox.
    pub(super) recorded: bool,
}

impl<'a> Batch<'a> {
    pub(super) fn new(state: &'a State, now: Timestamp, leased: &'a Leased<'a>) -> Self {
        Self {
            state,
            now,
            leased,
            notified: Vec::new(),
            after: Vec::new(),
            opened: BTreeMap::new(),
            keyed: HashMap::new(),
            sessions: BTreeMap::new(),
            answered: BTreeSet::new(),
            asked: HashMap::new(),
            fired: BTreeSet::new(),
        }
    }

    /// The number of the next notification.
    pub(super) fn next_id(&self) -> Seq {
        self.state.head + 1 + self.notified.len() as u64
    }

    /// A record that follows from what was said.
    pub(super) fn also(&mut self, record: Record) {
        self.after.push(record);
    }

    /// Adds what the hub says by itself, and tells who listens.
    pub(super) fn say(&mut self, said: Said<'_>) -> Result<(), Refusal> {
        let stop = self.add(&self.draft(said))?;
        match stop {
            Some(stop) => self.tell_listeners(&stop),
            None => Ok(()),
        }
    }

    /// [`Batch::say`] of what must be said: where no inbox takes it, it is recorded.
    pub(super) fn say_in_any_case(&mut self, said: Said<'_>) {
        let mut draft = self.draft(said);
        let stop = self.add(&draft).or_else(|_| {
            draft.recorded = true;
            self.add(&draft)
        });
        if let Ok(Some(stop)) = stop {
            // A caller whose inbox cannot be made is not told.
            let _ = self.tell_listeners(&stop);
        }
    }

    fn draft(&self, said: Said<'_>) -> Draft {
        let expires_at = self.now.plus_millis(TTL_MS);
        let notification = Notification {
            id: 0,
            ts: self.now,
            from: said.from.clone(),
            kind: said.kind,
            msg: said.msg,
            to: said.to.cloned(),
            project: said.project.clone(),
            priority: Priority::default(),
            title: None,
            data: said.data.map(bounded),
            session: None,
            parent: None,
            key: said.key.map(str::to_owned),
            reply_to: said.reply_to,
            expires_at,
            options: (!said.options.is_empty()).then_some(said.options),
            hops: 0,
            received: None,
        };
        Draft {
            tail: draft::tail_of(&notification),
            project: notification.project,
            from: notification.from,
            kind: said.kind,
            explicit_kind: said.tells_state,
            to: notification.to,
            parent: None,
            session: None,
            priority: notification.priority,
            key: notification.key,
            reply_to: said.reply_to,
            may_approve: false,
            hops: 0,
            ts: self.now,
            expires_at,
            quiet: said.quiet,
            recorded: said.recorded,
        }
    }

    /// Tells whoever listens to a session that it stopped, unless they are told by the notification itself.
    pub(super) fn tell_listeners(&mut self, stop: &Stop) -> Result<(), Refusal> {
        let state = self.state;
        let open = state.listeners.to(&stop.project, &stop.session);
        for (pair, _) in open {
            if self.fired.contains(pair) {
                continue;
            }
            let inboxes = state.inboxes_of(&stop.project, &pair.caller);
            if inboxes.iter().any(|inbox| stop.reached.contains(inbox)) {
                self.fired.insert(pair.clone());
                self.also(removed(
                    pair,
                    ListenerEnd::Fired { cause: stop.id },
                    self.now,
                ));
            } else {
                self.fire(
                    pair,
                    stop.id,
                    stop.kind,
                    texts::msg_of(&stop.tail).as_deref(),
                )?;
            }
        }
        if stop.kind == Kind::Ended {
            self.orphan(&stop.project, &stop.session);
        }
        Ok(())
    }

    /// Removes the listeners that end with their caller, each once.
    pub(super) fn orphan(&mut self, project: &ProjectName, caller: &InboxName) {
        let state = self.state;
        for pair in state.listeners.of_caller(project, caller) {
            if self.fired.insert(pair.clone()) {
                self.also(removed(pair, ListenerEnd::CallerEnded, self.now));
            }
        }
    }

    /// Whether this command uses a listener up.
    pub(super) fn has_fired(&self, pair: &Pair) -> bool {
        self.fired.contains(pair)
    }

    /// Uses a listener up, and tells its caller.
    pub(super) fn fire(
        &mut self,
        pair: &Pair,
        cause: Seq,
        kind: Kind,
        msg: Option<&str>,
    ) -> Result<(), Refusal> {
        self.fired.insert(pair.clone());
        self.also(removed(pair, ListenerEnd::Fired { cause }, self.now));
        let asks = matches!(kind, Kind::Question | Kind::Approval);
        let session = self.state.session(&pair.project, &pair.target);
        let said = Said {
            project: &pair.project,
            from: &pair.target,
            to: Some(&pair.caller),
            kind: if asks { Kind::Message } else { kind },
            msg: texts::stopped(&pair.target, session, kind, cause, msg),
            data: Some(serde_json::json!({ "listener": true, "cause": cause })),
            reply_to: None,
            key: None,
            options: Vec::new(),
            tells_state: false,
            quiet: false,
            recorded: false,
        };
        let draft = self.draft(said);
        self.add(&draft).map(drop)
    }

    /// The records, in the order of their numbers.
    pub(super) fn finish(self) -> Vec<Record> {
        let mut records = self.notified;
        records.extend(self.after);
        records
    }
}

/// What an agent says of itself may be as large as a request; what is too large for a notification is left out.
fn bounded(data: Value) -> Value {
    let size = data.to_string().len();
    if size <= MAX_DATA {
        return data;
    }
    serde_json::json!({ "cut": format!("{size} bytes") })
}
