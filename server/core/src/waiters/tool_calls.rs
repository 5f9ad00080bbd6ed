//! The tool calls that run in a session now, as its agent's hooks report them. They are not in the log.

use std::collections::VecDeque;

use hub_protocol::{Timestamp, ToolCall};

/// The most calls that are remembered of each kind.
const MAX: usize = 16;

/// A report about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolReport {
    /// It began.
    Began(ToolCall),
    /// It ended.
    Ended,
}

/// The tool calls of one session.
#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    running: VecDeque<(String, ToolCall)>,
    /// Ids of calls that ended. A hook that reports a begin runs in the background, so it may arrive after the end.
    ended: VecDeque<String>,
}

impl ToolCalls {
    /// Notes a report about the call `id`.
    pub(super) fn note(&mut self, id: &str, report: ToolReport) {
        match report {
            ToolReport::Began(call) => {
                if !self.ended.iter().any(|it| it == id) {
                    push(&mut self.running, (id.to_owned(), call));
                }
            }
            ToolReport::Ended => {
                self.running.retain(|(running, _)| running != id);
                push(&mut self.ended, id.to_owned());
            }
        }
    }

    /// Returns when each call began.
    pub(super) fn times(&mut self) -> impl Iterator<Item = &mut Timestamp> {
        self.running.iter_mut().map(|(_, call)| &mut call.since)
    }

    /// Returns the call that began last.
    pub(super) fn current(&self) -> Option<&ToolCall> {
        self.running.back().map(|(_, call)| call)
    }
}

fn push<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == MAX {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began(name: &str) -> ToolReport {
        ToolReport::Began(ToolCall {
            name: name.into(),
            on: String::new(),
            since: Timestamp::default(),
        })
    }

    #[test]
    fn the_call_that_began_last_is_shown_until_it_ends() {
        let mut calls = ToolCalls::default();
        calls.note("1", began("Task"));
        calls.note("2", began("Bash"));
        assert_eq!(calls.current().unwrap().name, "Bash");
        calls.note("2", ToolReport::Ended);
        assert_eq!(calls.current().unwrap().name, "Task");
        calls.note("1", ToolReport::Ended);
        assert_eq!(calls.current(), None);
    }

    #[test]
    fn a_begin_that_arrives_after_the_end_is_ignored() {
        let mut calls = ToolCalls::default();
        calls.note("1", ToolReport::Ended);
        calls.note("1", began("Bash"));
        assert_eq!(calls.current(), None);
    }

    #[test]
    fn the_memory_of_calls_is_bounded() {
        let mut calls = ToolCalls::default();
        for id in 0..100 {
            calls.note(&id.to_string(), began("Bash"));
            calls.note(&(1000 + id).to_string(), ToolReport::Ended);
        }
        assert_eq!((calls.running.len(), calls.ended.len()), (MAX, MAX));
    }
}
