//! A permission request of the Agent Client Protocol, in Claude Code's form, which the hub takes apart and shows.

use serde_json::{Map, Value, json};

/// The questions that Qwen Code asks in a permission request.
pub fn questions(asked: &Value) -> Option<&Value> {
    let call = &asked["toolCall"];
    let kinds = [&asked["_meta"], &call["_meta"]];
    let asks = kinds
        .iter()
        .any(|it| it["qwenInteractionKind"] == "user_question");
    Some(&call["rawInput"]["questions"]).filter(|it| asks && it.is_array())
}

/// The plan that a request asks to carry out.
pub(super) fn plan(asked: &Value) -> Option<String> {
    let call = &asked["toolCall"];
    if call["kind"] != "switch_mode" {
        return None;
    }
    let given = call["rawInput"]["plan"].as_str().map(str::to_owned);
    given.or_else(|| Some(texts(call).join("\n\n")).filter(|it| !it.is_empty()))
}

/// The request with all that the agent says of it. A single diff is the change of a file.
pub fn of(asked: &Value) -> Value {
    let call = &asked["toolCall"];
    let mut input = match &call["rawInput"] {
        Value::Object(input) => input.clone(),
        Value::Null => Map::new(),
        other => Map::from_iter([("input".to_owned(), other.clone())]),
    };
    let diffs: Vec<&Value> = blocks(call).filter(|it| it["type"] == "diff").collect();
    match diffs[..] {
        [] => {}
        [diff] => one_change(&mut input, diff),
        _ => drop(input.insert(
            "changes".into(),
            diffs.iter().map(|it| change(it)).collect(),
        )),
    }
    let title = call["title"].as_str().unwrap_or_default();
    add_words(&mut input, title, &texts(call));
    let mut request = json!({ "tool_name": tool(call), "tool_input": input });
    if let Some(name) = always(asked) {
        let rule = json!({ "toolName": format!("“{name}”") });
        let suggestion =
            json!({"type": "addRules", "rules": [rule], "lasts": "(the agent's words)"});
        request["suggestions"] = json!([suggestion]);
    }
    request
}

/// The tool: its own name if an adapter tells it, else its kind.
fn tool(call: &Value) -> String {
    let own = call["_meta"]["claudeCode"]["toolName"].as_str();
    let kind = call["kind"].as_str().filter(|it| *it != "other");
    let title = call["title"].as_str();
    { own.or(kind).or(title) }.unwrap_or("a tool").to_owned()
}

/// The label of the option that allows more than this request.
fn always(asked: &Value) -> Option<&str> {
    let options = asked["options"].as_array()?;
    let of_kind = |it: &&Value| it["kind"] == "allow_always";
    options.iter().find(of_kind)?["name"].as_str()
}

fn blocks(call: &Value) -> impl Iterator<Item = &Value> {
    call["content"].as_array().into_iter().flatten()
}

fn texts(call: &Value) -> Vec<&str> {
    let of_text = |it: &&Value| it["type"] == "content";
    blocks(call)
        .filter(of_text)
        .filter_map(|it| it["content"]["text"].as_str())
        .collect()
}

/// Puts a diff into an input in place of the fields that say the same.
fn one_change(input: &mut Map<String, Value>, diff: &Value) {
    let said = [&diff["path"], &diff["oldText"], &diff["newText"]];
    input.retain(|_, value| !said.contains(&&*value));
    input.insert("file_path".into(), diff["path"].clone());
    if diff["oldText"].is_null() {
        input.insert("content".into(), diff["newText"].clone());
    } else {
        input.insert("old_string".into(), diff["oldText"].clone());
        input.insert("new_string".into(), diff["newText"].clone());
    }
}

fn change(diff: &Value) -> Value {
    json!({ "path": diff["path"], "before": diff["oldText"], "after": diff["newText"] })
}

/// Adds the title and the texts of the call, unless another field says them.
fn add_words(input: &mut Map<String, Value>, title: &str, texts: &[&str]) {
    let mut add = |name: &str, words: &str| {
        let is_said = |value: &Value| {
            value
                .as_str()
                .is_some_and(|it| it.contains(words.trim_matches('`')))
        };
        if !words.trim().is_empty() && !input.values().any(is_said) {
            let free = !input.contains_key(name);
            let name = if free {
                name.to_owned()
            } else {
                format!("{name} of the call")
            };
            input.insert(name, words.into());
        }
    };
    add("title", title);
    add("text", &texts.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_the_change_of_a_file_and_says_what_the_raw_input_says() {
        let edit = json!({
            "toolCall": {
                "toolCallId": "t1", "title": "Edit a.rs", "kind": "edit",
                "rawInput": {"file_path": "/a.rs", "old_string": "x", "new_string": "y", "replace_all": false},
                "content": [{"type": "diff", "path": "/a.rs", "oldText": "x", "newText": "y"}],
            },
            "options": [
                {"optionId": "b", "name": "Yes, all edits", "kind": "allow_always"},
                {"optionId": "a", "name": "Yes", "kind": "allow_once"},
            ],
        });
        let request = of(&edit);
        assert_eq!(request["tool_name"], "edit");
        let input = json!({
            "replace_all": false, "file_path": "/a.rs", "old_string": "x", "new_string": "y", "title": "Edit a.rs",
        });
        assert_eq!(request["tool_input"], input);
        assert_eq!(
            crate::always(&request["suggestions"]).as_deref(),
            Some("“Yes, all edits” (the agent's words)")
        );
    }

    #[test]
    fn a_new_file_several_files_and_a_command_are_whole() {
        let input = |call: Value| of(&json!({ "toolCall": call }))["tool_input"].take();
        let diff =
            |path: &str| json!({"type": "diff", "path": path, "oldText": null, "newText": "n"});
        assert_eq!(
            input(json!({"kind": "edit", "content": [diff("/n")]})),
            json!({"file_path": "/n", "content": "n"})
        );
        let two = input(json!({"kind": "edit", "content": [diff("/n"), diff("/m")]}));
        assert_eq!(two["changes"].as_array().map(Vec::len), Some(2));
        let text = json!({"type": "content", "content": {"type": "text", "text": "why"}});
        let run = json!({
            "kind": "execute", "title": "`make all`", "rawInput": {"command": "make all"}, "content": [text],
        });
        assert_eq!(input(run), json!({"command": "make all", "text": "why"}));
    }

    #[test]
    fn a_change_of_the_mode_is_a_plan_and_qwen_asks_in_a_permission() {
        let mode = json!({"toolCall": {"kind": "switch_mode", "rawInput": {"plan": "1. do it"}}});
        assert_eq!(plan(&mode).as_deref(), Some("1. do it"));
        assert_eq!(plan(&json!({"toolCall": {"kind": "edit"}})), None);
        let asks = json!({
            "_meta": {"qwenInteractionKind": "user_question"},
            "toolCall": {"rawInput": {"questions": [{"question": "Which?"}]}},
        });
        assert!(questions(&asks).is_some() && questions(&mode).is_none());
    }
}
