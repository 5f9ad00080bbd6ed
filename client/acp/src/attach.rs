//! `hub-acp attach`: another terminal for a running session, over a Unix socket. Messages are lines of JSON: `text` is what
//! the session shows, `line` what the person typed, `answer` a line that answers the `dialog` beside it.
//!
//! The terminal itself gives the hub the answer to a dialog: the kernel shows the hub which process answers, and the
//! session's own process would hide that. What is typed of a form stays in its terminal until it is whole.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hub_protocol::{AnswerPost, InboxName, Need};
use hubctl::{Connection, Error, Path as Route};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use crate::dialog::{Dialog, Typed, relayed};
use crate::run::{self, Input};
use crate::saved::{Saved, Sessions};

/// The socket of a session; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Takes terminals at `path`, for the session that reads these inputs.
pub(crate) fn listen(path: &Path, inputs: mpsc::UnboundedSender<Input>) -> std::io::Result<Socket> {
    // An earlier process of this number and session may have been killed.
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, inputs.clone()));
        }
    });
    Ok(Socket(path.to_owned()))
}

/// Serves one terminal until it leaves.
async fn serve(stream: UnixStream, inputs: mpsc::UnboundedSender<Input>) {
    let (from, mut to) = stream.into_split();
    let (viewer, mut shown) = mpsc::unbounded_channel();
    let mut lines = BufReader::new(from).lines();
    if inputs.send(Input::View(viewer)).is_err() {
        return;
    }
    loop {
        let message = tokio::select! {
            text = shown.recv() => match text {
                Some(text) => json!({ "text": text }),
                None => return,
            },
            line = lines.next_line() => {
                let Ok(Some(line)) = line else { return };
                let sent: Value = serde_json::from_str(&line).unwrap_or_default();
                match typed(&sent, &inputs).await {
                    Some((answer, dialog)) => json!({ "answer": answer, "dialog": dialog }),
                    None => continue,
                }
            }
        };
        if to
            .write_all(format!("{message}\n").as_bytes())
            .await
            .is_err()
        {
            return;
        }
    }
}

/// Passes a message of a terminal on; returns a line that answers a dialog, and that dialog.
async fn typed(sent: &Value, inputs: &mpsc::UnboundedSender<Input>) -> Option<(String, Value)> {
    if sent["interrupt"] == true {
        let _ = inputs.send(Input::Cancel);
    }
    let line = sent["line"].as_str()?.to_owned();
    let (dialog, shown) = oneshot::channel();
    let input = Input::Attached {
        line: line.clone(),
        dialog,
    };
    inputs.send(input).ok()?;
    Some((line, shown.await.ok()??))
}

/// Shows a session in this terminal; one whose process has died is loaded again.
pub(crate) async fn attach(wanted: &InboxName, hub: Connection) -> anyhow::Result<ExitCode> {
    let sessions = Sessions::of(hub.state_dir())?;
    let saved = match sessions.find(wanted.as_str()) {
        Some(saved) => saved,
        None => named(wanted, &sessions, &hub).await?,
    };
    match UnixStream::connect(sessions.socket(&saved)).await {
        Ok(stream) => show(stream, &saved, &hub).await,
        Err(_) => run::load(&saved, hub).await,
    }
}

/// The session that has this name in the hub.
async fn named(wanted: &InboxName, sessions: &Sessions, hub: &Connection) -> anyhow::Result<Saved> {
    let cwd = std::env::current_dir()?;
    let place = hub.place("acp", &cwd, None).await;
    let path = Route::new("/sessions")
        .segment(wanted)
        .with("project", &place.project);
    let session: Value = hub
        .get(path)
        .await
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let id = session["id"].as_str().unwrap_or_default();
    let found = sessions.find(id);
    found.ok_or_else(|| anyhow::anyhow!("session {wanted} was not started by `hubctl acp run`"))
}

async fn show(stream: UnixStream, saved: &Saved, hub: &Connection) -> anyhow::Result<ExitCode> {
    let (from, mut to) = stream.into_split();
    let mut lines = BufReader::new(from).lines();
    let (typed, mut from_person) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if typed.send(line).is_err() {
                return;
            }
        }
    });
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut dialog = None;
    loop {
        tokio::select! {
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(ExitCode::SUCCESS) };
                let said: Value = serde_json::from_str(&line).unwrap_or_default();
                if let Some(words) = said["answer"].as_str() {
                    dialog = reply(words, Dialog::received(dialog, &said["dialog"]), (saved, hub)).await;
                } else {
                    let mut out = std::io::stdout().lock();
                    out.write_all(said["text"].as_str().unwrap_or_default().as_bytes())?;
                    out.flush()?;
                }
            }
            line = from_person.recv() => {
                // Ctrl-D leaves the session as it is.
                let Some(line) = line else { return Ok(ExitCode::SUCCESS) };
                to.write_all(format!("{}\n", json!({ "line": line })).as_bytes()).await?;
            }
            _ = interrupts.recv() => to.write_all(b"{\"interrupt\":true}\n").await?,
        }
    }
}

/// Reads words as the answer to a dialog; returns the dialog if it needs more.
async fn reply(words: &str, mut dialog: Dialog, of: (&Saved, &Connection)) -> Option<Dialog> {
    match dialog.read(words) {
        Typed::More(what) => {
            println!("{what}");
            return Some(dialog);
        }
        Typed::Answer(answer) => {
            if let Err(error) = give(&dialog, &answer, of).await {
                eprintln!("hub-acp: {error}");
            }
        }
    }
    None
}

/// Gives the hub the answer to the dialog that the session shows, as this process: the hub decides whether a person answers.
async fn give(
    dialog: &Dialog,
    answer: &Value,
    (saved, hub): (&Saved, &Connection),
) -> Result<(), Error> {
    let place = hub.place("acp", &saved.cwd, None).await;
    // The hub holds the dialog alone: other questions of the session have no end.
    let is_held = |it: &&Need| it.kind.asks() && it.answerable && it.until.is_some();
    let needs = hub.needs_of(&place, &saved.session).await?;
    let Some(need) = needs.iter().find(is_held) else {
        eprintln!("hub-acp: the hub does not hold this dialog");
        return Ok(());
    };
    let whole: Need = hub.get(Route::new("/needs").segment(&need.id)).await?;
    let controls = whole.whole.map(|it| it.controls).unwrap_or_default();
    let post = AnswerPost::new(relayed(dialog, answer, &controls).map_err(Error::Usage)?);
    let by = hub.by().await?;
    let post = AnswerPost {
        session: by.session,
        by: by.by,
        ..post
    };
    let body = serde_json::to_value(post).unwrap_or_default();
    hub.answer_need(&need.id, &body).await
}
