//! A form in the terminal: one field after another, or all of it as JSON.

use serde_json::{Map, Value, json};

use super::Typed;

/// A form that is being filled in, or the questions that Qwen Code asks.
#[derive(Debug)]
pub(super) struct Form {
    fields: Vec<Field>,
    content: Map<String, Value>,
    /// The place of the field that is asked for.
    at: usize,
    /// Whether the answers are a list of texts.
    is_list: bool,
}

#[derive(Debug)]
struct Field {
    name: String,
    label: String,
    kind: String,
    /// The values, each with its label.
    choices: Vec<(Value, String)>,
    required: bool,
}

impl Form {
    /// The form of a request; `None` if it is another permission.
    pub(super) fn of(asked: &Value) -> Option<Self> {
        let questions = hub_agents::acp::questions(asked);
        let fields = match questions {
            Some(questions) => questions
                .as_array()?
                .iter()
                .enumerate()
                .map(question)
                .collect(),
            None if asked["options"].is_null() => {
                let schema = &asked["requestedSchema"];
                let all = schema["properties"].as_object()?;
                all.iter().map(|it| field(it, schema)).collect()
            }
            None => return None,
        };
        Some(Self {
            fields,
            content: Map::new(),
            at: 0,
            is_list: questions.is_some(),
        })
    }

