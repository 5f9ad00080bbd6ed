//! The mode and the model of a session, which agents offer in two ways: as modes and models, or as options of a session.

use serde_json::{Value, json};

use crate::wire::Wire;

/// Chooses the mode and the model in a session that has just begun, and notes them there. An agent that has no such mode
/// keeps its own; a model that it does not have is an error.
pub(super) async fn choose(
    wire: &mut Wire,
    began: &mut Value,
    (mode, model): (Option<&str>, Option<&str>),
) -> anyhow::Result<()> {
    if let Some(mode) = mode.filter(|it| offers(&began["modes"]["availableModes"], "id", it)) {
        if began["modes"]["currentModeId"] != mode {
            let params = json!({ "sessionId": began["sessionId"], "modeId": mode });
            wire.call("session/set_mode", &params).await?;
            began["modes"]["currentModeId"] = mode.into();
        }
    } else if let Some(mode) = mode {
        set_option(wire, began, "mode", mode).await?;
    }
    let Some(model) = model else { return Ok(()) };
    if offers(&began["models"]["availableModels"], "modelId", model) {
        let params = json!({ "sessionId": began["sessionId"], "modelId": model });
        wire.call("session/set_model", &params).await?;
        began["models"]["currentModelId"] = model.into();
        return Ok(());
    }
    let is_set = set_option(wire, began, "model", model).await?;
    anyhow::ensure!(is_set, "the agent offers no model '{model}'");
    Ok(())
}

/// The description of the agent for people: its own name, its version, its model and its mode.
pub(super) fn described(facts: &Value, began: &Value) -> Value {
    let of = |category: &str, other: &Value| match option(began, category) {
        Some(option) => option["currentValue"].clone(),
        None => other.clone(),
    };
    json!({
        "agent": facts["agentInfo"]["name"],
        "version": facts["agentInfo"]["version"],
        "model": of("model", &began["models"]["currentModelId"]),
        "mode": of("mode", &began["modes"]["currentModeId"]),
    })
}

/// Sets the option of this category; returns whether the agent has one with this value.
async fn set_option(
    wire: &mut Wire,
    began: &mut Value,
    category: &str,
    value: &str,
) -> anyhow::Result<bool> {
    let Some(option) = option(began, category).filter(|it| has(it, value)) else {
        return Ok(false);
    };
    let params = json!({
        "sessionId": began["sessionId"], "configId": option["id"], "value": value,
    });
    let changed = wire.call("session/set_config_option", &params).await?;
    if changed["configOptions"].is_array() {
        began["configOptions"] = changed["configOptions"].clone();
    }
    Ok(true)
}

/// The option of a session for its model or its mode.
fn option<'a>(began: &'a Value, category: &str) -> Option<&'a Value> {
    let mut options = began["configOptions"].as_array()?.iter();
    options.find(|it| it["category"] == category || it["id"] == category)
}

/// Whether an option has this value, in a group or not.
fn has(option: &Value, value: &str) -> bool {
    let all = &option["options"];
    let groups = all.as_array().into_iter().flatten();
    offers(all, "value", value) || { groups }.any(|it| offers(&it["options"], "value", value))
}

fn offers(all: &Value, name: &str, wanted: &str) -> bool {
    all.as_array()
        .is_some_and(|all| all.iter().any(|it| it[name] == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_a_group_is_offered_and_describes_the_session() {
        let group = json!({"group": "g", "options": [{"value": "b"}]});
        let began = json!({"configOptions": [
            {"id": "m", "category": "model", "currentValue": "a", "options": [{"value": "a"}, group]},
        ], "modes": {"currentModeId": "auto"}});
        let model = option(&began, "model").unwrap();
        assert!(has(model, "a") && has(model, "b") && !has(model, "c"));
        let facts = json!({"agentInfo": {"name": "x", "version": "1"}});
        let described = described(&facts, &began);
        assert_eq!(
            (&described["model"], &described["mode"]),
            (&json!("a"), &json!("auto"))
        );
    }
}
