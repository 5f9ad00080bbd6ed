//! What an agent offers to allow from now on, in words.

use hub_protocol::reveal;
use serde_json::Value;

/// How long rules hold that an agent suggests without saying so.
const FOR_SESSION: &str = "for this session";

/// All that an agent suggests to allow from now on, and for how long: `Bash(make *) for this session`. `None` if it suggests
/// nothing, or something that these words cannot say: a person allows what they read.
pub fn always(suggestions: &Value) -> Option<String> {
    let all = list(suggestions);
    let found = all.iter().map(suggested).collect::<Option<Vec<_>>>()?;
    let mut found = found.concat();
    found.retain(|it| !it.is_empty());
    found.dedup();
    let lasts = all.first()?["lasts"].as_str().unwrap_or(FOR_SESSION);
    (!found.is_empty()).then(|| reveal(&format!("{} {lasts}", found.join(", "))))
}

/// What one suggestion would allow; `None` for one that does something else.
fn suggested(one: &Value) -> Option<Vec<String>> {
    let allows = one["behavior"].as_str().is_none_or(|it| it == "allow");
    Some(match one["type"].as_str()? {
        "setMode" if one["mode"] == "acceptEdits" => vec!["all edits".into()],
        "setMode" => vec![format!("the mode {}", one["mode"].as_str()?)],
        "addDirectories" => {
            let all = list(&one["directories"]).iter();
            all.map(|it| format!("the directory {}", text(it)))
                .collect()
        }
        "addRules" if allows => list(&one["rules"]).iter().map(rule).collect(),
        _ => return None,
    })
}

fn rule(rule: &Value) -> String {
    match text(&rule["ruleContent"]) {
        content if content.is_empty() => text(&rule["toolName"]),
        content => format!("{}({content})", text(&rule["toolName"])),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_agent_would_allow_from_now_on_is_said_whole_or_not_offered() {
        let make = json!({"toolName": "Bash", "ruleContent": "make *"});
        let add = |rules: Value| json!({"type": "addRules", "behavior": "allow", "rules": rules});
        let said = |all: &[Value]| always(&json!(all));
        for (suggestion, words) in [
            (
                add(json!([make, {"toolName": "Read"}])),
                "Bash(make *), Read for this session",
            ),
            (
                json!({"type": "setMode", "mode": "acceptEdits"}),
                "all edits for this session",
            ),
            (
                json!({"type": "addDirectories", "directories": ["/a"]}),
                "the directory /a for this session",
            ),
            (
                json!({"type": "addRules", "rules": [make], "lasts": "until x"}),
                "Bash(make *) until x",
            ),
            (
                add(json!([{"toolName": "Bash", "ruleContent": "a\u{202e}"}])),
                "Bash(a[U+202E]) for this session",
            ),
        ] {
            assert_eq!(said(&[suggestion]).as_deref(), Some(words));
        }
        let deny = json!({"type": "addRules", "behavior": "deny", "rules": [make]});
        for other in [
            deny,
            json!({"type": "replaceRules", "rules": [make]}),
            json!("x"),
        ] {
            assert_eq!(said(&[add(json!([make])), other]), None);
        }
        assert_eq!(said(&[]), None);
        assert_eq!(always(&Value::Null), None);
    }
}
