//! The input line of an agent, read from the screen of its terminal.
//!
//! As recorded from Claude Code 2.1.330, Copilot CLI 1.0.102, Gemini CLI 0.61.0, Kimi Code 2.1.0 and Qwen Code 0.24.4: it
//! is the only line between the last two horizontal rules of the screen, and begins with a mark. A longer draft has more
//! lines, so it is not recognised. Some agents show a hint in the empty line, with a fixed text or faint.

use hub_protocol::Agent;

/// The content of an input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputLine {
    Empty,
    /// The person has typed something.
    Typed,
    /// The screen shows something else, such as a dialog, or a draft of several lines.
    Unknown,
}

/// The characters with which a rule begins.
const RULE: &str = "─━▄▀╭╰";

/// The characters around a text that do not belong to it: blanks, and the sides of a box.
fn is_margin(it: char) -> bool {
    it.is_whitespace() || matches!(it, '│' | '\u{200b}')
}

/// The mark at which the agent's input line begins, and its hint; `None` if the hub does not know the agent's screen.
fn look(agent: Agent) -> Option<(char, &'static str)> {
    const HINT: &str = "Type your message or @path/to/file";
    match agent {
        Agent::Claude | Agent::Copilot => Some(('❯', "")),
        Agent::Gemini | Agent::Qwen => Some(('>', HINT)),
        Agent::Kimi => Some(('>', "")),
        Agent::Codex | Agent::OpenCode | Agent::Pi | Agent::Cursor => None,
    }
}

/// Whether the hub can read the input line of this agent.
pub(super) fn is_known(agent: Agent) -> bool {
    look(agent).is_some()
}

/// Reads the input line of an agent on a screen with escape sequences for attributes.
pub(super) fn read(agent: Agent, screen: &str) -> InputLine {
    let lines = lines(screen);
    let is_rule = |line: &[Cell]| {
        let mut text = line
            .iter()
            .map(|it| it.char)
            .skip_while(|it| is_margin(*it));
        (0..3).all(|_| text.next().is_some_and(|it| RULE.contains(it)))
    };
    let last = lines.iter().rposition(|it| is_rule(it)).unwrap_or_default();
    let (Some((mark, hint)), Some(above)) = (look(agent), last.checked_sub(2)) else {
        return InputLine::Unknown;
    };
    if !is_rule(&lines[above]) {
        return InputLine::Unknown;
    }
    let bright = lines[last - 1].iter().filter(|it| !it.is_faint);
    let text: String = bright.map(|it| it.char).collect();
    match text.trim_matches(is_margin).strip_prefix(mark) {
        None => InputLine::Unknown,
        Some(typed) if ["", hint].contains(&typed.trim_matches(is_margin)) => InputLine::Empty,
        Some(_) => InputLine::Typed,
    }
}

/// Whether a screen shows a text, which may be broken over several lines of a box.
pub(super) fn shows(screen: &str, text: &str) -> bool {
    let cells = lines(screen).into_iter().flatten().map(|it| it.char);
    let shown: String = cells.filter(|it| !is_margin(*it)).collect();
    let wanted: String = text.chars().filter(|it| !is_margin(*it)).collect();
    shown.contains(&wanted)
}

/// A character on a screen.
struct Cell {
    char: char,
    is_faint: bool,
}

/// The characters of each line. Attributes continue on the next line.
fn lines(screen: &str) -> Vec<Vec<Cell>> {
    let mut lines = vec![Vec::new()];
    let mut is_faint = false;
    let mut chars = screen.chars();
    while let Some(char) = chars.next() {
        match char {
            '\n' => lines.push(Vec::new()),
            '\u{1b}' => match chars.next() {
                Some('[') => {
                    let sequence = chars.by_ref().take_while(|it| *it != 'm');
                    is_faint = after(&sequence.collect::<String>(), is_faint);
                }
                // The address of a link ends with ESC and a backslash.
                Some(']') => {
                    let _ = chars.by_ref().find(|it| *it == '\\');
                }
                _ => {}
            },
            char if char.is_control() => {}
            char => lines
                .last_mut()
                .expect("it begins with one")
                .push(Cell { char, is_faint }),
        }
    }
    lines
}

