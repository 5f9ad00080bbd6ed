//! The hub itself: its version, its addresses, and its proof that it knows the token.

use serde::{Deserialize, Serialize};

use crate::{Epoch, Seq, Timestamp};

/// The answer to `GET /hub`.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The hub's version.
    pub version: String,
    /// The hub's address on its machine.
    pub url: String,
    /// The directory of the token and the socket.
    pub state_dir: String,
    /// The host name of the hub's machine.
    pub host: String,
    /// The hub's clock.
    pub now: Timestamp,
    /// The identity of the log.
    pub epoch: Epoch,
    /// The number of the log's last record.
    pub head: Seq,
    /// Whether agents may give permissions, by the configuration.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agents_may_approve: bool,
    /// The cluster; absent for a hub on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterInfo>,
    /// The forwards of this hub; empty on a standby.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwards: Vec<ForwardInfo>,
}

/// The answer to `GET /readyz` of a hub that can store and answer.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// `ready`.
    pub status: String,
    /// What a person should know nevertheless, for example what was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A forward: a service that the hub passes notifications on to, as set in `[[forward]]`.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardInfo {
    /// Its name.
    pub name: String,
    /// The kind of its target: `ntfy`, `webhook`, `slack` or `discord`.
    pub kind: String,
    /// The number of records that it has not looked at yet.
    pub behind: Seq,
    /// The notifications that the target has accepted since the hub started.
    pub sent: u64,
    /// The notifications that the target has refused for good since the hub started.
    pub refused: u64,
    /// When the target last accepted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// When an attempt last failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// Why the last attempt failed; absent if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A cluster, as one of its hubs sees it.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterInfo {
    /// The name of the cluster.
    pub name: String,
    /// The name of this hub in it.
    pub node: String,
    /// What this hub does: `active` or `standby`.
    pub role: String,
    /// The active hub; absent if none is known to live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// Since when it is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The number of records that another hub has and this one does not have yet.
    pub behind: Seq,
    /// Why this hub does not follow the others, refuses publishes, does not reach NATS, or is not believed who makes its
    /// requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// What NATS has lost of the log; the hubs' copies still have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// The other hubs.
    pub nodes: Vec<NodeInfo>,
}

/// Another hub of the cluster, at its last beat.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its name.
    pub node: String,
    /// What it does: `active`, `standby`, `leaving`, or `silent` if it has not been heard for 8 s.
    pub role: String,
    /// The number of its log's last record.
    pub head: Seq,
    /// Its version.
    pub version: String,
    /// Why it does not follow, or refuses publishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// When it was heard last, by this hub's clock.
    pub seen_at: Timestamp,
}

/// The answer to `POST /cluster/handover`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takeover {
    /// The active hub.
    pub active: String,
    /// Since when it is active.
    pub since: Timestamp,
    /// The milliseconds that the takeover took; 0 if that hub was the active one before.
    pub took_ms: u64,
}

/// The answer to `GET /hello`.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// HMAC-SHA256(token, nonce ‖ address) in hexadecimal digits.
    pub proof: String,
    /// The hub's version.
    pub version: String,
}

/// A code that signs one browser in, the answer to `POST /login/code`.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInCode {
    /// The code.
    pub code: String,
    /// The dashboard's address with the code.
    pub url: String,
    /// When the code expires.
    pub expires_at: Timestamp,
}

/// The body of `POST /login/phone`: whom the link is for.
#[derive(Default, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhonePairing {
    /// The address at which the phone reaches the hub, one of `allowed_hosts`; the first of them if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name of the device; that of its browser if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the device may do.
    #[serde(default)]
    pub access: PhoneAccess,
}

/// The rights of a paired phone.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhoneAccess {
    /// It reads, answers needs, ends or puts them off, sends messages and changes what calls the person.
    #[default]
    Answers,
    /// It only reads.
    Reads,
}

/// A browser that is signed in to the dashboard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its id, which names it to `DELETE /login/devices/{id}`.
    pub id: String,
    /// The browser and its system, as the browser reported them.
    pub name: String,
    /// When it signed in.
    pub created_at: Timestamp,
    /// Its last request.
    pub used_at: Timestamp,
    /// When its session ends.
    pub expires_at: Timestamp,
    /// Its rights, if it is a phone that was paired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<PhoneAccess>,
    /// Whether it asks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// The response to `GET /login/devices`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Devices {
    /// The devices, oldest first.
    pub devices: Vec<Device>,
}

/// The data of the `reset` event: the reader's cursor does not exist in this log.
#[derive(Default, Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResetEvent {
    /// The identity of this log.
    pub epoch: Epoch,
    /// The number of its last record, from which the stream continues.
    pub head: Seq,
}
