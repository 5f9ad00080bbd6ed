//! The text of a question.

use hub_protocol::{Kind, Question};

/// The text of a question without the hook's words before it, which repeat the asker.
pub fn question_text(question: &Question) -> &str {
    let msg = question.msg.as_str();
    let is_of_hook = question
        .data
        .as_ref()
        .is_some_and(|data| data["via"] == "hook");
    let framed = msg.strip_prefix("Agent ").filter(|_| is_of_hook);
    let after = |frame: &str| {
        let (name, text) = framed?.split_once(frame)?;
        (!name.is_empty() && !name.contains('\n')).then_some(text)
    };
    if question.kind == Kind::Approval {
        return match after(" needs a permission") {
            Some("") => "It needs a permission.",
            Some(text) => text.strip_prefix(": ").unwrap_or(msg),
            None => msg,
        };
    }
    after(" asks: ").map_or(msg, without_hint)
}

/// A question without the hint at its end how to answer it.
fn without_hint(text: &str) -> &str {
    let Some((question, hint)) = text.strip_suffix(')').and_then(|it| it.rsplit_once(" (")) else {
        return text;
    };
    let number = hint
        .strip_prefix("hubctl answer ")
        .and_then(|it| it.strip_suffix(" \"…\""));
    let is_number =
        number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()));
    if is_number || hint == "answer it in its own terminal" {
        question
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_shown_elsewhere_are_left_out() {
        let data = Some(serde_json::json!({"via": "hook"}));
        let mut question = Question {
            data,
            ..Question::default()
        };
        let mut shown = |kind, msg: &str| {
            question.kind = kind;
            question.msg = msg.into();
            question_text(&question).to_owned()
        };
        assert_eq!(
            shown(
                Kind::Question,
                "Agent a b asks: x (y)? (hubctl answer 7 \"…\")"
            ),
            "x (y)?"
        );
        assert_eq!(
            shown(Kind::Approval, "Agent w needs a permission: Bash"),
            "Bash"
        );
        assert_eq!(shown(Kind::Question, "plain (text)"), "plain (text)");
    }
}
