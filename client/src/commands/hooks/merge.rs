//! Merges our hooks into settings that others share, finds them and removes them. Everything else keeps its place and
//! its text.

use serde_json::Value;

use hub_protocol::Agent;

use super::own::OwnCommand;
use super::scheme::{Allow, Entry, Plan, Shape};
use super::tree::Node;

/// Puts the hooks and rules of `plan` into `settings`. Hooks of ours that are already as planned stay; others of ours,
/// such as those for another hubctl, are removed.
pub(super) fn install(settings: &mut Node, agent: Agent, plan: &Plan) -> Result<(), String> {
    if let Some(version) = plan.version {
        settings.get_or("version", Node::of(&version))?;
    }
    let hooks = settings
        .get_or("hooks", Node::Object(Vec::new()))?
        .at("hooks")?;
    let planned = |event: &str| plan.entries.iter().find(|entry| entry.event == event);
    let stays = |event: &str, found: &[Value]| {
        planned(event).is_some_and(|entry| found == [entry.node.value()])
    };
    clean(hooks, agent, plan.shape, stays, |_| false)?;
    for Entry { event, node } in &plan.entries {
        let list = hooks.get_or(event, Node::Array(Vec::new()))?;
        let elements = list
            .array()
            .map_err(|what| format!("its hooks.{event} {what}"))?;
        if !elements.iter_mut().any(|it| is_ours(it, agent, plan.shape)) {
            elements.push(node.clone());
        }
    }
    allow(settings, &plan.allow)
}

/// Removes our hooks and rules from `settings`, which were `before` the install. What was there before stays, such as
/// rules that others added and empty lists. If `before` is unknown, all rules stay.
pub(super) fn uninstall(
    settings: &mut Node,
    agent: Agent,
    plan: &Plan,
    before: Option<&Value>,
) -> Result<(), String> {
    let was_there = |pointer: &str| before.is_some_and(|it| it.pointer(pointer).is_some());
    if let Some(hooks) = settings.get("hooks")? {
        let hooks = hooks.at("hooks")?;
        let had = |event: &str| was_there(&format!("/hooks/{event}"));
        clean(hooks, agent, plan.shape, |_, _| false, had)?;
        if hooks.is_empty() && !was_there("/hooks") {
            settings.remove("hooks")?;
        }
    }
    match before {
        Some(before) => disallow(settings, &plan.allow, before),
        None => Ok(()),
    }
}

/// Our commands in `settings`, each with its event.
pub(super) fn find(
    settings: &mut Node,
    agent: Agent,
    shape: Shape,
) -> Result<Vec<(String, OwnCommand)>, String> {
    let mut found = Vec::new();
    let Some(hooks) = settings.get("hooks")? else {
        return Ok(found);
    };
    for (event, list) in hooks.at("hooks")?.object()? {
        for element in elements(list) {
            let own = commands(&element.value(), shape)
                .into_iter()
                .filter_map(|command| OwnCommand::parse(&command, agent));
            found.extend(own.map(|own| (event.clone(), own)));
        }
    }
    Ok(found)
}

impl Node {
    /// Returns this node if it is an object. The error names it as `name`.
    fn at(&mut self, name: &str) -> Result<&mut Self, String> {
        self.object().map_err(|what| format!("its {name} {what}"))?;
        Ok(self)
    }
}

/// Removes our commands from each event's list, unless `stays` returns true for the event and our elements. A list that
/// becomes empty is removed, unless `was_empty` returns true for its event.
fn clean(
    hooks: &mut Node,
    agent: Agent,
    shape: Shape,
    stays: impl Fn(&str, &[Value]) -> bool,
    was_empty: impl Fn(&str) -> bool,
) -> Result<(), String> {
    hooks.object()?.retain_mut(|(event, list)| {
        let found: Vec<Value> = elements(list)
            .filter(|element| is_ours(element, agent, shape))
            .map(|element| element.value())
            .collect();
        if found.is_empty() || stays(event, &found) {
            return true;
        }
        let Ok(elements) = list.array() else {
            return true;
        };
        elements.retain_mut(|element| {
            !is_ours(element, agent, shape) || keep_of_others(element, agent, shape)
        });
        !elements.is_empty() || was_empty(event)
    });
    Ok(())
}

