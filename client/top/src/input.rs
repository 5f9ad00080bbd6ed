//! The input line.

use hub_protocol::{ProjectName, Seq};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The purpose of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The answer to a question.
    Answer(String),
    /// The answer to the current question of a dialog.
    Part(String),
    /// The content of a form, as JSON.
    Form(String),
    /// The reason of a denial, which may be empty.
    Reason(String),
    /// A message to a session, as a reply to one of its notifications.
    Message(String, ProjectName, Option<Seq>),
    /// The text that rows must have to be shown.
    Search,
}

/// A line that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) purpose: Purpose,
    /// The words before the text.
    pub(crate) prompt: String,
    text: Vec<char>,
    /// The number of characters before the cursor.
    cursor: usize,
}

/// The effect of a key on an input line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// It is still being typed.
    More,
    /// It is complete.
    Done,
    /// It is given up.
    Cancelled,
}

impl Input {
    /// A line with this text, the cursor at its end.
    pub(crate) fn new(purpose: Purpose, prompt: String, text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        let cursor = text.len();
        Self {
            purpose,
            prompt,
            text,
            cursor,
        }
    }

    /// The text.
    pub(crate) fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// The text before the cursor.
    pub(crate) fn before_cursor(&self) -> String {
        self.text[..self.cursor].iter().collect()
    }

    /// Inserts text at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        for c in text.chars() {
            self.text.insert(self.cursor, c);
            self.cursor += 1;
        }
    }

    /// Applies a key.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typed::Done,
            KeyCode::Esc => return Typed::Cancelled,
            KeyCode::Char('c') if control => return Typed::Cancelled,
            KeyCode::Char('u') if control => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(c) if !control => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            KeyCode::Delete if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => {}
        }
        Typed::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_at_its_cursor() {
        let mut input = Input::new(Purpose::Answer("1".into()), String::new(), "né");
        let press = |input: &mut Input, code| input.press(KeyEvent::new(code, KeyModifiers::NONE));
        for code in [
            KeyCode::Left,
            KeyCode::Char('o'),
            KeyCode::End,
            KeyCode::Backspace,
            KeyCode::Home,
            KeyCode::Delete,
        ] {
            assert_eq!(press(&mut input, code), Typed::More);
        }
        assert_eq!(
            (input.text().as_str(), input.before_cursor().as_str()),
            ("o", "")
        );
        input.insert("g\n");
        assert_eq!(input.text(), "g\no");
        input.press(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(input.text(), "o");
        assert_eq!(press(&mut input, KeyCode::Enter), Typed::Done);
        assert_eq!(press(&mut input, KeyCode::Esc), Typed::Cancelled);
    }
}
