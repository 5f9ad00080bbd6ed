//! The agent that a command line names, and the prompt after it.

use hub_agents::acp::{Known, known};

/// An agent that is to be started.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Launch {
    /// The name in the hub.
    pub(crate) name: String,
    /// The command, with its arguments.
    pub(crate) command: Vec<String>,
    /// The mode in which it asks, if its default is another one.
    pub(crate) ask_mode: Option<&'static str>,
    /// Whether it begins turns by itself.
    pub(crate) begins_turns: bool,
    /// The first prompt.
    pub(crate) prompt: Option<String>,
}

impl Launch {
    /// Reads `AGENT… [PROMPT]`. AGENT is a name that the hub knows, or a command that speaks the protocol. The last word is
    /// the prompt if it has a blank, or if it is the only one after a known agent and no option.
    pub(crate) fn read(words: &[String]) -> Self {
        Self::of(words, true)
    }

    /// Reads a command, whose words are all its own.
    pub(crate) fn of_command(words: &[String]) -> Self {
        Self::of(words, false)
    }

    fn of(words: &[String], takes_prompt: bool) -> Self {
        let (agent, mut command, more) = match of_words(words) {
            Some((agent, given)) => {
                let own = agent.acp.command.iter().map(ToString::to_string);
                let mut own: Vec<String> = own.collect();
                // The person may name the program by its path.
                if words[0].ends_with(own[0].as_str()) {
                    own[0].clone_from(&words[0]);
                }
                (Some(agent), own, &words[given..])
            }
            None => (None, words[..1].to_vec(), &words[1..]),
        };
        let is_prompt = |last: &String| {
            last.contains(char::is_whitespace)
                || agent.is_some() && more.len() == 1 && !last.starts_with('-')
        };
        let prompt = more
            .last()
            .filter(|it| takes_prompt && is_prompt(it))
            .cloned();
        let own = more.len() - usize::from(prompt.is_some());
        command.extend_from_slice(&more[..own]);
        let base = command[0].rsplit('/').next().unwrap_or_default().to_owned();
        Self {
            name: agent.as_ref().map_or(base, |it| it.name.to_owned()),
            command,
            ask_mode: agent.as_ref().and_then(|it| it.acp.ask_mode),
            begins_turns: agent.is_some_and(|it| it.acp.begins_turns),
            prompt,
        }
    }
}

/// The known agent at the beginning of a command line, and how many words name it: the longest match.
fn of_words(words: &[String]) -> Option<(Known, usize)> {
    let is_command = |agent: &Known| {
        let own = agent.acp.command;
        let program = words[0].rsplit('/').next();
        program == own.first().copied()
            && words.len() >= own.len()
            && words[1..own.len()] == own[1..]
    };
    let by_command = known().find(is_command);
    let by_command = by_command.map(|it| (it.acp.command.len(), it));
    let by_command = by_command.map(|(words, it)| (it, words));
    by_command.or_else(|| known().find(|it| it.name == words[0]).map(|it| (it, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> (String, String, Option<String>) {
        let words: Vec<String> = line.iter().map(ToString::to_string).collect();
        let found = Launch::read(&words);
        (found.name, found.command.join(" "), found.prompt)
    }

    #[test]
    fn the_last_word_is_a_prompt_if_it_can_be_nothing_else() {
        for (line, name, command, prompt) in [
            (&["opencode", "acp"][..], "opencode", "opencode acp", None),
            (
                &["opencode", "acp", "Fix"],
                "opencode",
                "opencode acp",
                Some("Fix"),
            ),
            (&["claude"], "claude", "claude-agent-acp", None),
            (
                &["claude", "Fix it"],
                "claude",
                "claude-agent-acp",
                Some("Fix it"),
            ),
            (
                &["gemini", "--acp", "-m"],
                "gemini",
                "gemini --acp -m",
                None,
            ),
            (&["/a/opencode", "acp"], "opencode", "/a/opencode acp", None),
            (&["mine", "--serve"], "mine", "mine --serve", None),
            (
                &["mine", "serve", "Fix it"],
                "mine",
                "mine serve",
                Some("Fix it"),
            ),
        ] {
            let wanted = (
                name.to_owned(),
                command.to_owned(),
                prompt.map(str::to_owned),
            );
            assert_eq!(read(line), wanted, "{line:?}");
        }
    }
}
