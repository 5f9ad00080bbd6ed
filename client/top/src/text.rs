//! Text of others, made safe for a terminal and fitted to its columns.

use hub_protocol::{escaped, is_hidden};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Returns `text` on one line: line breaks and tabs become blanks, other controls and invisible characters `\u…`.
pub(crate) fn line(text: &str) -> String {
    let shown = escaped(text, is_hidden, |c| matches!(c, '\n' | '\t').then_some(" "));
    shown.trim().to_owned()
}

/// Returns the lines of `text`: a tab becomes four blanks, other controls and invisible characters `\u…`.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> {
    let shown = |line| escaped(line, is_hidden, |c| (c == '\t').then_some("    ")).into_owned();
    text.trim_end_matches('\n').split('\n').map(shown)
}

/// The columns that `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Breaks a line into rows of at most `width` columns, at blanks where possible. No character is removed.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<&str> {
    let mut rows = Vec::new();
    let mut rest = text;
    while let Some(end) = first_beyond(rest, width.max(2)) {
        let blank = rest[..end].rfind(' ').map(|at| at + 1);
        // A break near the beginning of the row would leave most of the row empty.
        let at = blank.filter(|at| *at > end / 2).unwrap_or(end);
        rows.push(&rest[..at]);
        rest = &rest[at..];
    }
    rows.push(rest);
    rows
}

/// Returns the beginning of `text` that fits into `width` columns, with an ellipsis if it is not all of it.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if first_beyond(text, width).is_none() {
        return text.to_owned();
    }
    let end = first_beyond(text, width.saturating_sub(1)).unwrap_or(0);
    if width == 0 {
        String::new()
    } else {
        format!("{}…", &text[..end])
    }
}

/// Returns `text` in exactly `width` columns.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let mut cell = cut(text, width);
    let used = self::width(&cell);
    cell.extend(std::iter::repeat_n(' ', width.saturating_sub(used)));
    cell
}

/// The index of the first character that ends beyond `width` columns.
fn first_beyond(text: &str, width: usize) -> Option<usize> {
    let mut used = 0;
    text.char_indices().find_map(|(at, c)| {
        used += c.width().unwrap_or(0);
        (used > width).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_direction_marks_and_escape_sequences_are_shown_by_their_code_points() {
        let hostile = "rm\u{1b}[2K\u{202e}fdp\u{9b}\r\u{200b}x";
        let shown = r"rm\u001b[2K\u202efdp\u009b\u000d\u200bx";
        assert_eq!(line(hostile), shown);
        assert_eq!(
            lines(&format!("a\t{hostile}\nb\n")).collect::<Vec<_>>(),
            [format!("a    {shown}"), "b".into()]
        );
    }

    #[test]
    fn a_wrapped_line_has_every_character_and_no_row_is_too_wide() {
        let text = "cargo test --workspace 日本語日本語 averyveryverylongwordwithoutblanks end";
        for columns in 2..80 {
            let rows = wrap(text, columns);
            assert_eq!(rows.concat(), text);
            assert!(rows.iter().all(|row| width(row) <= columns), "{rows:?}");
        }
    }

    #[test]
    fn a_cell_has_exactly_its_columns() {
        for columns in 0..12 {
            assert_eq!(width(&fit("日本語 text", columns)), columns);
        }
        assert_eq!(fit("long name", 5), "long…");
        assert_eq!(fit("ab", 4), "ab  ");
    }
}
