//! The session in the eyes of the hub: its events, its dialogs that the hub holds for an answer, and its notifications.
//!
//! A hub that is down is tried again until it answers: events wait in their order, and a dialog is held again by the next
//! hub for the same question.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hubctl::{Connection, Error, EventReply, SessionPlace};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

/// How long a prompt of the person waits for the hub's notifications: a hub that is down must not stop the person.
pub(crate) const SOON: Duration = Duration::from_secs(1);
/// The same where no person waits: for a prompt of the hub, which is about these notifications.
pub(crate) const LATER: Duration = Duration::from_secs(10);
/// How long the hub may hold a dialog.
const LONGEST_HOLD: Duration = Duration::from_secs(3_605);
/// A hold that ends without an answer after this time has run out, and the dialog is still shown.
const RAN_OUT: Duration = Duration::from_secs(1_000);
/// How long one poll for notifications lasts.
const POLL: Duration = Duration::from_secs(25);
/// The pauses between attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A session as the hub knows it. Clones report in one order.
#[derive(Debug, Clone)]
pub(crate) struct Reports {
    pub(crate) hub: Arc<Connection>,
    pub(crate) place: SessionPlace,
    pub(crate) session: String,
    cwd: String,
    queue: mpsc::UnboundedSender<Queued>,
}

/// An event that waits for its turn.
#[derive(Debug)]
struct Queued {
    payload: Value,
    answer: Option<oneshot::Sender<EventReply>>,
    /// Whether the hub holds it: then those after it do not wait for its answer.
    is_held: bool,
}

impl Reports {
    /// Begins to report the session.
    pub(crate) fn new(
        hub: &Arc<Connection>,
        place: &SessionPlace,
        (session, cwd): (&str, &std::path::Path),
    ) -> Self {
        let (queue, waiting) = mpsc::unbounded_channel();
        let reports = Self {
            hub: Arc::clone(hub),
            place: place.clone(),
            session: session.to_owned(),
            cwd: cwd.display().to_string(),
            queue,
        };
        tokio::spawn(send_all(Arc::clone(hub), place.clone(), waiting));
        reports
    }

    /// Reports an event.
    pub(crate) fn tell(&self, event: Value) {
        self.enqueue(event, None, false);
    }

