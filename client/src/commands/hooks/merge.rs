//! Merges our hooks into settings that others share, finds them and removes them. Everything else keeps its place and
//! its text.

use jsonc_parser::cst::{CstNode, CstObject};
use serde_json::Value;

use hub_agents::{Agent, Allow, Shape};

use super::json::{append, array_or_new, name, object, object_or_new, remove, retain};
use super::own::OwnCommand;
use super::scheme::Plan;

/// Puts the hooks and rules of `plan` into `settings`. Hooks of ours that are already as planned stay; others of ours,
/// such as those for another hubctl, are removed.
pub(super) fn install(settings: &CstObject, agent: Agent, plan: &Plan) -> Result<(), String> {
    if let Some(version) = plan.version
        && settings.get("version").is_none()
    {
        settings.append("version", version.into());
    }
    let hooks = object_or_new(settings, "hooks")?;
    let planned = |event: &str| plan.entries.iter().find(|(it, _)| *it == event);
    let stays =
        |event: &str, found: &[Value]| planned(event).is_some_and(|(_, it)| found == [it.clone()]);
    clean(&hooks, agent, plan.shape, stays, |event| {
        planned(event).is_some()
    });
    for (event, node) in &plan.entries {
        let list = array_or_new(&hooks, "hooks", event)?;
        let mut elements = list.elements().into_iter();
        if !elements.any(|it| is_ours(&it, agent, plan.shape)) {
            append(&list, node)?;
        }
    }
    allow(settings, &plan.allow)
}

/// Removes our hooks and rules from `settings`, which were `before` the install. What was there before stays, such as
/// rules that others added and empty lists. If `before` is unknown, all rules stay.
pub(super) fn uninstall(
    settings: &CstObject,
    agent: Agent,
    plan: &Plan,
    before: Option<&Value>,
) -> Result<(), String> {
    let was_there = |pointer: &str| before.is_some_and(|it| it.pointer(pointer).is_some());
    if let Some(hooks) = object(settings, "hooks")? {
        let had = |event: &str| was_there(&format!("/hooks/{event}"));
        clean(&hooks, agent, plan.shape, |_, _| false, had);
        if hooks.properties().is_empty() && !was_there("/hooks") {
            remove(settings, "hooks");
        }
    }
    match before {
        Some(before) => disallow(settings, &plan.allow, before),
        None => Ok(()),
    }
}

/// Our commands in an object `hooks`, each with its event.
pub(super) fn find(
    hooks: Option<&Value>,
    agent: Agent,
    shape: Shape,
) -> Result<Vec<(String, OwnCommand)>, String> {
    let mut found = Vec::new();
    let Some(hooks) = hooks else {
        return Ok(found);
    };
    for (event, list) in hooks.as_object().ok_or("its hooks is not an object")? {
        for element in list.as_array().into_iter().flatten() {
            let own = commands(element, agent, shape).into_iter();
            found.extend(own.map(|own| (event.clone(), own)));
        }
    }
    Ok(found)
}

/// Removes our commands from each event's list, unless `stays` returns true for the event and our elements. A list that
/// becomes empty is removed, unless `is_kept` returns true for its event.
fn clean(
    hooks: &CstObject,
    agent: Agent,
    shape: Shape,
    stays: impl Fn(&str, &[Value]) -> bool,
    is_kept: impl Fn(&str) -> bool,
) {
    for member in hooks.properties() {
        let (event, Some(list)) = (name(&member), member.array_value()) else {
            continue;
        };
        let elements = list.elements();
        let ours = elements.iter().filter(|it| is_ours(it, agent, shape));
        let found: Vec<Value> = ours.filter_map(CstNode::to_serde_value).collect();
        if found.is_empty() || stays(&event, &found) {
            continue;
        }
        retain(&list, |element| {
            !is_ours(element, agent, shape) || keep_of_others(element, agent, shape)
        });
        if list.elements().is_empty() && !is_kept(&event) {
            member.remove();
        }
    }
}

/// Whether an element of an event's list contains a command of ours.
fn is_ours(element: &CstNode, agent: Agent, shape: Shape) -> bool {
    let element = element.to_serde_value();
    element.is_some_and(|it| !commands(&it, agent, shape).is_empty())
}

/// Our commands in an element of an event's list.
fn commands(element: &Value, agent: Agent, shape: Shape) -> Vec<OwnCommand> {
    let own = |handler: &Value, member| OwnCommand::of(handler, member, agent);
    match shape {
        Shape::Flat(member) => own(element, member).into_iter().collect(),
        Shape::Grouped => {
            let handlers = element.get("hooks").and_then(Value::as_array);
            let handlers = handlers.into_iter().flatten();
            handlers.filter_map(|it| own(it, "command")).collect()
        }
    }
}

/// Removes our commands from an element. Returns whether commands of others are left in it.
fn keep_of_others(element: &CstNode, agent: Agent, shape: Shape) -> bool {
    let handlers = element.as_object().and_then(|it| it.array_value("hooks"));
    let Some(handlers) = handlers.filter(|_| shape == Shape::Grouped) else {
        return false;
    };
    retain(&handlers, |handler| {
        let handler = handler.to_serde_value().unwrap_or_default();
        OwnCommand::of(&handler, "command", agent).is_none()
    });
    !handlers.elements().is_empty()
}

/// Adds the rules that let our commands run without asking.
fn allow(settings: &CstObject, allow: &Allow) -> Result<(), String> {
    let [group, list] = allow.at;
    if allow.rules.is_empty() {
        return Ok(());
    }
    let allowed = array_or_new(&object_or_new(settings, group)?, group, list)?;
    let known = allowed.to_serde_value().unwrap_or_default();
    for rule in allow.rules {
        let mut known = known.as_array().into_iter().flatten();
        if !known.any(|it| it == rule) {
            append(&allowed, &Value::from(*rule))?;
        }
    }
    Ok(())
}

/// Removes the rules that were not there `before`, and the lists that are empty without them.
fn disallow(settings: &CstObject, allow: &Allow, before: &Value) -> Result<(), String> {
    let [group, list] = allow.at;
    let Some(permissions) = object(settings, group)? else {
        return Ok(());
    };
    let Some(allowed) = permissions.array_value(list) else {
        return Ok(());
    };
    let before_list = before.pointer(&format!("/{group}/{list}"));
    let was_there = |rule: &str| {
        let rules = before_list.and_then(Value::as_array);
        rules.is_some_and(|rules| rules.iter().any(|it| it == rule))
    };
    let is_ours = |node: &CstNode| {
        let node = node.to_serde_value().unwrap_or_default();
        let mut rules = allow.rules.iter();
        rules.any(|rule| node == *rule && !was_there(rule))
    };
    if !allowed.elements().iter().any(is_ours) {
        return Ok(());
    }
    retain(&allowed, |node| !is_ours(node));
    if allowed.elements().is_empty() && before_list.is_none() {
        remove(&permissions, list);
    }
    if permissions.properties().is_empty() && before.get(group).is_none() {
        remove(settings, group);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
