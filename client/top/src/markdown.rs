//! The looks of an agent's words, which are Markdown: headings and code stand out, and no character is removed, because the
//! person must see all that an agent wrote.

use crate::text::lines;

/// The part of a text that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A paragraph, or the item of a list.
    Words,
    /// A heading, or a line that is bold as a whole.
    Heading,
    /// A line of a code block, or one of its fences.
    Code,
}

/// The lines of a text, each with its part.
pub(crate) fn parts(text: &str) -> Vec<(Part, String)> {
    let mut fence = None;
    lines(text).map(|it| (part(&it, &mut fence), it)).collect()
}

/// The part of a line; `open` is the fence of the code block that it is in.
fn part(line: &str, open: &mut Option<&'static str>) -> Part {
    let words = line.trim();
    match *open {
        Some(fence) if is_end(words, fence) => *open = None,
        Some(_) => {}
        None => {
            *open = begun(words);
            if open.is_none() {
                return heading_or_words(words);
            }
        }
    }
    Part::Code
}

/// The fence with which a line begins a code block.
fn begun(words: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|it| words.starts_with(it))
}

/// Whether a line ends the code block that began with `fence`.
fn is_end(words: &str, fence: &str) -> bool {
    words.starts_with(fence) && words.chars().all(|it| fence.starts_with(it))
}

fn heading_or_words(words: &str) -> Part {
    let rest = words.trim_start_matches('#');
    let level = words.len() - rest.len();
    let is_bold = words.len() > 4 && words.starts_with("**") && words.ends_with("**");
    if is_bold || (1..=6).contains(&level) && rest.starts_with(' ') {
        Part::Heading
    } else {
        Part::Words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_code_are_told_from_words_and_no_character_is_removed() {
        let text =
            "# Plan\n\n1. **Build** it\n```sh\n# no heading\nmake\n```\n**Then**\n- #5\n~~~\nopen";
        let found = parts(text);
        let all: Vec<_> = found.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(all.join("\n"), text);
        let of = |part| -> Vec<_> {
            let own = found.iter().filter(|it| it.0 == part);
            own.map(|(_, line)| line.as_str()).collect()
        };
        assert_eq!(of(Part::Heading), ["# Plan", "**Then**"]);
        let code = ["```sh", "# no heading", "make", "```", "~~~", "open"];
        assert_eq!(of(Part::Code), code);
    }
}
