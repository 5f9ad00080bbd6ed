//! `[[forward]]`: the services that the hub passes notifications on to.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use hub_core::rule::Selector;
use hub_core::secret::Secret;
use hub_protocol::{Kind, Priority, Span, TimeOfDay, one_line};
use hyper::Uri;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::{Table, Value};

/// The keys whose values grant access to the target.
const SECRETS: [&str; 4] = ["url", "topic", "reply_topic", "token"];

/// The types that are forwarded unless `types` says otherwise: the session waits for the person.
const DEFAULT_TYPES: [Kind; 3] = [Kind::Question, Kind::Approval, Kind::Error];

/// One `[[forward]]`: where notifications go, and which ones.
#[derive(Debug, Clone)]
pub struct ForwardSettings {
    /// The name, which is unique.
    pub name: String,
    /// The kind of the target.
    pub kind: ForwardKind,
    /// The target's address, without a slash at its end.
    pub url: Secret,
    /// The topic; of ntfy only.
    pub topic: Option<Secret>,
    /// The topic to which buttons publish; absent if there are no buttons.
    pub reply_topic: Option<Secret>,
    /// The access token.
    pub token: Option<Secret>,
    /// The private file with the access token.
    pub token_file: Option<PathBuf>,
    /// The notifications that are forwarded; absent if rules alone pass notifications on.
    pub on: Option<Selector>,
    /// When only `urgent` notifications are forwarded.
    pub quiet_hours: Option<QuietHours>,
    /// How long a notification must be open before it is forwarded.
    pub after: Duration,
}

hub_protocol::named! {
    /// The kind of a forward's target.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    pub enum ForwardKind {
        /// A topic of an ntfy server.
        Ntfy = "ntfy",
        /// Any HTTP server; it gets the notification's JSON.
        Webhook = "webhook",
        /// An incoming webhook of Slack.
        Slack = "slack",
        /// A webhook of Discord.
        Discord = "discord",
    }
}

/// A daily span of local time. If it ends before it begins, it lasts past midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    from: TimeOfDay,
    to: TimeOfDay,
}

/// A `[[forward]]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ForwardTable {
    name: String,
    kind: ForwardKind,
    url: Option<String>,
    topic: Option<String>,
    #[serde(default)]
    buttons: bool,
    reply_topic: Option<String>,
    token: Option<String>,
    token_file: Option<PathBuf>,
    #[serde(default)]
    insecure: bool,
    types: Option<Vec<Kind>>,
    #[serde(default)]
    projects: Vec<String>,
    #[serde(default)]
    from: Vec<String>,
    min_priority: Option<Priority>,
    quiet_hours: Option<String>,
    after: Option<String>,
}

/// Reads the list of forwards. An error names the forward and the key.
pub(super) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ForwardSettings>, D::Error> {
    let mut names = BTreeSet::new();
    let tables = Vec::<Table>::deserialize(from)?;
    let read = |(number, table): (usize, Table)| {
        let name = table.get("name").and_then(Value::as_str);
        let name = name.map_or_else(
            || format!("number {}", number + 1),
            |name| format!("'{}'", one_line(name)),
        );
        let fail = |why: String| D::Error::custom(format!("[[forward]] {name}: {why}"));
        let read = Value::Table(table).try_into::<ForwardTable>();
        let table = read.map_err(|error| fail(error.to_string().trim_end().replace('\n', " ")))?;
        let forward = table.check().map_err(&fail)?;
        if !names.insert(forward.name.clone()) {
            return Err(fail("name: another forward has this name".into()));
        }
        Ok(forward)
    };
    tables.into_iter().enumerate().map(read).collect()
}

/// The forwards as `--print-config` shows them: TOML without secrets.
pub(super) fn redacted(forwards: &[Value]) -> String {
    let shown = |(key, value): (&String, &Value)| {
        if SECRETS.contains(&key.as_str()) {
            format!("{key} = \"(redacted)\"")
        } else {
            format!(
                "{key} = {}",
                serde_json::to_string(value).unwrap_or_default()
            )
        }
    };
    let tables = forwards.iter().filter_map(Value::as_table);
    let tables = tables.map(|table| {
        let all: Vec<String> = table.iter().map(shown).collect();
        format!("{{ {} }}", all.join(", "))
    });
    format!("[{}]", tables.collect::<Vec<_>>().join(", "))
}

impl ForwardKind {
    fn default_url(self) -> Option<&'static str> {
        (self == Self::Ntfy).then_some("https://ntfy.sh")
    }

    fn takes_token(self) -> bool {
        matches!(self, Self::Ntfy | Self::Webhook)
    }
}

