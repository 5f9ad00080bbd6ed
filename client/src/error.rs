//! The errors of the commands.

use std::fmt;

use hub_protocol::{Problem, one_line as line};

use crate::exit_code::Exit;

/// Why a command failed.
#[derive(Debug)]
pub enum Error {
    /// The arguments or the environment are invalid.
    Usage(String),
    /// The hub refused the request.
    Refused(Box<Problem>),
    /// The hub did not answer.
    Unreachable(Unreachable),
    /// This process may not connect: it runs in a sandbox, or the socket belongs to another user.
    Blocked(String),
    /// An operation on this machine failed.
    Failed(anyhow::Error),
    /// The reader of stdout has closed it. No message is printed.
    Unread,
}

/// Why the hub did not answer.
#[derive(Debug)]
pub struct Unreachable {
    /// Whether the connection was accepted.
    pub connected: bool,
    /// The cause in words.
    pub reason: String,
}

impl Error {
    /// The exit code of this error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::USAGE,
            Self::Refused(_) | Self::Failed(_) => Exit::REFUSED,
            Self::Unreachable(_) | Self::Blocked(_) => Exit::UNREACHABLE,
            Self::Unread => Exit::UNREAD,
        }
    }

    /// The exit code of a program that ends with this error.
    pub fn code(&self) -> std::process::ExitCode {
        self.exit().into()
    }

    /// Whether the same request may succeed later, because the hub is down, slow, or failing.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Blocked(_) => true,
            Self::Refused(problem) => problem.status >= 500 || problem.status == 408,
            Self::Usage(_) | Self::Failed(_) | Self::Unread => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(&line(text)),
            Self::Refused(problem) => {
                let detail = problem.detail.as_ref().unwrap_or(&problem.title);
                f.write_str(&line(detail))?;
                if let Some(nearest) = &problem.nearest {
                    write!(f, "; did you mean '{}'?", line(nearest))?;
                }
                match hint(problem) {
                    Some(hint) => write!(f, " ({})", line(hint)),
                    None => Ok(()),
                }
            }
            Self::Unreachable(it) => {
                let todo = if it.connected {
                    "shows why it does not answer"
                } else {
                    "starts it"
                };
                let reason = line(&it.reason);
                write!(
                    f,
                    "the hub cannot be reached: {reason} (`hubctl up` {todo})"
                )
            }
            Self::Blocked(reason) => {
                write!(f, "connecting to the hub is blocked: {}", line(reason))
            }
            Self::Failed(error) => f.write_str(&line(&format!("{error:#}"))),
            Self::Unread => f.write_str("the reader of stdout has closed it"),
        }
    }
}

/// The next step after a refusal, as commands of this program. The hub's own hint is used if it mentions no API call.
fn hint(problem: &Problem) -> Option<&str> {
    Some(match problem.code.as_str() {
        "unknown_session" => "`hubctl sessions` lists them; --project names another project",
        "unknown_inbox" => "`hubctl inboxes` lists them; --project names another project",
        "unknown_notification" => {
            "`hubctl history` lists those that the hub still has; retention drops the oldest"
        }
        "unknown_need" => "`hubctl needs` lists them",
        "no_reader" => "`hubctl done NAME` ends it",
        "ends_by_answer" => "`hubctl answer ID` gives one",
        "question_settled" => "`hubctl questions --all` shows its answer",
        "no_such_question" => "`hubctl questions` lists the open ones",
        "too_many_inboxes" => "`hubctl reset` empties a project",
        "too_many_listeners" => "`hubctl unlisten` removes one; `hubctl look` lists them",
        "too_many_sessions" => {
            "`hubctl reset` forgets those of a project; `hubctl sessions` lists them"
        }
        "too_many_questions" => "`hubctl questions` lists them; `hubctl withdraw` withdraws one",
        "inbox_held" => "--takeover ends the other waiter",
        "unauthorized" => "`hubctl config` shows which token is sent",
        "pane_unreachable" => "`hubctl look` shows the host, the directory and the pane",
        "busy" => "run it again in a second",
        "not_ready" => "run it again in a second; if the error persists, run `hubctl doctor`",
        "storage_failed" => "it may have been stored: see `hubctl history` and the hub's log",
        "not_found" | "method_not_allowed" => "install the same version of hubd and hubctl",
        _ => return problem.hint.as_deref().filter(|hint| !is_of_http(hint)),
    })
}

/// Whether a hint mentions a path of the API or a header.
fn is_of_http(hint: &str) -> bool {
    hint.contains(" /") || hint.contains("-Key")
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each entry of the hub's table of errors: code, title and hint.
    fn catalogue() -> Vec<[&'static str; 3]> {
        let source = include_str!("../../server/http/src/error/catalogue.rs");
        let (_, table) = source.split_once("\ncodes! {\n").unwrap();
        let (table, _) = table.split_once("\n}\n").unwrap();
        let entries = table.split(" => ").skip(1);
        let texts = entries.map(|entry| {
            let mut texts = entry.split('"').skip(1).step_by(2);
            [(); 3].map(|()| texts.next().unwrap())
        });
        texts.collect()
    }

    #[test]
    fn a_refusal_is_shown_without_calls_of_the_api() {
        let all = catalogue();
        assert!(all.len() > 30, "{all:?}");
        for [code, title, hint] in all {
            let problem = Problem {
                status: 400,
                code: code.into(),
                title: title.into(),
                detail: Some("what was wrong".into()),
                hint: Some(hint.into()),
                ..Problem::default()
            };
            let shown = Error::Refused(problem.into()).to_string();
            for http in [
                "GET ",
                "POST ",
                "PUT ",
                "DELETE ",
                "/openapi",
                "-Key",
                "the detail",
                "Bearer",
                "reply_to",
            ] {
                assert!(!shown.contains(http), "{code}: {shown}");
            }
        }
    }

    #[test]
    fn a_refusal_names_the_command_that_helps() {
        for (code, command) in [
            ("no_reader", "(`hubctl done NAME` ends it)"),
            ("ends_by_answer", "(`hubctl answer ID` gives one)"),
        ] {
            let all = catalogue();
            let [_, title, hint] = all.iter().find(|it| it[0] == code).unwrap();
            let problem = Problem {
                code: code.into(),
                title: (*title).into(),
                hint: Some((*hint).into()),
                ..Problem::default()
            };
            let shown = Error::Refused(problem.into()).to_string();
            assert_eq!(shown, format!("{title} {command}"));
        }
    }

    #[test]
    fn every_error_about_an_unreachable_hub_names_hubctl_up() {
        for connected in [false, true] {
            let reason = "no answer".into();
            let error = Error::Unreachable(Unreachable { connected, reason });
            assert!(error.to_string().contains("`hubctl up`"), "{error}");
        }
    }
}
