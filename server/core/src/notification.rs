//! The shapes of a notification: as posted (`hub_protocol::Post`), as kept ([`Draft`] before it has a number, then
//! `record::Notified`), and as shown (`hub_protocol::Notification`, whose JSON is stored).

use bytes::Bytes;
use hub_protocol::{
    InboxName, Kind, Notification, Post, Priority, ProjectName, Seq, SessionState, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{Notified, Route, Target};

/// The beginning of the keys that only hooks give.
pub const HOOK_KEYS: &str = "hook:";

/// How long a notice of the hub needs the person.
const NOTICE_TTL_MS: i64 = 30 * 24 * 3600 * 1000;

/// A notification that has no number yet.
#[allow(clippy::struct_excessive_bools)] // independent properties
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Draft {
    /// The notification as its readers see it, with the number 0 and without the sender's name.
    pub body: Notification,
    /// [`tail_of`] the body, if it was serialised before the writer's turn.
    #[serde(skip)]
    pub tail: Option<Bytes>,
    /// Whether the sender named the type: a defaulted one changes no session's state.
    pub explicit_kind: bool,
    /// Whether it allows a request that the hub does not have whole.
    pub allows_unseen: bool,
    /// Whether the sender may approve a permission that an agent asks for.
    pub may_approve: bool,
    /// Whether its sender's questions for a person stay open, because another agent posts it.
    pub keeps_senders: bool,
    /// Whether those of the session that it is about stay open, for the same reason.
    pub keeps_sessions: bool,
    /// Whether it wakes no waiter, because it is old or is only delivered with the next item that wakes.
    pub quiet: bool,
    /// Whether it is only recorded: it goes to no inbox.
    pub recorded: bool,
    /// Whether the session keeps the state that it reported, because the hub only found that its process is gone.
    #[serde(default)] // a hub of an earlier version may send it
    pub keeps_state: bool,
}

impl Draft {
    /// A notification of normal priority that names its type; all optional fields are absent.
    pub fn new(
        (project, from): (&ProjectName, &InboxName),
        kind: Kind,
        msg: String,
        ts: Timestamp,
        ttl_ms: i64,
    ) -> Self {
        let body = Notification {
            id: 0,
            ts,
            from: from.clone(),
            from_name: None,
            kind,
            msg,
            to: None,
            project: project.clone(),
            priority: Priority::default(),
            title: None,
            data: None,
            session: None,
            parent: None,
            key: None,
            reply_to: None,
            expires_at: ts.plus_millis(ttl_ms),
            options: None,
            answers: None,
            hops: 0,
            received: None,
            muted_by: None,
            rides_along: None,
            evidence: None,
            turn: None,
            repeats: None,
        };
        Self {
            body,
            tail: None,
            explicit_kind: true,
            allows_unseen: false,
            may_approve: false,
            keeps_senders: false,
            keeps_sessions: false,
            quiet: false,
            recorded: false,
            keeps_state: false,
        }
    }

    /// An urgent question of the hub itself, which tells the person something to take note of. Of several with one `key`,
    /// the last one counts.
    pub fn notice(
        project: &ProjectName,
        (key, msg): (String, String),
        data: Value,
        ts: Timestamp,
    ) -> Self {
        let hub = InboxName::HUB.parse().expect("a constant name");
        let mut notice = Self::new((project, &hub), Kind::Question, msg, ts, NOTICE_TTL_MS);
        notice.body.to = InboxName::PERSON.parse().ok();
        notice.body.priority = Priority::Urgent;
        notice.body.key = Some(key);
        notice.body.options = Some(vec!["Understood".into()]);
        notice.body.data = Some(data);
        notice.explicit_kind = false;
        notice
    }

    /// Whether it reports that its session works again or has completed its work, which ends what the session has asked.
    pub fn ends_questions(&self) -> bool {
        let state = self.body.kind.session_state();
        self.explicit_kind && matches!(state, Some(SessionState::Working | SessionState::Complete))
    }

    /// Makes it wake no waiter, and says why.
    pub fn ride_along(&mut self, why: &str) {
        self.body.rides_along = Some(why.into());
        self.quiet = true;
    }

    /// Returns the notification as it is stored with the number `id`: from the session `sender`, whose name for people is
    /// `from_name`.
    pub fn stored(
        &self,
        id: Seq,
        sender: InboxName,
        from_name: Option<&str>,
        routing: Routing,
    ) -> Notified {
        let it = &self.body;
        let json = match &self.tail {
            Some(tail) if routing.priority == it.priority && from_name.is_none() => {
                let turn = routing.turn.map(|turn| format!(r#""turn":{turn},"#));
                let head = format!(r#"{{"id":{id},{}"#, turn.unwrap_or_default());
                [head.as_bytes(), tail].concat()
            }
            _ => to_json(&Notification {
                id,
                from_name: from_name.map(str::to_owned),
                priority: routing.priority,
                turn: routing.turn,
                ..it.clone()
            }),
        };
        let route = Route {
            project: it.project.clone(),
            from: sender,
            kind: it.kind,
            priority: routing.priority,
            ts: it.ts,
            expires_at: it.expires_at,
            targets: routing.targets,
            key: it.key.clone(),
            session: routing.session,
            hops: it.hops,
        };
        Notified {
            route,
            json: json.into(),
        }
    }
}

/// The fields of a stored notification that the fold decides.
#[derive(Debug)]
pub struct Routing {
    /// Its own priority, or the higher one of an item that it supersedes.
    pub priority: Priority,
    /// The inboxes that it goes to.
    pub targets: Vec<Target>,
    /// The session whose state it changes, and the new state.
    pub session: Option<(InboxName, SessionState)>,
    /// The turn of its sender in which it was sent.
    pub turn: Option<Seq>,
}

/// Room for the JSON of most notifications without their text.
const ROOM: usize = 384;

/// Returns the JSON of a notification.
pub fn to_json(notification: &Notification) -> Vec<u8> {
    let mut json = Vec::with_capacity(ROOM + notification.msg.len());
    // Every field of a notification is valid JSON, so serialising cannot fail.
    serde_json::to_writer(&mut json, notification).expect("a notification is JSON");
    json
}

/// Whether a text has more than `max` characters, counted as JSON Schema counts them.
pub fn is_longer(text: &str, max: usize) -> bool {
    text.len() > max && text.chars().nth(max).is_some()
}

/// Returns the type that a post names, if it names one.
pub fn kind_of(post: &Post) -> Option<Kind> {
    post.kind.or_else(|| kind_in_data(post))
}

/// Returns the type in the post's metadata, where other tools put it. An unknown type there is only data.
fn kind_in_data(post: &Post) -> Option<Kind> {
    post.data.as_ref()?.get("type")?.as_str()?.parse().ok()
}

/// Returns the JSON of a notification without a number, after [`HEAD`].
pub fn tail_of(notification: &Notification) -> Bytes {
    Bytes::from(to_json(notification)).slice(HEAD.len()..)
}

/// The beginning of a serialised notification that has no number yet.
pub const HEAD: &str = r#"{"id":0,"#;