/// The elements of an event's list, as copies for inspection, so that the list keeps its text. Empty if it is not a
/// list.
fn elements(list: &Node) -> impl Iterator<Item = Node> + use<> {
    let mut list = list.clone();
    let elements = list.array().map(std::mem::take);
    elements.unwrap_or_default().into_iter()
}

/// Whether an element of an event's list contains a command of ours.
fn is_ours(element: &Node, agent: Agent, shape: Shape) -> bool {
    let commands = commands(&element.value(), shape);
    commands
        .iter()
        .any(|command| OwnCommand::parse(command, agent).is_some())
}

fn commands(element: &Value, shape: Shape) -> Vec<String> {
    let command = |handler: &Value, name: &str| handler.get(name)?.as_str().map(str::to_owned);
    match shape {
        Shape::Flat(name) => command(element, name).into_iter().collect(),
        Shape::Grouped => {
            let handlers = element.get("hooks").and_then(Value::as_array);
            handlers
                .into_iter()
                .flatten()
                .filter_map(|handler| command(handler, "command"))
                .collect()
        }
    }
}

/// Removes our commands from an element. Returns whether commands of others are left in it.
fn keep_of_others(element: &mut Node, agent: Agent, shape: Shape) -> bool {
    if shape != Shape::Grouped {
        return false;
    }
    let handlers = element.get("hooks").ok().flatten().map(Node::array);
    let Some(Ok(handlers)) = handlers else {
        return true;
    };
    handlers.retain(|handler| {
        let value = handler.value();
        let command = value.get("command").and_then(Value::as_str);
        command.is_none_or(|command| OwnCommand::parse(command, agent).is_none())
    });
    !handlers.is_empty()
}

/// Adds the rules that let our commands run without asking.
fn allow(settings: &mut Node, allow: &Allow) -> Result<(), String> {
    let [group, list] = allow.at;
    if allow.rules.is_empty() {
        return Ok(());
    }
    let allowed = settings
        .get_or(group, Node::Object(Vec::new()))?
        .at(group)?
        .get_or(list, Node::Array(Vec::new()))?
        .array()
        .map_err(|what| format!("its {group}.{list} {what}"))?;
    for rule in allow.rules {
        if !allowed.iter().any(|known| known.value() == *rule) {
            allowed.push(Node::of(rule));
        }
    }
    Ok(())
}

/// Removes the rules that were not there `before`, and the lists that are empty without them.
fn disallow(settings: &mut Node, allow: &Allow, before: &Value) -> Result<(), String> {
    let [group, list] = allow.at;
    let Some(permissions) = settings.get(group)? else {
        return Ok(());
    };
    let permissions = permissions.at(group)?;
    let Some(Ok(allowed)) = permissions.get(list)?.map(Node::array) else {
        return Ok(());
    };
    let before_list = before.pointer(&format!("/{group}/{list}"));
    let was_there = |rule: &str| {
        let rules = before_list.and_then(Value::as_array);
        rules.is_some_and(|rules| rules.iter().any(|it| it == rule))
    };
    let is_ours = |node: &Node| {
        let mut rules = allow.rules.iter();
        rules.any(|rule| node.value() == *rule && !was_there(rule))
    };
    if !allowed.iter().any(is_ours) {
        return Ok(());
    }
    allowed.retain(|node| !is_ours(node));
    if allowed.is_empty() && before_list.is_none() {
        permissions.remove(list)?;
    }
    if permissions.is_empty() && before.get(group).is_none() {
        settings.remove(group)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
