//! What an agent is told of the hub when its session starts, by its role.

/// What the text depends on.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The session's short name.
    pub name: &'a str,
    /// Whether it is its project's primary.
    pub primary: bool,
    /// Whose worker it is.
    pub parent: Option<&'a str>,
    /// Whether its hooks wake it by themselves.
    pub rewake: bool,
}

/// The text.
pub fn text(it: &Situation<'_>) -> String {
    let mut text = format!(
        "[hub] You are session {} of the hub, which connects the agents on this machine.",
        it.name
    );
    if it.primary {
        text.push_str(PRIMARY);
    } else {
        text.push_str(WORKER);
        if let Some(parent) = it.parent {
            text.push_str(" You work for ");
            text.push_str(parent);
            text.push_str(", who is told when you stop.");
        }
    }
    text.push_str(ANYBODY);
    if !it.rewake {
        text.push_str(WAIT);
    }
    text
}

const PRIMARY: &str = " You are the primary: what other agents say comes to you. By type: complete: look (hubctl look NAME), \
    review, reply or merge. waiting: look, then instruct (hubctl notify --to NAME --type message \"…\"). question: answer \
    (hubctl answer ID \"…\"). error: look, and help.";
const WORKER: &str =
    " Your stops and questions are told by your hooks; say more only where it helps.";
const ANYBODY: &str = " To say something: hubctl notify --type complete|waiting|error|progress \"…\". To ask: hubctl ask \
    \"…\" --option A --option B. To hear of another's next stop: hubctl listen NAME. Where sockets are blocked, write \
    \"completed|needs_input|error|working MESSAGE\" to $HUB_STATUS_FILE.";
const WAIT: &str = " Nothing wakes you by itself here: keep one `hubctl wait` running in the background \
    (Bash with run_in_background), read its output when it ends, act on each line, and start it again.";
