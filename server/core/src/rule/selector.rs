//! The selector of rules and forwards. Matching is pure.

use hub_protocol::{Kind, Priority, ProjectName, first_bytes};
use regex::Regex;

/// The bytes of a text that a regular expression sees. The fold matches while other commands wait, so this bounds the
/// time of a match.
pub(super) const MAX_TEXT: usize = 8 * 1024;

/// Selects notifications by their properties; an absent property or an empty list selects any.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    /// Types of notifications.
    pub kinds: Vec<Kind>,
    /// Patterns of senders or sessions, with `*`.
    pub from: Vec<String>,
    /// Patterns of projects, with `*`.
    pub projects: Vec<String>,
    /// The lowest priority.
    pub min_priority: Option<Priority>,
    /// An expression that the text must match.
    pub text: Option<Regex>,
}

/// The properties of a notification that a selector matches.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its project.
    pub project: &'a ProjectName,
    /// The session or name that sent it.
    pub from: &'a str,
    /// The name of the sender's session, if it has another one.
    pub name: Option<&'a str>,
    /// Its type.
    pub kind: Kind,
    /// Its priority.
    pub priority: Priority,
    /// Its text.
    pub msg: &'a str,
}

impl Selector {
    /// Whether it may select notifications of this type and priority.
    pub fn may_match(&self, kind: Kind, priority: Priority) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && self.min_priority.is_none_or(|least| priority <= least)
    }

    /// Whether it selects this notification.
    pub fn matches(&self, it: &Subject<'_>) -> bool {
        let text = first_bytes(it.msg, MAX_TEXT);
        self.may_match(it.kind, it.priority)
            && self.is_about(it.project, it.from, it.name)
            && self
                .text
                .as_ref()
                .is_none_or(|wanted| wanted.is_match(text))
    }

    /// Whether it selects this sender, also by the name of its session.
    pub(super) fn is_about(&self, project: &ProjectName, from: &str, name: Option<&str>) -> bool {
        let sender = |pattern: &String| {
            is_like(pattern, from) || name.is_some_and(|name| is_like(pattern, name))
        };
        let (path, last) = (project.as_str(), last_part(project.as_str()));
        // A pattern without a slash means the directory's own name.
        let place = |pattern: &String| {
            is_like(pattern, path) || !pattern.contains('/') && is_like(pattern, last)
        };
        (self.from.is_empty() || self.from.iter().any(sender))
            && (self.projects.is_empty() || self.projects.iter().any(place))
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether `text` is like `pattern`, in which each `*` means any characters.
pub(super) fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
