//! An answer that was typed in an attached terminal, in the hub's terms: that terminal gives it to the hub.

use hub_protocol::{Answer, Chosen, Control, Decision};
use serde_json::Value;

use super::Dialog;
use crate::protocol::{chosen, selected};

/// The answer for the hub to a question with these controls; an error if the hub cannot pass it on.
pub(crate) fn relayed(
    dialog: &Dialog,
    answer: &Value,
    controls: &[Control],
) -> Result<Answer, String> {
    if let Some(form) = answer.get("form") {
        return Ok(filled(form));
    }
    if let Some(texts) = answer["answers"].as_array() {
        return Ok(Answer::Choices(texts.iter().map(text).collect()));
    }
    let kind = answer["kind"].as_str().unwrap_or_default();
    // The hub passes the kind on, which stands for the first option of that kind.
    if let Some(option) = answer["option"].as_str()
        && chosen(dialog.asked(), kind) != selected(option.to_owned())
    {
        return Err("only the first option of its kind can be chosen here".into());
    }
    let reason = answer["message"].as_str().map(str::to_owned);
    Ok(Answer::Verdict(decision(kind, controls), reason))
}

fn filled(form: &Value) -> Answer {
    match form["action"].as_str() {
        Some("accept") => Answer::Form(form["content"].as_object().cloned().unwrap_or_default()),
        Some("decline") => Answer::Verdict(Decision::Deny, None),
        _ => Answer::Verdict(Decision::Cancel, None),
    }
}

fn text(answer: &Value) -> Chosen {
    Chosen {
        labels: Vec::new(),
        text: answer.as_str().map(str::to_owned),
    }
}

/// The decision for a kind of option. What is allowed always by a plan are edits.
fn decision(kind: &str, controls: &[Control]) -> Decision {
    let is_plan = matches!(controls, [Control::Verdict { edits: true, .. }]);
    match kind {
        "allow_once" => Decision::Allow,
        "allow_always" if is_plan => Decision::AcceptEdits,
        "allow_always" => Decision::AllowAlways,
        _ => Decision::Deny,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Typed;
    use super::*;

    #[test]
    fn an_option_for_which_its_kind_does_not_stand_is_not_relayed() {
        let asked = json!({"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": [
            {"optionId": "edits", "name": "Accept edits", "kind": "allow_always"},
            {"optionId": "all", "name": "Accept all", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]});
        let plan = [Control::Verdict {
            allow: true,
            always: None,
            edits: true,
        }];
        let relayed = |words: &str| {
            let mut dialog = Dialog::new(&Value::Null, 0, asked.clone());
            let Typed::Answer(answer) = dialog.read(words) else {
                panic!("{words}")
            };
            relayed(&dialog, &answer, &plan)
        };
        assert_eq!(
            relayed("1"),
            Ok(Answer::Verdict(Decision::AcceptEdits, None))
        );
        relayed("2").unwrap_err();
        assert_eq!(
            relayed("deny: not now"),
            Ok(Answer::Verdict(Decision::Deny, Some("not now".into())))
        );
    }
}