    /// Reports an event; returns the hub's text for the model, which counts as given to it from now on. Nothing if the hub
    /// does not answer within `patience`. If it does not take the acknowledgement, it offers the notifications again.
    pub(crate) async fn context(&self, event: Value, patience: Duration) -> String {
        let (answer, answered) = oneshot::channel();
        self.enqueue(event, Some(answer), false);
        let until = tokio::time::Instant::now() + patience;
        let Ok(Ok(answer)) = tokio::time::timeout_at(until, answered).await else {
            return String::new();
        };
        if let Some((lease, inbox)) = &answer.lease {
            let taken = self.hub.acknowledge(&self.place, (lease, inbox));
            let _ = tokio::time::timeout_at(until, taken).await;
        }
        answer.reply["context"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Shows a dialog in the hub until it is answered there; then `answered` gets the answer. Abort it when the dialog was
    /// closed elsewhere.
    pub(crate) fn hold(
        &self,
        event: Value,
        answered: impl FnOnce(Value) + Send + 'static,
    ) -> AbortHandle {
        let reports = self.clone();
        let held = tokio::spawn(async move {
            loop {
                let (answer, reply) = oneshot::channel();
                let asked = Instant::now();
                reports.enqueue(event.clone(), Some(answer), true);
                let Ok(reply) = reply.await else { return };
                if !reply.reply.is_null() {
                    return answered(reply.reply);
                }
                if asked.elapsed() < RAN_OUT {
                    return;
                }
            }
        });
        held.abort_handle()
    }

    /// Adds facts about the session that no event has.
    pub(crate) fn describe(&self, info: Value) {
        let (hub, place, session) = (
            Arc::clone(&self.hub),
            self.place.clone(),
            self.session.clone(),
        );
        tokio::spawn(async move {
            // It is only shown to people.
            let _ = hub.describe(&place, &session, &info).await;
        });
    }

    /// Reports the last event, and waits until the hub has it, but no longer than `patience`.
    pub(crate) async fn end(&self, patience: Duration) {
        let (answer, answered) = oneshot::channel();
        let ended = json!({ "hook_event_name": "acp.ended" });
        self.enqueue(ended, Some(answer), false);
        let _ = tokio::time::timeout(patience, answered).await;
    }

    /// Polls for notifications while the session is idle; `woken` gets the prompt that announces them. Its report as a
    /// prompt returns them.
    pub(crate) async fn poll(
        self,
        mut idle: watch::Receiver<bool>,
        woken: impl Fn(String) -> bool,
    ) {
        let (mut takeover, mut pause) = (false, FIRST_PAUSE);
        while idle.wait_for(|it| *it).await.is_ok() {
            let polled = tokio::select! {
                polled = self.hub.wait_as_module(&self.place, &self.session, (POLL, takeover)) => polled,
                _ = idle.wait_for(|it| !it) => continue,
            };
            match polled {
                Ok(Some(batch)) => {
                    (takeover, pause) = (false, FIRST_PAUSE);
                    let inbox = self.session.as_str();
                    // From here on the hub offers them to no other waiter.
                    let taken = self
                        .hub
                        .acknowledge(&self.place, (&batch.lease, inbox))
                        .await;
                    let prompt = batch.prompt.filter(|_| taken.is_ok());
                    if !prompt.is_none_or(&woken) {
                        return;
                    }
                }
                Ok(None) => (takeover, pause) = (false, FIRST_PAUSE),
                Err(error) => {
                    // The agent's module or hook waits there since before this session had a client.
                    takeover = matches!(&error, Error::Refused(it) if it.code == "inbox_held");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    fn enqueue(
        &self,
        mut payload: Value,
        answer: Option<oneshot::Sender<EventReply>>,
        is_held: bool,
    ) {
        payload["session_id"] = self.session.as_str().into();
        payload["cwd"] = self.cwd.as_str().into();
        // Without a receiver the program ends.
        let _ = self.queue.send(Queued {
            payload,
            answer,
            is_held,
        });
    }
}

/// Sends events in their order.
async fn send_all(
    hub: Arc<Connection>,
    place: SessionPlace,
    mut waiting: mpsc::UnboundedReceiver<Queued>,
) {
    while let Some(next) = waiting.recv().await {
        if next.is_held {
            tokio::spawn(send(Arc::clone(&hub), place.clone(), next));
        } else {
            send(Arc::clone(&hub), place.clone(), next).await;
        }
    }
}

/// Sends an event until the hub takes or refuses it, or until nobody waits for its answer if it is held.
async fn send(hub: Arc<Connection>, place: SessionPlace, queued: Queued) {
    let Queued {
        payload,
        answer,
        is_held,
    } = queued;
    let Ok(key) = hub.key() else { return };
    let patience = is_held.then_some(LONGEST_HOLD);
    let sending = async {
        let mut pause = FIRST_PAUSE;
        loop {
            match hub.event(&place, &payload, (&key, patience)).await {
                Err(error) if error.is_passing() => tokio::time::sleep(pause).await,
                sent => return sent.unwrap_or_default(),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    match answer {
        None => drop(sending.await),
        Some(mut answer) if is_held => tokio::select! {
            sent = sending => drop(answer.send(sent)),
            // The dialog was closed elsewhere.
            () = answer.closed() => {}
        },
        Some(answer) => drop(answer.send(sending.await)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::os::unix::net::{UnixListener, UnixStream};

    use hubctl::HubLocation;

    use super::*;

    /// Answers one request: an event with news under a lease, and the acknowledgement of that lease with an error.
    fn answer(stream: &UnixStream) -> std::io::Result<()> {
        let mut from = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while from.read_line(&mut head)? > 2 {
            let last = head.lines().last().unwrap_or_default();
            if let Some(of) = last.strip_prefix("content-length: ") {
                length = of.parse().unwrap_or_default();
            }
        }
        from.read_exact(&mut vec![0; length])?;
        let (status, headers, text) = if head.contains("/ack") {
            ("500 Internal Server Error", "", "{}")
        } else {
            let lease = "hub-lease: l\r\nhub-inbox: s\r\n";
            ("200 OK", lease, r#"{"context":"news"}"#)
        };
        let mut to = stream;
        write!(
            to,
            "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        )
    }

    #[tokio::test]
    async fn a_text_without_acknowledgement_is_given_and_offered_again() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("hub.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A connection without a request only asks whose the socket is.
                let _ = answer(&stream);
            }
        });
        let location = HubLocation {
            url: None,
            socket: Some(socket),
            state_dir: Some(dir.path().to_owned()),
            token_file: None,
        };
        let hub = Arc::new(Connection::open(&location).unwrap());
        let place = hub.place("acp", dir.path(), None).await;
        let reports = Reports::new(&hub, &place, ("s", dir.path()));
        let event = json!({ "hook_event_name": "acp.prompt" });
        assert_eq!(reports.context(event, LATER).await, "news");
    }
}