impl ForwardTable {
    fn check(self) -> Result<ForwardSettings, String> {
        let kind = self.kind.as_str();
        let sound = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !(1..=64).contains(&self.name.len()) || !self.name.chars().all(sound) {
            return Err("name: use 1 to 64 of A-Z a-z 0-9 . _ -".into());
        }
        let default = || self.kind.default_url().map(str::to_owned);
        let url = self.url.clone().or_else(default);
        let url = url.ok_or_else(|| format!("url: missing; it is the address of the {kind}"))?;
        check_url(&url, self.insecure)?;
        self.check_topics()?;
        if self.token.is_some() && self.token_file.is_some() {
            return Err("token: give token or token_file, not both".into());
        }
        let has_token = self.token.is_some() || self.token_file.is_some();
        if has_token && !self.kind.takes_token() {
            return Err(format!("token: the url of {kind} needs none; remove it"));
        }
        let is_header = |token: &String| token.bytes().all(|byte| byte.is_ascii_graphic());
        if !self.token.as_ref().is_none_or(is_header) {
            return Err("token: use printable ASCII characters only".into());
        }
        let quiet_hours = self.quiet_hours.as_deref().map(str::parse).transpose();
        let after = self.after.as_deref().unwrap_or("0").parse::<Span>();
        let types = self.types.unwrap_or_else(|| DEFAULT_TYPES.to_vec());
        Ok(ForwardSettings {
            url: url.trim_end_matches('/').into(),
            quiet_hours: quiet_hours.map_err(|error| format!("quiet_hours: {error}"))?,
            after: after
                .map_err(|error| format!("after: {}", one_line(&error)))?
                .0,
            name: self.name,
            kind: self.kind,
            topic: self.topic.map(Secret::from),
            reply_topic: self.reply_topic.map(Secret::from),
            token: self.token.map(Secret::from),
            token_file: self.token_file,
            // An empty list selects no type, although in a rule it selects any.
            on: (!types.is_empty()).then_some(Selector {
                kinds: types,
                from: self.from,
                projects: self.projects,
                min_priority: self.min_priority,
                text: None,
            }),
        })
    }

    fn check_topics(&self) -> Result<(), String> {
        let topics = [("topic", &self.topic), ("reply_topic", &self.reply_topic)];
        for (key, topic) in topics {
            let Some(topic) = topic else { continue };
            if self.kind != ForwardKind::Ntfy {
                return Err(format!("{key}: only ntfy has topics; remove it"));
            }
            let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            if !(1..=64).contains(&topic.len()) || !topic.bytes().all(sound) {
                return Err(format!("{key}: use 1 to 64 of A-Z a-z 0-9 _ -"));
            }
        }
        if self.kind == ForwardKind::Ntfy && self.topic.is_none() {
            return Err("topic: missing; choose one that nobody can guess".into());
        }
        if self.buttons && self.kind != ForwardKind::Ntfy {
            return Err("buttons: only ntfy has buttons; remove it".into());
        }
        match (self.buttons, &self.reply_topic) {
            (true, None) => Err("reply_topic: missing; buttons need a topic of their own".into()),
            (true, reply) if *reply == self.topic => {
                Err("reply_topic: use another topic than the one of the notifications".into())
            }
            (false, Some(_)) => Err("buttons: set buttons = true, or remove reply_topic".into()),
            _ => Ok(()),
        }
    }
}

/// Checks an address. The error does not contain it, because it may grant access.
fn check_url(url: &str, insecure: bool) -> Result<(), String> {
    let parsed: Result<Uri, _> = url.parse();
    let uri = parsed.map_err(|_| "url: not an address (expected https://HOST/PATH)")?;
    let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
        return Err("url: it has no host (expected https://HOST/PATH)".into());
    };
    if uri.authority().is_some_and(|it| it.as_str().contains('@')) {
        return Err("url: put a user's access token into token, not into the address".into());
    }
    let numeric = host.trim_start_matches('[').trim_end_matches(']');
    let address = numeric.parse::<IpAddr>();
    let is_local = host == "localhost" || address.is_ok_and(|it| it.is_loopback());
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_local || insecure => Ok(()),
        Some("http") => {
            Err("url: http sends everything unencrypted; use https, or set insecure = true".into())
        }
        _ => Err("url: use https://".into()),
    }
}

impl QuietHours {
    /// Whether they include this time of the day.
    pub fn include(self, time: TimeOfDay) -> bool {
        time.is_within(self.from, self.to)
    }
}

