//! The buttons of a question, and their tokens.
//!
//! A token gives one answer to one question until it expires: `QUESTION.BUTTON.EXPIRY.TAG`, where the tag is HMAC-SHA256
//! over the rest, the forward and the log, in hexadecimal. So only this hub can make one, and the hub stores none.

use hub_protocol::{Epoch, Kind, Notification, Seq, Timestamp};
use serde_json::Value;
use subtle::ConstantTimeEq as _;

use crate::core::secret::hex;
use crate::waiters::lease_token::LeaseKey;

/// How long a button works, in milliseconds.
const VALID_MS: i64 = 3600 * 1000;
/// The most buttons of a notification of ntfy.
const MAX: usize = 3;

/// A button on the phone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Button {
    /// Its text.
    pub(super) label: String,
    /// The token that it publishes.
    pub(super) token: String,
}

/// A token's content, once its tag is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Press {
    /// The question.
    pub(super) question: Seq,
    /// The number of the button, from 0.
    pub(super) button: usize,
    /// When the token expires.
    pub(super) expires_at: Timestamp,
}

/// The answers that the buttons of a notification give; empty if it is not a question that a button can answer.
pub(super) fn answers(it: &Notification) -> Vec<String> {
    let is_form = |data: &Value| !data["dialog"]["requested_schema"].is_null();
    match it.kind {
        Kind::Approval => vec!["allow".into(), "deny".into()],
        Kind::Question if !it.data.as_ref().is_some_and(is_form) => {
            let options = it.options.iter().flatten();
            options.take(MAX).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// Makes and checks the tokens of one forward.
pub(super) struct Tokens<'a> {
    pub(super) key: &'a LeaseKey,
    pub(super) epoch: Epoch,
    pub(super) forward: &'a str,
}

impl Tokens<'_> {
    /// The buttons of a notification.
    pub(super) fn buttons(&self, it: &Notification, now: Timestamp) -> Vec<Button> {
        let expires_at = now.plus_millis(VALID_MS).min(it.expires_at);
        let button = |(button, answer): (usize, String)| {
            let press = Press {
                question: it.id,
                button,
                expires_at,
            };
            let label = match (it.kind, answer.as_str()) {
                (Kind::Approval, "allow") => "Allow".into(),
                (Kind::Approval, _) => "Deny".into(),
                _ => answer,
            };
            let token = format!("{}.{}", rest(press), self.tag(press));
            Button { label, token }
        };
        answers(it).into_iter().enumerate().map(button).collect()
    }

    /// Returns the content of a token; `None` if this hub did not make it for this forward.
    pub(super) fn check(&self, token: &str) -> Option<Press> {
        let mut parts = token.trim().split('.');
        let mut part = || parts.next();
        let (question, button, expiry, tag) = (part()?, part()?, part()?, part()?);
        let press = Press {
            question: question.parse().ok()?,
            button: button.parse().ok()?,
            expires_at: Timestamp::from_millis(expiry.parse().ok()?),
        };
        let is_own: bool = self.tag(press).as_bytes().ct_eq(tag.as_bytes()).into();
        (is_own && part().is_none()).then_some(press)
    }

    fn tag(&self, press: Press) -> String {
        let (epoch, forward) = (self.epoch, self.forward);
        hex(&self
            .key
            .tag(&format!("hub forward v1 {epoch} {forward} {}", rest(press))))
    }
}

/// The part of a token that its tag signs.
fn rest(press: Press) -> String {
    let expiry = press.expires_at.as_millis();
    format!("{}.{}.{expiry}", press.question, press.button)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(id: Seq, kind: Kind, options: &[&str]) -> Notification {
        let json = serde_json::json!({
            "id": id, "ts": "2026-11-21T12:00:00Z", "from": "w1", "type": kind, "msg": "?", "project": "p",
            "priority": "normal", "expires_at": "2026-11-22T12:00:00Z", "options": options,
        });
        serde_json::from_value(json).unwrap()
    }

    fn labels(of: &Notification, tokens: &Tokens) -> Vec<String> {
        let buttons = tokens.buttons(of, of.ts).into_iter();
        buttons.map(|it| it.label).collect()
    }

    #[test]
    fn an_approval_has_two_buttons_and_a_question_its_first_options() {
        let key = LeaseKey::new(b"secret");
        let tokens = Tokens {
            key: &key,
            epoch: Epoch(7),
            forward: "phone",
        };
        let of = |kind, options: &[&str]| labels(&asks(1, kind, options), &tokens);
        assert_eq!(of(Kind::Approval, &[]), ["Allow", "Deny"]);
        assert_eq!(of(Kind::Question, &["a", "b", "c", "d"]), ["a", "b", "c"]);
        assert_eq!(of(Kind::Error, &["a"]), [""; 0]);
        let mut form = asks(1, Kind::Question, &["a"]);
        form.data = Some(serde_json::json!({ "dialog": { "requested_schema": {} } }));
        assert_eq!(labels(&form, &tokens), [""; 0]);
    }

    #[test]
    fn a_token_is_valid_for_its_forward_log_question_button_and_time_only() {
        let key = LeaseKey::new(b"secret");
        let tokens = Tokens {
            key: &key,
            epoch: Epoch(7),
            forward: "phone",
        };
        let asked = asks(12, Kind::Approval, &[]);
        let token = tokens.buttons(&asked, asked.ts).remove(1).token;
        let press = tokens.check(&token).unwrap();
        assert_eq!((press.question, press.button), (12, 1));
        assert_eq!(press.expires_at, asked.ts.plus_millis(VALID_MS));
        let (_, tag) = token.rsplit_once('.').unwrap();
        let expiry = press.expires_at.as_millis();
        for forged in [
            format!("13.1.{expiry}.{tag}"),
            format!("12.0.{expiry}.{tag}"),
            format!("12.1.{}.{tag}", expiry + 1),
            format!("12.1.{expiry}.{}", "0".repeat(64)),
            format!("{token}.x"),
            format!("12.1.{expiry}."),
            String::new(),
        ] {
            assert_eq!(tokens.check(&forged), None, "{forged}");
        }
        let other = LeaseKey::new(b"other");
        for foreign in [
            Tokens {
                forward: "tablet",
                ..tokens
            },
            Tokens {
                epoch: Epoch(8),
                ..tokens
            },
            Tokens {
                key: &other,
                ..tokens
            },
        ] {
            assert_eq!(foreign.check(&token), None);
        }
    }
}
