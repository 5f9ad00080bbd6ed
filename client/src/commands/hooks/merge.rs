//! Our hooks in settings that others share: put in, found, taken out. What is not ours keeps its place and its text.

use serde_json::Value;

use super::own::Own;
use super::scheme::{Entry, Plan, Shape};
use super::tree::Node;
use crate::agent::Agent;

/// Puts what `plan` says into `settings`. What stands there already is left where it is; what stood there otherwise, or
/// for another hubctl, goes.
pub(super) fn install(settings: &mut Node, agent: Agent, plan: &Plan) -> Result<(), String> {
    if let Some(version) = plan.version {
        settings.get_or("version", Node::of(&version))?;
    }
    let hooks = settings
        .get_or("hooks", Node::Object(Vec::new()))?
        .at("hooks")?;
    let planned = |event: &str| plan.entries.iter().find(|entry| entry.event == event);
    clean(hooks, agent, plan.shape, |event, found| {
        planned(event).is_some_and(|entry| found == [entry.node.value()])
    })?;
    for Entry { event, node } in &plan.entries {
        let list = hooks.get_or(event, Node::Array(Vec::new()))?;
        let elements = list
            .array()
            .map_err(|what| format!("its hooks.{event} {what}"))?;
        if !elements.iter_mut().any(|it| is_ours(it, agent, plan.shape)) {
            elements.push(node.clone());
        }
    }
    allow(settings, plan.allow)
}

/// Takes everything of ours out of `settings`.
pub(super) fn uninstall(settings: &mut Node, agent: Agent, plan: &Plan) -> Result<(), String> {
    if let Some(hooks) = settings.get("hooks")? {
        let hooks = hooks.at("hooks")?;
        clean(hooks, agent, plan.shape, |_, _| false)?;
        if hooks.is_empty() {
            settings.remove("hooks")?;
        }
    }
    disallow(settings, plan.allow)
}

/// The commands of ours in `settings`, with the event of each.
pub(super) fn find(
    settings: &mut Node,
    agent: Agent,
    shape: Shape,
) -> Result<Vec<(String, Own)>, String> {
    let mut found = Vec::new();
    let Some(hooks) = settings.get("hooks")? else {
        return Ok(found);
    };
    for (event, list) in hooks.at("hooks")?.object()? {
        for element in elements(list) {
            let own = commands(&element.value(), shape)
                .into_iter()
                .filter_map(|command| Own::parse(&command, agent));
            found.extend(own.map(|own| (event.clone(), own)));
        }
    }
    Ok(found)
}

impl Node {
    /// This, once it is sure to be an object; an error names it.
    fn at(&mut self, name: &str) -> Result<&mut Self, String> {
        self.object().map_err(|what| format!("its {name} {what}"))?;
        Ok(self)
    }
}

/// Takes our commands out of each event's list, unless `stays` says of an event and our elements in it that it is well as it is.
fn clean(
    hooks: &mut Node,
    agent: Agent,
    shape: Shape,
    stays: impl Fn(&str, &[Value]) -> bool,
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
        !elements.is_empty()
    });
    Ok(())
}

/// The elements of an event's list, to look at: the list itself keeps its text. What is no list is nothing of ours.
fn elements(list: &Node) -> impl Iterator<Item = Node> + use<> {
    let mut list = list.clone();
    let elements = list.array().map(std::mem::take);
    elements.unwrap_or_default().into_iter()
}

/// Whether an element of an event's list holds a command of ours.
fn is_ours(element: &Node, agent: Agent, shape: Shape) -> bool {
    let commands = commands(&element.value(), shape);
    commands
        .iter()
        .any(|command| Own::parse(command, agent).is_some())
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

/// Takes our commands out of an element; whether something of others is left in it.
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
        command.is_none_or(|command| Own::parse(command, agent).is_none())
    });
    !handlers.is_empty()
}

/// Adds what needs no permission.
fn allow(settings: &mut Node, rules: &[&str]) -> Result<(), String> {
    if rules.is_empty() {
        return Ok(());
    }
    let allowed = settings
        .get_or("permissions", Node::Object(Vec::new()))?
        .at("permissions")?
        .get_or("allow", Node::Array(Vec::new()))?
        .array()
        .map_err(|what| format!("its permissions.allow {what}"))?;
    for rule in rules {
        if !allowed.iter().any(|known| known.value() == *rule) {
            allowed.push(Node::of(rule));
        }
    }
    Ok(())
}

/// Takes it away again, and what is empty without it.
fn disallow(settings: &mut Node, rules: &[&str]) -> Result<(), String> {
    let Some(permissions) = settings.get("permissions")? else {
        return Ok(());
    };
    let permissions = permissions.at("permissions")?;
    let Some(Ok(allowed)) = permissions.get("allow")?.map(Node::array) else {
        return Ok(());
    };
    let is_ours = |node: &Node| rules.iter().any(|rule| node.value() == *rule);
    if !allowed.iter().any(is_ours) {
        return Ok(());
    }
    allowed.retain(|node| !is_ours(node));
    if allowed.is_empty() {
        permissions.remove("allow")?;
    }
    if permissions.is_empty() {
        settings.remove("permissions")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
