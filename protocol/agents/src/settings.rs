//! An agent's settings files, and the hooks that are installed in them.

use hub_protocol::WAKE_FILE;
use serde_json::{Value, json};

/// An agent's settings.
#[derive(Debug)]
pub struct Settings {
    /// The files.
    pub files: Files,
    /// The content that is installed.
    pub content: Content,
    /// The steps that are left to the person after an install. One with `{socket}` is only for a hub at that socket.
    pub left_to_do: &'static [&'static str],
    /// The switches for all hooks, as JSON pointers, each with the value that turns them off.
    pub switches: &'static [(&'static str, bool)],
    /// The settings of the machine's administrator.
    pub managed: Option<Managed>,
}

/// An agent's settings files.
#[derive(Debug)]
pub struct Files {
    /// Variables that replace the agent's own directory, each with the path below it; the first that is set wins.
    pub moved: &'static [(&'static str, &'static str)],
    /// The agent's own directory if no variable is set, below the home directory.
    pub home: &'static str,
    /// The user's file, in the agent's own directory.
    pub user: &'static str,
    /// The workspace's file, in the workspace, if the agent has one.
    pub project: Option<&'static str>,
    /// The user's file in a workspace, if the agent has one.
    pub local: Option<&'static str>,
    /// The TOML file beside each of these that has the switches, and to which the person may move the hooks.
    pub beside: Option<&'static str>,
}

/// The settings of the machine's administrator.
#[derive(Debug)]
pub struct Managed {
    /// The variable that names the file.
    pub variable: Option<&'static str>,
    /// The file on Linux.
    pub linux: &'static str,
    /// The file on macOS.
    pub mac: &'static str,
    /// The directory beside the file with further ones, of which a later name wins.
    pub parts: Option<&'static str>,
}

/// The content that is installed for an agent.
#[derive(Debug)]
pub enum Content {
    /// A part of a JSON file that is shared with others.
    Json(Json),
    /// Tables `[[hooks]]` in a TOML file that is shared with others: the function that makes one, and the events.
    Tables(fn(&Event, &str) -> Value, &'static [Event]),
    /// The agent's part of the hub's extension, which is a file of our own.
    Extension(&'static str),
}

/// The hooks and rules in a JSON file.
#[derive(Debug)]
pub struct Json {
    /// The position of the command in an element.
    pub shape: Shape,
    /// The function that makes the object with the command.
    pub handler: fn(&Event, &str) -> Value,
    /// The events that are reported.
    pub events: &'static [Event],
    /// The commands that need no permission.
    pub allow: Allow,
    /// The `version` of the format, if the format has one.
    pub version: Option<u32>,
    /// Whether the agent reads comments in the file.
    pub comments: bool,
    /// The name of our hooks, by which the person can switch them off in `/hooksConfig/disabled`.
    pub name: Option<&'static str>,
}

impl Json {
    /// Hooks without anything else.
    pub const fn of(
        shape: Shape,
        handler: fn(&Event, &str) -> Value,
        events: &'static [Event],
    ) -> Self {
        Self {
            shape,
            handler,
            events,
            allow: Allow::NOTHING,
            version: None,
            comments: false,
            name: None,
        }
    }

    /// The elements for the lists of the events, each with its event's name.
    pub fn elements(&self, commands: &Commands) -> Vec<(&'static str, Value)> {
        let element = |event: &Event| Some((event.name, self.element(event, commands)?));
        self.events.iter().filter_map(element).collect()
    }

    fn element(&self, event: &Event, commands: &Commands) -> Option<Value> {
        let own = event.reports.then(|| (self.handler)(event, &commands.hook));
        if self.shape != Shape::Grouped {
            return own;
        }
        let rewake = event.rewakes.zip(commands.rewake.as_ref());
        let rewake = rewake.map(|(handler, command)| handler(command));
        let handlers: Vec<Value> = own.into_iter().chain(rewake).collect();
        (!handlers.is_empty()).then(|| match event.matcher {
            Some(matcher) => json!({"matcher": matcher, "hooks": handlers}),
            None => json!({"hooks": handlers}),
        })
    }
}

/// Rules that let commands run without asking the person.
#[derive(Debug, Clone, Copy)]
pub struct Allow {
    /// The names of the object in the settings, and of the list in it.
    pub at: [&'static str; 2],
    /// The rules for the commands that the instructions name, in the agent's own syntax. A rule is a prefix of a command,
    /// so it cannot be narrower.
    pub rules: &'static [&'static str],
}

impl Allow {
    /// No rules.
    pub const NOTHING: Self = Self {
        at: ["", ""],
        rules: &[],
    };
}

/// The position of the command in an element of an event's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `{"matcher": …, "hooks": [{"command": …}]}`
    Grouped,
    /// `{"<name>": …}` with the name of the member that contains the command.
    Flat(&'static str),
}

/// An event that is reported by a hook.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The event's name.
    pub name: &'static str,
    /// The matcher, which limits the hook to what the hub needs.
    pub matcher: Option<&'static str>,
    /// The timeout, in the agent's own unit.
    pub timeout: u32,
    /// Whether the agent does not wait for the hook.
    pub in_background: bool,
    /// Whether the hub hears of the event.
    pub reports: bool,
    /// The function that makes the handler that wakes the session, if the event starts one.
    pub rewakes: Option<fn(&str) -> Value>,
}

impl Event {
    /// An event whose hook may take this time.
    pub const fn within(timeout: u32, name: &'static str) -> Self {
        Self {
            name,
            matcher: None,
            timeout,
            in_background: false,
            reports: true,
            rewakes: None,
        }
    }

    /// The event only where `matcher` matches.
    #[must_use]
    pub const fn of(self, matcher: &'static str) -> Self {
        Self {
            matcher: Some(matcher),
            ..self
        }
    }

    /// The event, whose hook delays nothing.
    #[must_use]
    pub const fn in_background(self) -> Self {
        Self {
            in_background: true,
            ..self
        }
    }

    /// The event, with a hook that wakes the session.
    #[must_use]
    pub const fn rewaking(self, handler: fn(&str) -> Value) -> Self {
        Self {
            rewakes: Some(handler),
            ..self
        }
    }

    /// A change of the file that the session watches, whose hook wakes it.
    pub const fn of_wake_file(name: &'static str, handler: fn(&str) -> Value) -> Self {
        Self {
            reports: false,
            ..Self::within(0, name).of(WAKE_FILE).rewaking(handler)
        }
    }
}

/// The command lines of the hooks.
#[derive(Debug, Clone)]
pub struct Commands {
    /// The one that reports an event.
    pub hook: String,
    /// The one that waits to wake the session, if it shall be installed.
    pub rewake: Option<String>,
}

/// A command handler with its timeout, as in Claude Code's format.
pub(crate) fn handler(event: &Event, command: &str) -> Value {
    if event.in_background {
        return json!({"type": "command", "command": command, "async": true, "timeout": event.timeout});
    }
    json!({"type": "command", "command": command, "timeout": event.timeout})
}
