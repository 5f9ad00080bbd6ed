//! The answers to the questions of one dialog, collected one after the other.

use std::collections::BTreeSet;

use hub_protocol::{Answer, Choice, Chosen, Control};

/// The answers so far, and the marked options of the current question.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    answers: Vec<Chosen>,
    /// From 1.
    marked: BTreeSet<usize>,
}

impl Draft {
    /// The answers so far, in the order of the questions. The question after them is the current one.
    pub(crate) fn answers(&self) -> &[Chosen] {
        &self.answers
    }

    /// Whether the option `number` of the current question is marked.
    pub(crate) fn is_marked(&self, number: usize) -> bool {
        self.marked.contains(&number)
    }

    /// Whether an option of the current question is marked.
    pub(crate) fn has_marks(&self) -> bool {
        !self.marked.is_empty()
    }

    /// Chooses the option `number` of the current question, or marks it if several may be chosen. Returns `false` if
    /// there is no such option.
    pub(crate) fn choose(&mut self, all: &[&Choice], number: usize) -> bool {
        let current = all.get(self.answers.len());
        let Some((choice, label)) = current.and_then(|it| Some((it, label(it, number)?))) else {
            return false;
        };
        if !choice.many {
            self.answer(vec![label], None);
        } else if !self.marked.remove(&number) {
            self.marked.insert(number);
        }
        true
    }

    /// Takes the marked options as the answer to the current question.
    pub(crate) fn confirm(&mut self, all: &[&Choice]) {
        if let Some(choice) = all.get(self.answers.len()) {
            let marked = self.marked.iter();
            let labels = marked.filter_map(|it| label(choice, *it)).collect();
            self.answer(labels, None);
        }
    }

    /// Answers the current question with a text.
    pub(crate) fn say(&mut self, text: String) {
        self.answer(Vec::new(), Some(text));
    }

    /// The answer to the whole dialog, once every question has one.
    pub(crate) fn whole(&self, all: &[&Choice]) -> Option<Answer> {
        let is_whole = self.answers.len() >= all.len();
        is_whole.then(|| Answer::Choices(self.answers.clone()))
    }

    fn answer(&mut self, labels: Vec<String>, text: Option<String>) {
        self.answers.push(Chosen { labels, text });
        self.marked.clear();
    }
}

/// The questions with options of a dialog.
pub(crate) fn choices(controls: &[Control]) -> Vec<&Choice> {
    let choices = controls.iter().filter_map(|it| match it {
        Control::Choice(choice) => Some(choice),
        _ => None,
    });
    choices.collect()
}

/// The label of the option `number`, from 1.
fn label(choice: &Choice, number: usize) -> Option<String> {
    let option = choice.options.get(number.checked_sub(1)?)?;
    Some(option.label.clone())
}

#[cfg(test)]
mod tests {
    use hub_protocol::Offer;

    use super::*;

    fn choice(many: bool) -> Choice {
        let offer = |label: &str| Offer {
            label: label.into(),
            ..Offer::default()
        };
        Choice {
            many,
            options: ["a; b", "c\nd"].map(offer).into(),
            ..Choice::default()
        }
    }

    #[test]
    fn the_answers_of_several_questions_are_collected() {
        let (one, many) = (choice(false), choice(true));
        let all = [&one, &many, &one];
        let mut draft = Draft::default();
        assert!(!draft.choose(&all, 3), "there is no third option");
        assert!(draft.choose(&all, 2) && !draft.has_marks());
        for number in [2, 1, 2, 2] {
            assert!(draft.choose(&all, number));
        }
        assert!(draft.has_marks());
        draft.confirm(&all);
        assert_eq!(draft.whole(&all), None, "a question is left");
        draft.say("other".into());
        let chosen = |labels: &[&str], text: Option<&str>| Chosen {
            labels: labels.iter().map(|it| (*it).to_owned()).collect(),
            text: text.map(str::to_owned),
        };
        let answers = vec![
            chosen(&["c\nd"], None),
            chosen(&["a; b", "c\nd"], None),
            chosen(&[], Some("other")),
        ];
        assert_eq!(draft.whole(&all), Some(Answer::Choices(answers)));
        assert!(!draft.choose(&all, 1), "it is complete");
    }
}
