//! The starts and control groups of agents, also of those that have ended.

use std::collections::BTreeMap;

/// The most control groups of agents that are kept. Only the kernel makes them.
const MAX_GROUPS: usize = 10_000;

/// The starts of the agents that the kernel has confirmed since the hub started, also of those that have ended: in clock ticks
/// since the boot.
#[derive(Debug, Default, Clone)]
pub struct AgentsSoFar {
    /// The earliest start.
    pub first: Option<u64>,
    /// The earliest start in each control group.
    pub groups: BTreeMap<String, u64>,
}

impl AgentsSoFar {
    /// Adds an agent.
    pub fn note(&mut self, started: Option<u64>, group: Option<String>) {
        let Some(started) = started else { return };
        let earlier = |it: u64| it.min(started);
        self.first = Some(self.first.map_or(started, earlier));
        if let Some(group) = group
            && (self.groups.len() < MAX_GROUPS || self.groups.contains_key(&group))
        {
            let first = self.groups.entry(group).or_insert(started);
            *first = earlier(*first);
        }
    }
}
