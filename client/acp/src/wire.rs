//! The connection to an agent until its session has begun: requests in order, each with its answer.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::agent::{Agent, FromAgent};
use crate::frame::{Frame, Message, request, words};

/// How long an agent may take to begin a session. Some load themselves for seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many lines of an agent's stderr tell why it ended.
const LAST_WORDS: usize = 5;

/// A started agent.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) agent: Agent,
    pub(crate) from_agent: UnboundedReceiver<FromAgent>,
    /// Messages that came while an answer was awaited.
    pub(crate) early: Vec<Frame>,
    complaints: Vec<String>,
    last_id: u64,
}

impl Wire {
    /// Starts the agent.
    pub(crate) fn start(command: &[String]) -> anyhow::Result<Self> {
        let (agent, from_agent) = Agent::start(command, false)
            .map_err(|error| anyhow::anyhow!("{}: {error}", command[0]))?;
        Ok(Self {
            agent,
            from_agent,
            early: Vec::new(),
            complaints: Vec::new(),
            last_id: 0,
        })
    }

    /// Sends a request; returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.agent.send(request(self.last_id, method, params));
        self.last_id
    }

    /// Sends a request and waits for its result.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.ask(method, params);
        let answer = async {
            loop {
                match self.from_agent.recv().await {
                    Some(FromAgent::Frame(frame)) => match frame.message() {
                        Message::Response { id: of, outcome } if *of == id => {
                            return outcome
                                .cloned()
                                .map_err(|error| anyhow::anyhow!(words(error)));
                        }
                        _ => self.early.push(frame),
                    },
                    Some(FromAgent::Complaint(line)) => self.complain(line),
                    Some(FromAgent::Ended) | None => anyhow::bail!(self.why_ended()),
                }
            }
        };
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer,
            Err(_) => anyhow::bail!("the agent does not answer {method}"),
        }
    }

    /// Keeps a line of the agent's stderr.
    pub(crate) fn complain(&mut self, line: String) {
        self.complaints.push(line);
        let surplus = self.complaints.len().saturating_sub(LAST_WORDS);
        self.complaints.drain(..surplus);
    }

    /// Why the agent has ended, as far as it said.
    pub(crate) fn why_ended(&self) -> String {
        match self.complaints.join("; ") {
            none if none.is_empty() => "the agent has ended".into(),
            words => format!("the agent has ended: {words}"),
        }
    }
}
