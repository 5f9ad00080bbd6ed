//! The buttons of a question, and their tokens.
//!
//! A token gives one answer to one question until it expires: `QUESTION.BUTTON.EXPIRY.TAG`, where the tag is HMAC-SHA256
//! over the rest, the forward and the log, in hexadecimal. The key is random, and only in this process's memory: no file of
//! the hub helps to make a token, and a button ends with the hub that sent it.

use hub_core::secret::{Token, hex};
use hub_protocol::{Epoch, Notification, Quick, Seq, Timestamp};
use subtle::ConstantTimeEq as _;

/// How long a button works, in milliseconds.
const VALID_MS: i64 = 3600 * 1000;
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

impl Press {
    /// Whether the button has expired.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }
}

/// Makes and checks the tokens of one forward.
pub(super) struct Tokens<'a> {
    pub(super) key: &'a Token,
    pub(super) epoch: Epoch,
    pub(super) forward: &'a str,
}

impl Tokens<'_> {
    /// The buttons of a question.
    pub(super) fn buttons(
        &self,
        it: &Notification,
        quick: &[Quick],
        now: Timestamp,
    ) -> Vec<Button> {
        let expires_at = now.plus_millis(VALID_MS).min(it.expires_at);
        let button = |(button, quick): (usize, &Quick)| Button {
            label: quick.label.clone(),
            token: self.token(Press {
                question: it.id,
                button,
                expires_at,
            }),
        };
        quick.iter().enumerate().map(button).collect()
    }

    /// Returns the content of a token; `None` if this hub did not make it for this forward. A token has one spelling.
    pub(super) fn check(&self, token: &str) -> Option<Press> {
        let press = parsed(token)?;
        let own = self.token(press);
        let is_own: bool = own.as_bytes().ct_eq(token.as_bytes()).into();
        is_own.then_some(press)
    }

    fn token(&self, press: Press) -> String {
        format!("{}.{}", rest(press), self.tag(press))
    }

    fn tag(&self, press: Press) -> String {
        let (epoch, forward) = (self.epoch, self.forward);
        let text = format!("{epoch} {forward} {}", rest(press));
        hex(&self.key.hmac(&[text.as_bytes()]))
    }
}

/// The content of a text that looks like a token, of whichever hub.
pub(super) fn parsed(token: &str) -> Option<Press> {
    let mut parts = token.split('.');
    let mut part = || parts.next();
    let (question, button, expiry, tag) = (part()?, part()?, part()?, part()?);
    (tag.len() == 64 && part().is_none()).then_some(())?;
    Some(Press {
        question: question.parse().ok()?,
        button: button.parse().ok()?,
        expires_at: Timestamp::from_millis(expiry.parse().ok()?),
    })
}

/// The part of a token that its tag signs.
fn rest(press: Press) -> String {
    let expiry = press.expires_at.as_millis();
    format!("{}.{}.{expiry}", press.question, press.button)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(id: Seq) -> Notification {
        let json = serde_json::json!({
            "id": id, "ts": "2026-11-21T12:00:00Z", "from": "w1", "type": "approval", "msg": "?", "project": "p",
            "priority": "normal", "expires_at": "2026-11-22T12:00:00Z",
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_token_is_valid_for_its_forward_log_question_button_and_time_only() {
        let key = Token::generate().unwrap();
        let tokens = Tokens {
            key: &key,
            epoch: Epoch(7),
            forward: "phone",
        };
        let asked = asks(12);
        let token = tokens
            .buttons(&asked, &[Quick::default(), Quick::default()], asked.ts)
            .remove(1)
            .token;
        let press = tokens.check(&token).unwrap();
        assert_eq!((press.question, press.button), (12, 1));
        let end = asked.ts.plus_millis(VALID_MS);
        assert_eq!(press.expires_at, end);
        assert!(press.is_over(end) && !press.is_over(end.plus_millis(-1)));
        let (_, tag) = token.rsplit_once('.').unwrap();
        let expiry = press.expires_at.as_millis();
        for forged in [
            format!("13.1.{expiry}.{tag}"),
            format!("12.0.{expiry}.{tag}"),
            format!("12.1.{}.{tag}", expiry + 1),
            format!("12.1.{expiry}.{}", "0".repeat(64)),
            format!("{token}.x"),
            format!("0{token}"),
            format!("+{token}"),
            format!("12.01.{expiry}.{tag}"),
            format!("12.1.+{expiry}.{tag}"),
            format!("12.1.{expiry}.{}", tag.to_uppercase()),
            format!(" {token}"),
            format!("12.1.{expiry}."),
            String::new(),
        ] {
            assert_eq!(tokens.check(&forged), None, "{forged}");
        }
        let other = Token::generate().unwrap();
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
