//! The answers to the questions of one dialog, collected one after the other.

use std::collections::BTreeSet;

use hub_protocol::AnswerText;

use crate::dialog::{Ask, compose};

/// The answers so far, and the marked options of the current question.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    answers: Vec<String>,
    /// From 1.
    marked: BTreeSet<usize>,
}

impl Draft {
    /// The answers so far, in the order of the questions. The question after them is the current one.
    pub(crate) fn answers(&self) -> &[String] {
        &self.answers
    }

    /// Whether the option `number` of the current question is marked.
    pub(crate) fn is_marked(&self, number: usize) -> bool {
        self.marked.contains(&number)
    }

    /// Chooses the option `number` of the current question, or marks it if several may be chosen. Returns the answer
    /// to the whole dialog once every question has one.
    pub(crate) fn choose(&mut self, asks: &[Ask<'_>], number: usize) -> Option<AnswerText> {
        let ask = asks.get(self.answers.len())?;
        let (label, _) = ask.options.get(number.checked_sub(1)?)?;
        if !ask.many {
            return self.answer(asks, (*label).to_owned());
        }
        if !self.marked.remove(&number) {
            self.marked.insert(number);
        }
        None
    }

    /// Whether an option of the current question is marked.
    pub(crate) fn has_marks(&self) -> bool {
        !self.marked.is_empty()
    }

    /// Takes the marked options as the answer to the current question. Returns the answer to the whole dialog once
    /// every question has one.
    pub(crate) fn confirm(&mut self, asks: &[Ask<'_>]) -> Option<AnswerText> {
        let ask = asks.get(self.answers.len())?;
        let marked = self.marked.iter().filter_map(|it| ask.options.get(it - 1));
        let labels: Vec<&str> = marked.map(|(label, _)| *label).collect();
        self.answer(asks, labels.join(", "))
    }

    /// Answers the current question with a text. Returns the answer to the whole dialog once every question has one.
    pub(crate) fn answer(&mut self, asks: &[Ask<'_>], text: String) -> Option<AnswerText> {
        self.answers.push(text);
        self.marked.clear();
        (self.answers.len() == asks.len()).then(|| compose(&self.answers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answers_of_several_questions_are_collected() {
        let ask = |many| Ask {
            question: "?",
            many,
            options: vec![("a", ""), ("b", "")],
        };
        let asks = [ask(false), ask(true), ask(false)];
        let mut draft = Draft::default();
        assert_eq!(draft.choose(&asks, 3), None, "there is no third option");
        assert_eq!(draft.choose(&asks, 2), None);
        assert!(!draft.has_marks());
        for number in [2, 1, 2, 2] {
            assert_eq!(draft.choose(&asks, number), None);
        }
        assert!(draft.has_marks());
        assert_eq!(draft.confirm(&asks), None, "a question is left");
        assert_eq!(
            draft.answer(&asks, "other".into()),
            Some(AnswerText::Each(vec![
                "b".into(),
                "a, b".into(),
                "other".into()
            ]))
        );
        assert_eq!(draft.choose(&[ask(false)], 1), None, "it is complete");
    }
}