/// Whether text is faint after the attributes of a sequence, `SGR`.
fn after(sequence: &str, is_faint: bool) -> bool {
    let mut codes = sequence.split(';');
    let mut is_faint = is_faint;
    while let Some(code) = codes.next() {
        match code {
            "2" => is_faint = true,
            "" | "0" | "22" => is_faint = false,
            // A colour: its form and its numbers follow.
            "38" | "48" | "58" => {
                let numbers = if codes.next() == Some("2") { 3 } else { 1 };
                codes.by_ref().take(numbers).for_each(drop);
            }
            _ => {}
        }
    }
    is_faint
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: &str = "\x1b[38;5;244m────────────\n\x1b[39m❯\u{a0}\x1b[7mTYPED\n\x1b[0m\x1b[38;5;244m\x1b[49m────────────\n\x1b[39m  ⏸ manual mode on";
    const COPILOT: &str = "\x1b[2m────────────\n\x1b[0m\x1b[39m\x1b[49m❯ TYPED\n\x1b[2m────────────\n\x1b[0m open sidebar";
    const QWEN: &str = "\x1b[38;5;153m───────────\n> \x1b[39mTYPED\x1b[4m \u{200b}\n\x1b[0m\x1b[38;5;153m\x1b[49m──────────\n\x1b[39m  ➜ project";
    const KIMI: &str = " \x1b[38;5;240m╭──────────╮\n\x1b[39m \x1b[38;5;240m│\x1b[39m > TYPED\x1b[7m \x1b[0m   \x1b[38;5;240m│\n\x1b[39m \x1b[38;5;240m╰─────────╯\n context: 0%";
    const GEMINI: &str = "\x1b[2m\x1b[38;5;244m──────────\n\x1b[0m Shift+Tab to accept edits\n\x1b[38;5;240m▄▄▄▄▄▄▄▄\n\x1b[39m\x1b[48;5;240m \x1b[38;5;183m> \x1b[38;5;231mTYPED\x1b[7m\x1b[39m \x1b[0m\n\x1b[38;5;240m\x1b[49m▀▀▀▀▀▀▀\n\x1b[39m workspace";

    #[test]
    fn the_input_line_of_each_known_agent_is_read() {
        let hint = "Type your message or @path/to/file";
        for (agent, screen, hint) in [
            (Agent::Claude, CLAUDE, ""),
            (Agent::Claude, CLAUDE, "\x1b[2mTry \"fix lint errors\""),
            (Agent::Copilot, COPILOT, ""),
            (Agent::Qwen, QWEN, hint),
            (Agent::Kimi, KIMI, ""),
            (Agent::Gemini, GEMINI, hint),
        ] {
            let shows = |text: &str| read(agent, &screen.replace("TYPED", text));
            assert_eq!(shows(hint), InputLine::Empty, "{agent}: {hint}");
            assert_eq!(shows("hello"), InputLine::Typed, "{agent}");
            assert_eq!(shows("hello\n  world"), InputLine::Unknown, "{agent}");
            assert_eq!(read(agent, "me@host:~$ "), InputLine::Unknown, "{agent}");
        }
        assert_eq!(
            read(Agent::Claude, &QWEN.replace("TYPED", "")),
            InputLine::Unknown
        );
        assert_eq!(read(Agent::Cursor, CLAUDE), InputLine::Unknown);
    }

    #[test]
    fn an_empty_input_line_that_the_model_has_written_does_not_count() {
        let fake = CLAUDE.replace("TYPED", "");
        let real = CLAUDE.replace("TYPED", "rm\n  -rf");
        assert_eq!(
            read(Agent::Claude, &format!("{fake}\n{real}")),
            InputLine::Unknown
        );
    }

    #[test]
    fn a_text_is_found_over_the_lines_of_a_box() {
        let screen = "│ > (wake \x1b[1m1a │\n│   2b) │";
        assert!(shows(screen, "(wake 1a2b)") && !shows(screen, "(wake 1a2c)"));
    }
}
