//! `hub-acp attach`: another terminal for a running session, over a Unix socket. Messages are lines of JSON: `text` is what
//! the session shows, `line` what the person typed, `answer` a line that answers a dialog.
//!
//! The terminal itself gives the hub the answer to a dialog: the kernel shows the hub which process answers, and the
//! session's own process would hide that.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hub_protocol::{Answer, AnswerPost, InboxName, Need};
use hubctl::{Connection, Path as Route};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

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
    // An earlier process of this number may have been killed.
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
                    Some(answer) => json!({ "answer": answer }),
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

/// Passes a message of a terminal on; returns a line that answers a dialog.
async fn typed(sent: &Value, inputs: &mpsc::UnboundedSender<Input>) -> Option<String> {
    let Some(line) = sent["line"].as_str() else {
        let _ = inputs.send(Input::Interrupt);
        return None;
    };
    let (is_answer, answers) = oneshot::channel();
    let line = line.to_owned();
    let input = Input::Attached {
        line: line.clone(),
        is_answer,
    };
    inputs.send(input).ok()?;
    answers.await.unwrap_or(false).then_some(line)
}

/// Shows a session in this terminal; one whose process has died is loaded again.
pub(crate) async fn attach(wanted: &InboxName, hub: Connection) -> anyhow::Result<ExitCode> {
    let sessions = Sessions::of(hub.state_dir())?;
    let saved = match sessions.find(wanted.as_str()) {
        Some(saved) => saved,
        None => named(wanted, &sessions, &hub).await?,
    };
    match UnixStream::connect(sessions.socket(saved.pid)).await {
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
    loop {
        tokio::select! {
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(ExitCode::SUCCESS) };
                let said: Value = serde_json::from_str(&line).unwrap_or_default();
                if let Some(answer) = said["answer"].as_str() {
                    reply(answer, saved, hub).await;
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
            _ = tokio::signal::ctrl_c() => to.write_all(b"{\"interrupt\":true}\n").await?,
        }
    }
}

/// Answers the dialog that the session shows, as this process: the hub decides whether a person answers.
async fn reply(words: &str, saved: &Saved, hub: &Connection) {
    if let Err(error) = answer(words, saved, hub).await {
        eprintln!("hub-acp: {error}");
    }
}

async fn answer(words: &str, saved: &Saved, hub: &Connection) -> Result<(), hubctl::Error> {
    let place = hub.place("acp", &saved.cwd, None).await;
    let asks = |it: &&Need| it.kind.asks() && it.answerable;
    let needs = hub.needs_of(&place, &saved.session).await?;
    let Some(need) = needs.iter().find(asks) else {
        eprintln!("hub-acp: the hub has no open question of this session");
        return Ok(());
    };
    let whole: Need = hub.get(Route::new("/needs").segment(&need.id)).await?;
    let controls = whole.whole.map(|it| it.controls).unwrap_or_default();
    let post = AnswerPost::new(Answer::of_words(words, &controls));
    let by = hub.by().await?;
    let post = AnswerPost {
        session: by.session,
        by: by.by,
        ..post
    };
    let body = serde_json::to_value(post).unwrap_or_default();
    hub.answer_need(&need.id, &body).await
}
