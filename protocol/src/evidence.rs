//! The evidence of who gave an answer, as the hub observed it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The hub's observation of the one who gives an answer. It holds no arguments of programs: they may be secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The browser that is signed in to the dashboard, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The name of that browser, by its User-Agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The forward whose button was pressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<String>,
    /// The process that connected to the hub's socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The names of its program and of its ancestors', nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Its terminal, such as `pts/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// The session of the agent that it or an ancestor of it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Evidence {
    /// Whether the hub observed nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// `process 41 (hubctl < bash < tmux) on pts/3`, or the device or the forward.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(device) = &self.device {
            let name = self.device_name.as_deref().unwrap_or("a browser");
            return write!(f, "{name}, device {device}");
        }
        if let Some(forward) = &self.forward {
            return write!(f, "a button of the forward {forward}");
        }
        let Some(pid) = self.pid else {
            return f.write_str("an unknown program");
        };
        write!(f, "process {pid} ({})", self.programs.join(" < "))?;
        if let Some(terminal) = &self.terminal {
            write!(f, " on {terminal}")?;
        }
        match &self.session {
            Some(session) => write!(f, " in session {session}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_one_phrase_for_people() {
        let device = Evidence {
            device: Some("a1".into()),
            device_name: Some("Firefox 140 on Linux".into()),
            ..Evidence::default()
        };
        assert_eq!(device.to_string(), "Firefox 140 on Linux, device a1");
        let process = Evidence {
            pid: Some(41),
            programs: vec!["hubctl".into(), "bash".into()],
            terminal: Some("pts/3".into()),
            session: Some("w1".into()),
            ..Evidence::default()
        };
        let expected = "process 41 (hubctl < bash) on pts/3 in session w1";
        assert_eq!(process.to_string(), expected);
        assert_eq!(Evidence::default().to_string(), "an unknown program");
    }
}
