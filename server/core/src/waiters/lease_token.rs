//! Lease tokens. A token acknowledges exactly the batch that a reader received.
//!
//! A token contains its claim, so that an acknowledgement also works after a restart, when the hub has forgotten the
//! lease. It is signed, so that a reader cannot acknowledge notifications that it never received. Form:
//! `base64url(claim JSON) . base64url(tag)`, where the tag is the first 16 bytes of HMAC-SHA256 over the first part.
//! Numbers are ascending and stored as differences, which keeps 500 of them within 2 KiB.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use hub_protocol::{Epoch, InboxName, ProjectName, Seq, Way};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::command::Command;

const TAG_BYTES: usize = 16;

/// The key that signs this hub's leases.
pub struct LeaseKey(Hmac<Sha256>);

/// The contents of a lease: the batch that a reader received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The epoch of the journal that holds the notifications.
    pub epoch: Epoch,
    /// The project of the inboxes.
    pub project: ProjectName,
    /// The name of the reader.
    pub by: Option<String>,
    /// The agent session that is shown the batch, and how.
    pub shown: Option<(InboxName, Way)>,
    /// Each inbox and its notifications, ascending.
    pub items: Vec<(InboxName, Vec<Seq>)>,
}

/// The error for a token that this hub did not issue.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("this lease was not given out by this hub")]
pub struct ForgedLease;

#[derive(Serialize, Deserialize)]
struct TokenFields {
    e: Epoch,
    p: ProjectName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    s: Option<(InboxName, Way)>,
    i: Vec<(InboxName, Vec<u64>)>,
}

impl Claim {
    /// Splits it into the claim of the notifications that `keeps` accepts and the claim of the others.
    pub fn partition(self, keeps: impl Fn(Seq) -> bool) -> (Self, Self) {
        let (mut kept, mut rest) = (self.clone(), self);
        for (_, ids) in &mut kept.items {
            ids.retain(|id| keeps(*id));
        }
        for (_, ids) in &mut rest.items {
            ids.retain(|id| !keeps(*id));
        }
        (kept, rest)
    }
}

/// The command that acknowledges what was claimed.
impl From<Claim> for Command {
    fn from(claim: Claim) -> Self {
        Self::Ack {
            project: claim.project,
            items: claim.items,
            by: claim.by,
            shown: claim.shown,
        }
    }
}

impl LeaseKey {
    /// Derives the key from the hub's secret, so that tokens stay valid after a restart.
    pub fn new(secret: &[u8]) -> Self {
        let mut derive =
            Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
        derive.update(b"hub lease v1");
        let key = derive.finalize().into_bytes();
        Self(Hmac::new_from_slice(&key).expect("HMAC takes a key of any length"))
    }

    /// Returns the token for a claim.
    pub fn sign(&self, claim: &Claim) -> String {
        let items = claim
            .items
            .iter()
            .map(|(inbox, ids)| (inbox.clone(), differences(ids)))
            .collect();
        let wire = TokenFields {
            e: claim.epoch,
            p: claim.project.clone(),
            b: claim.by.clone(),
            s: claim.shown.clone(),
            i: items,
        };
        let body = BASE64.encode(serde_json::to_vec(&wire).expect("a claim is JSON"));
        let tag = self.0.clone().chain_update(&body).finalize().into_bytes();
        let tag = BASE64.encode(&tag[..TAG_BYTES]);
        format!("{body}.{tag}")
    }

    /// Returns HMAC-SHA256 of `text` for another purpose than a lease. The text contains a space, which no lease does.
    pub fn tag(&self, text: &str) -> [u8; 32] {
        debug_assert!(text.contains(' '));
        let tag = self.0.clone().chain_update(text).finalize();
        tag.into_bytes().into()
    }

    /// Returns the claim of a token that this hub issued for the journal `epoch`; fails for any other token.
    pub fn verify(&self, token: &str, epoch: Epoch) -> Result<Claim, ForgedLease> {
        let (body, tag) = token.split_once('.').ok_or(ForgedLease)?;
        let tag = BASE64.decode(tag).map_err(|_| ForgedLease)?;
        if tag.len() != TAG_BYTES {
            return Err(ForgedLease);
        }
        self.0
            .clone()
            .chain_update(body)
            .verify_truncated_left(&tag)
            .map_err(|_| ForgedLease)?;
        let body = BASE64.decode(body).map_err(|_| ForgedLease)?;
        let wire: TokenFields = serde_json::from_slice(&body).map_err(|_| ForgedLease)?;
        if wire.e != epoch {
            return Err(ForgedLease);
        }
        let items = wire
            .i
            .into_iter()
            .map(|(inbox, steps)| (inbox, sums(&steps)))
            .collect();
        Ok(Claim {
            epoch,
            project: wire.p,
            by: wire.b,
            shown: wire.s,
            items,
        })
    }
}

fn differences(ids: &[Seq]) -> Vec<u64> {
    let before = std::iter::once(0).chain(ids.iter().copied());
    ids.iter()
        .zip(before)
        .map(|(id, before)| id - before)
        .collect()
}

fn sums(steps: &[u64]) -> Vec<Seq> {
    steps
        .iter()
        .scan(0_u64, |sum, step| {
            *sum = sum.saturating_add(*step);
            Some(*sum)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        let name: InboxName = "primary".parse().unwrap();
        Claim {
            epoch: Epoch(7),
            project: ProjectName::default(),
            by: None,
            shown: None,
            items: vec![(name, vec![3, 9, 10])],
        }
    }

    #[test]
    fn a_lease_is_verified_only_by_its_hub_for_its_journal() {
        let token = LeaseKey::new(b"secret").sign(&claim());
        for (key, epoch, expected) in [
            (b"secret", 7, Ok(claim())),
            (b"other_", 7, Err(ForgedLease)),
            (b"secret", 8, Err(ForgedLease)),
        ] {
            let verified = LeaseKey::new(key).verify(&token, Epoch(epoch));
            assert_eq!(verified, expected, "{key:?} {epoch}");
        }
    }

    #[test]
    fn a_changed_lease_is_refused() {
        let key = LeaseKey::new(b"secret");
        let token = key.sign(&claim());
        let other = key.sign(&Claim {
            by: Some("me".into()),
            ..claim()
        });
        let (body, _) = other.split_once('.').unwrap();
        let (_, tag) = token.split_once('.').unwrap();
        for forged in [
            format!("{body}.{tag}"),
            String::new(),
            ".".into(),
            format!("{body}."),
            "a.b.c".into(),
        ] {
            assert_eq!(key.verify(&forged, Epoch(7)), Err(ForgedLease), "{forged}");
        }
    }
}