    /// The field that is asked for next.
    pub(super) fn next(&self) -> String {
        let Some(field) = self.fields.get(self.at) else {
            return "(Enter accepts; or: decline)".into();
        };
        let choices = field.choices.iter().zip(1..);
        let choices = choices.map(|((_, label), n)| format!("  [{n}] {label}"));
        let more = if field.required {
            ""
        } else {
            " (Enter leaves it out)"
        };
        let lines = [format!("{}{more}", field.label)]
            .into_iter()
            .chain(choices);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Reads the value of the next field, JSON for all of them, `decline` or `cancel`.
    pub(super) fn read(&mut self, words: &str) -> Typed {
        let words = words.trim();
        if matches!(words, "decline" | "cancel") {
            return Typed::Answer(json!({ "form": { "action": words } }));
        }
        if let Ok(Value::Object(content)) = serde_json::from_str(words) {
            return accept(&content);
        }
        if let Some(field) = self.fields.get(self.at) {
            match field.value(words) {
                Some(value) => drop(self.content.insert(field.name.clone(), value)),
                None if words.is_empty() && !field.required => {}
                None => return Typed::More(self.next()),
            }
            self.advance();
        }
        if self.at < self.fields.len() {
            return Typed::More(self.next());
        }
        let content = std::mem::take(&mut self.content);
        if self.is_list {
            let answers: Vec<Value> = content.into_iter().map(|(_, it)| it).collect();
            return Typed::Answer(json!({ "answers": answers }));
        }
        accept(&content)
    }

    /// Goes to the next field. The field for another text is left out when a choice was made.
    fn advance(&mut self) {
        let given = &self.fields[self.at].name;
        let other = format!("{given}_custom");
        let is_given = self.content.contains_key(given);
        self.at += 1;
        if is_given && self.fields.get(self.at).is_some_and(|it| it.name == other) {
            self.at += 1;
        }
    }
}

impl Field {
    /// The value that words give; `None` if they give none of its kind.
    fn value(&self, words: &str) -> Option<Value> {
        let chosen = |word: &str| {
            let number: Option<usize> = word.trim().parse().ok();
            let by_number = number.and_then(|n| self.choices.get(n.checked_sub(1)?));
            let same = |it: &&(Value, String)| it.1 == word.trim() || it.0 == word.trim();
            by_number
                .or_else(|| self.choices.iter().find(same))
                .map(|it| it.0.clone())
        };
        match self.kind.as_str() {
            _ if words.is_empty() => None,
            "array" => words
                .split(',')
                .map(chosen)
                .collect::<Option<Vec<_>>>()
                .map(Value::from),
            "boolean" => match words {
                "yes" | "true" => Some(true.into()),
                "no" | "false" => Some(false.into()),
                _ => None,
            },
            "number" | "integer" => serde_json::from_str(words).ok().filter(Value::is_number),
            // A question takes another text than its options; the field of a form does not.
            "question" => Some(chosen(words).unwrap_or_else(|| words.into())),
            _ if self.choices.is_empty() => Some(words.into()),
            _ => chosen(words),
        }
    }
}

fn accept(content: &Map<String, Value>) -> Typed {
    Typed::Answer(json!({ "form": { "action": "accept", "content": content } }))
}

fn question((at, one): (usize, &Value)) -> Field {
    let options = one["options"].as_array().into_iter().flatten();
    let labels = options.filter_map(|it| it["label"].as_str());
    Field {
        name: at.to_string(),
        label: one["question"].as_str().unwrap_or_default().to_owned(),
        kind: "question".into(),
        choices: labels.map(|it| (it.into(), it.to_owned())).collect(),
        required: true,
    }
}

fn field((name, of): (&String, &Value), schema: &Value) -> Field {
    let required = schema["required"].as_array();
    let label = [&of["title"], &of["description"]]
        .into_iter()
        .find_map(Value::as_str);
    Field {
        name: name.clone(),
        label: label.unwrap_or(name).to_owned(),
        kind: of["type"].as_str().unwrap_or("string").to_owned(),
        choices: choices(if of["type"] == "array" {
            &of["items"]
        } else {
            of
        }),
        required: required.is_some_and(|it| it.contains(&name.as_str().into())),
    }
}

fn choices(of: &Value) -> Vec<(Value, String)> {
    let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
    let titled = ["oneOf", "anyOf"]
        .iter()
        .filter_map(|it| of[*it].as_array())
        .flatten();
    let titled = titled.map(|it| (it["const"].clone(), text(&it["title"])));
    let plain = of["enum"].as_array().into_iter().flatten();
    titled
        .chain(plain.map(|it| (it.clone(), text(it))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_leaves_the_field_for_another_text_out() {
        let options = json!([{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]);
        let schema = json!({"properties": {
            "question_0": {"type": "string", "title": "Colour?", "oneOf": options},
            "question_0_custom": {"type": "string", "title": "Other"},
            "question_1": {"type": "array", "title": "Sizes?", "items": {"enum": ["S", "M"]}},
            "n": {"type": "integer"},
        }, "required": ["n"]});
        let mut form = Form::of(&json!({"message": "m", "requestedSchema": schema})).unwrap();
        assert!(
            form.next()
                .starts_with("Colour? (Enter leaves it out)\n  [1] Red")
        );
        let Typed::More(next) = form.read("Blue") else {
            panic!()
        };
        assert!(next.starts_with("Sizes?"), "{next}");
        assert!(matches!(form.read("1, 2"), Typed::More(_)));
        assert!(matches!(form.read("x"), Typed::More(_)), "no number");
        assert!(matches!(form.read(""), Typed::More(_)), "it is required");
        let content = json!({"question_0": "b", "question_1": ["S", "M"], "n": 3});
        assert_eq!(
            form.read("3"),
            Typed::Answer(json!({"form": {"action": "accept", "content": content}}))
        );
    }

    #[test]
    fn questions_are_answered_by_texts() {
        let questions =
            json!([{"question": "Which?", "options": [{"label": "A"}]}, {"question": "Why?"}]);
        let asked = json!({
            "_meta": {"qwenInteractionKind": "user_question"}, "options": [],
            "toolCall": {"rawInput": {"questions": questions}},
        });
        let mut form = Form::of(&asked).unwrap();
        assert!(matches!(form.read("1"), Typed::More(_)));
        assert_eq!(
            form.read("so"),
            Typed::Answer(json!({"answers": ["A", "so"]}))
        );
    }
}