impl FromStr for QuietHours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("invalid span '{}': use HH:MM-HH:MM", one_line(text));
        let (from, to) = text.split_once('-').ok_or_else(expected)?;
        let parse = |it: &str| it.trim().parse::<TimeOfDay>().map_err(|_| expected());
        let (from, to) = (parse(from)?, parse(to)?);
        if from == to {
            return Err("they begin and end at the same time; to have none, remove them".into());
        }
        Ok(Self { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct File {
        #[serde(deserialize_with = "list")]
        forward: Vec<ForwardSettings>,
    }

    fn read(lines: &str) -> Result<Vec<ForwardSettings>, String> {
        let table: Table = format!("[[forward]]\n{lines}").parse().unwrap();
        let file = table.try_into::<File>();
        file.map(|it| it.forward).map_err(|error| error.to_string())
    }

    const PHONE: &str = "name='phone'\nkind='ntfy'\ntopic='t'\n";

    #[test]
    fn an_ntfy_topic_needs_nothing_else() {
        let read = read(PHONE).unwrap();
        assert_eq!(read[0].url.expose(), "https://ntfy.sh");
        let on = read[0].on.as_ref();
        assert_eq!(on.unwrap().kinds, DEFAULT_TYPES);
        assert_eq!(read[0].after, Duration::ZERO);
    }

    #[test]
    fn an_empty_list_of_types_leaves_all_to_the_rules() {
        let read = read(&format!("{PHONE}types=[]")).unwrap();
        assert!(read[0].on.is_none());
    }

    #[test]
    fn a_bad_value_is_reported_with_its_forward_and_key() {
        let chat = "name='chat'\nkind='slack'\nurl='https://a/s3cret'\n";
        for (lines, key) in [
            ("kind='ntfy'\ntopic='t'", "name"),
            ("name='a b'\nkind='ntfy'\ntopic='t'", "name"),
            ("name='phone'\nkind='pager'", "kind"),
            ("name='phone'\nkind='ntfy'", "topic"),
            ("name='phone'\nkind='webhook'", "url"),
            ("name='phone'\nkind='webhook'\nurl='s3cret'", "url"),
            ("name='phone'\nkind='webhook'\nurl='ftp://a/s3cret'", "url"),
            ("name='phone'\nkind='webhook'\nurl='http://a/s3cret'", "url"),
            (
                "name='phone'\nkind='webhook'\nurl='https://s3cret@a/'",
                "url",
            ),
            ("name='phone'\nkind='ntfy'\ntopic='s3cret/x'", "topic"),
            (&format!("{PHONE}buttons=true"), "reply_topic"),
            (
                &format!("{PHONE}buttons=true\nreply_topic='t'"),
                "reply_topic",
            ),
            (&format!("{PHONE}reply_topic='r'"), "buttons"),
            (&format!("{PHONE}quiet_hours='22-7'"), "quiet_hours"),
            (&format!("{PHONE}quiet_hours='07:00-07:00'"), "quiet_hours"),
            (&format!("{PHONE}after='soon'"), "after"),
            (&format!("{PHONE}types=['shout']"), "types"),
            (&format!("{PHONE}min_priority='top'"), "min_priority"),
            (&format!("{PHONE}colour='red'"), "colour"),
            (&format!("{PHONE}token='a b'"), "token"),
            (&format!("{PHONE}token='a'\ntoken_file='b'"), "token_file"),
            (&format!("{chat}token='s3cret'"), "token"),
            (&format!("{chat}topic='s3cret'"), "topic"),
            (&format!("{chat}buttons=true"), "buttons"),
            (&format!("{PHONE}[[forward]]\n{PHONE}"), "name"),
        ] {
            let error = read(lines).unwrap_err();
            assert!(error.contains("[[forward]] "), "{lines}: {error}");
            assert!(error.contains(key), "{lines}: {error}");
            assert!(!error.contains("s3cret"), "{lines}: {error}");
        }
    }

    #[test]
    fn http_is_for_this_machine_unless_it_is_wanted() {
        let hook = |url: &str| read(&format!("name='h'\nkind='webhook'\nurl='{url}'"));
        for url in [
            "http://localhost:1/a",
            "http://127.0.0.1:1",
            "http://[::1]:1",
        ] {
            assert!(hook(url).is_ok(), "{url}");
        }
        assert!(hook("http://127.0.0.1.example.org/").is_err());
        assert!(hook("http://a/'\ninsecure=true\nafter='1m").is_ok());
    }

    #[test]
    fn quiet_hours_may_last_past_midnight() {
        let is_quiet = |hours: &str, time: &str| {
            let hours: QuietHours = hours.parse().unwrap();
            hours.include(time.parse().unwrap())
        };
        for (hours, time, quiet) in [
            ("22:00-07:00", "22:00", true),
            ("22:00-07:00", "06:59", true),
            ("22:00-07:00", "07:00", false),
            ("12:00-13:00", "12:30", true),
            ("12:00-13:00", "13:00", false),
        ] {
            assert_eq!(is_quiet(hours, time), quiet, "{hours} {time}");
        }
    }

    #[test]
    fn a_printed_forward_has_no_secret() {
        let table: Table = "[[f]]\nname='a'\nurl='s3cret'\ntoken='s3cret'"
            .parse()
            .unwrap();
        let shown = redacted(table["f"].as_array().unwrap());
        let expected = r#"[{ name = "a", token = "(redacted)", url = "(redacted)" }]"#;
        assert_eq!(shown, expected);
    }
}
