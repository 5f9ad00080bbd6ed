//! `hubctl run`: runs a command as a session, registers it, and reports how it ended.

mod child;
mod name;
mod registration;
mod signals;
mod tail;

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use hub_protocol::{InboxName, Kind, Post, ProjectName, StatusLine, Timestamp};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use self::child::{Child, Ended};
use self::name::{free_id, shown};
use self::signals::Signals;
use super::hook::allows_pane_delivery;
use super::watch::{self, Stamp};
use crate::error::Error;
use crate::exit_code::Exit;
use crate::identity::Context;
use crate::output::say;
use crate::publish::status_file;
use crate::publish::{Attempt, publish, publish_as, send_spooled};

/// The most bytes of a notification's title.
const MAX_TITLE: usize = 512;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command gets HUB_SESSION, HUB_PROJECT and HUB_STATUS_FILE. Its input, output and signals are passed through, and \
hubctl exits with its exit code (128+N if signal N ended it). When it ends, its session ends, and one notification is \
published: `complete` or `error`, or the last state in the status file. Its `data` has the duration and the last 20 \
lines of stderr, unless stderr is a terminal. If the hub has already read the last state from the status file, that is \
the notification, and it has no such `data`. The next job with the same id takes the place of one that has ended, and \
of its failure in `hubctl needs`: give commands that differ a --name.

Examples:
  hubctl run -- make test
  hubctl run --name \"nightly build\" -- ./build.sh --all 2>>build.log
  hubctl run --pane -- kimi
  HUB_PARENT=lead hubctl run --session w1 -- codex exec \"fix the flaky test\"")]
/// The arguments of `hubctl run`.
pub(crate) struct RunArgs {
    /// The session's id, which is also its inbox [default: run-NAME or else run- and the command's base name, with a number
    /// while another job has it]
    #[arg(long, value_name = "ID")]
    session: Option<InboxName>,
    /// The session's name for people [default: its id, without run-]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// Allow the hub to paste into the tmux pane when nothing else wakes the agent, as `HUB_PANE_DELIVERY=1` does
    #[arg(long)]
    pane: bool,
    /// The command to run, with its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<std::ffi::OsString>,
}

impl RunArgs {
    /// What the job is called: as `--name` says, or as its command.
    fn called(&self) -> Cow<'_, str> {
        match &self.name {
            Some(name) => name.into(),
            None => Path::new(&self.command[0])
                .file_name()
                .unwrap_or_default()
                .to_string_lossy(),
        }
    }
}

/// The session of the command.
#[derive(Debug)]
struct Job {
    session: InboxName,
    /// Keeps other jobs from taking the session's id while this one runs.
    _lock: Option<File>,
    /// The session's name for people.
    name: String,
    project: ProjectName,
    parent: Option<InboxName>,
    /// Whether the hub may paste into the session's pane.
    pane_delivery: bool,
    status_file: Option<PathBuf>,
    /// The status file's content before the command started.
    before: Option<FileContent>,
}

/// One write of a status file: its identity and the content.
type FileContent = (Stamp, Vec<u8>);

pub(crate) async fn run(args: &RunArgs, context: &Context) -> Result<Exit, Error> {
    let job = Job::new(args, context).await?;
    // From here on, signals are passed to the command.
    let mut signals = Signals::listen()?;
    let child = match Child::start(&args.command, &job) {
        Ok(child) => child,
        Err(error) => {
            say(format!("{}: {error}", args.command[0].to_string_lossy()));
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            return Ok(if missing {
                Exit::NOT_FOUND
            } else {
                Exit::NOT_RUNNABLE
            });
        }
    };
    let (is_over, over) = oneshot::channel::<()>();
    let end = async {
        let ended = child.end(&mut signals).await;
        drop(is_over);
        ended
    };
    // Registering runs beside the command, so that the command does not wait for the hub.
    let (ended, ()) = tokio::join!(end, registration::register(&job, context, over));
    let ended = ended?;
    let last = job.last_line();
    let post = job.post(&ended, last.as_ref());
    match report(&post, job.key(last.as_ref()), context).await {
        Ok(true) => registration::end(&job, context).await,
        // The hub is down. Once it runs, it will notice by itself that the process is gone.
        Ok(false) => {}
        Err(error) => say(format!("could not report that {} ended: {error}", job.name)),
    }
    Ok(Exit(code(ended.status)))
}

/// Posts how the job ended, and returns whether the hub was reached. `line` is the key of the status file's last line
/// and the type that the line reports. The hub may have read that line already, or may read it later.
async fn report(
    post: &Post,
    line: Option<(String, Kind)>,
    context: &Context,
) -> Result<bool, Error> {
    let attempt = match line {
        // It is not kept under this key: when the hub reads the spool, it will have read the status line under it, and
        // would refuse another body for it.
        Some((key, stated)) => match publish_as(context, &key, post).await {
            Err(Error::Refused(problem)) if problem.code == "key_reused" => {
                if post.kind == Some(stated) {
                    return Ok(true);
                }
                publish(context, post).await
            }
            attempt => attempt,
        },
        None => publish(context, post).await,
    };
    match attempt? {
        Attempt::Sent(sent) => send_spooled(&sent.hub, context).await,
        Attempt::Unsent(unsent) => {
            unsent.leave(context, post)?;
            return Ok(false);
        }
    }
    Ok(true)
}

impl Job {
    async fn new(args: &RunArgs, context: &Context) -> Result<Self, Error> {
        let project = context.project(args.project.as_ref()).await?.value;
        let (session, lock, name) = if let Some(session) = &args.session {
            (session.clone(), None, session.to_string())
        } else {
            let (id, lock) = free_id(context, &project, &args.called());
            let name = shown(&id).to_owned();
            (id, lock, name)
        };
        let status_file = status_file::prepare(context, &context.env.cwd, &session)
            .inspect_err(|error| say(format!("no status file: {error:#}")))
            .ok();
        Ok(Self {
            name: args.name.clone().unwrap_or(name),
            project,
            parent: context.env.parsed("HUB_PARENT")?.map(|parent| parent.value),
            pane_delivery: args.pane || allows_pane_delivery(&context.env),
            session,
            _lock: lock,
            before: status_file.as_deref().and_then(written),
            status_file,
        })
    }

    /// The last line that the command wrote into its status file, unless that says `working`: the command has ended.
    fn last_line(&self) -> Option<(StatusLine, Stamp)> {
        let (stamp, content) = written(self.status_file.as_deref()?)?;
        let is_new = self
            .before
            .as_ref()
            .is_none_or(|(before, _)| *before != stamp);
        let line = StatusLine::read(&content).ok().filter(|_| is_new)?;
        (line.kind != Kind::Progress).then_some((line, stamp))
    }

    /// The key under which the hub stores the status file's last line, and the kind that the line states.
    fn key(&self, last: Option<&(StatusLine, Stamp)>) -> Option<(String, Kind)> {
        let (line, (file, _, nanos)) = last?;
        let part = |nanos: i128| i64::try_from(nanos).unwrap_or_default();
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let key = line.key(&self.session, (*file, part(seconds), part(rest)));
        Some((key, line.kind))
    }

    /// The type of the notification. A failed command is an error, whatever it wrote before. A question becomes
    /// `waiting`, because a command that has ended can get no answer.
    fn kind(ended: &Ended, last: Option<&(StatusLine, Stamp)>) -> Kind {
        match last.map(|(line, _)| line.kind) {
            _ if !ended.status.success() => Kind::Error,
            Some(Kind::Question | Kind::Approval) => Kind::Waiting,
            Some(kind) => kind,
            None => Kind::Complete,
        }
    }

    /// The one notification of the job: how it ended, with the last line of its status file if there is one.
    fn post(&self, ended: &Ended, last: Option<&(StatusLine, Stamp)>) -> Post {
        let seconds = in_seconds(ended.lasted);
        let how = match (ended.status.code(), signal(ended.status)) {
            (Some(0), _) => format!("finished in {seconds}"),
            (_, Some(signal)) => format!("was ended by signal {signal} after {seconds}"),
            (code, None) => {
                let code = code.unwrap_or_default();
                format!("failed with exit code {code} after {seconds}")
            }
        };
        let how = format!("{} {how}", self.name);
        let (msg, title) = match last {
            Some((line, _)) => (
                line.msg.clone(),
                Some(how).filter(|it| it.len() <= MAX_TITLE),
            ),
            None => (how, None),
        };
        Post {
            msg,
            title,
            from: Some(self.session.clone()),
            kind: Some(Self::kind(ended, last)),
            project: Some(self.project.clone()),
            parent: self.parent.clone(),
            data: Some(data(ended)),
            ts: Some(Timestamp::now()),
            ..Post::default()
        }
    }
}

/// Reads a status file; `None` if it cannot be read or is not a status file.
fn written(path: &Path) -> Option<FileContent> {
    watch::read(path).ok()?
}

fn data(ended: &Ended) -> Value {
    let mut data = Map::new();
    data.insert("exit_code".into(), json!(code(ended.status)));
    if let Some(signal) = signal(ended.status) {
        data.insert("signal".into(), json!(signal));
    }
    let millis = u32::try_from(ended.lasted.as_millis()).unwrap_or(u32::MAX);
    data.insert("seconds".into(), json!(f64::from(millis) / 1000.0));
    if let Some(lines) = &ended.stderr {
        data.insert("stderr".into(), json!(lines));
    }
    Value::Object(data)
}

fn in_seconds(lasted: Duration) -> String {
    format!("{} s", (lasted.as_millis() + 500) / 1000)
}

fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// The exit code as a shell reports it: 128+N after signal N.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(signal(status).map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded() {
        assert_eq!(in_seconds(Duration::from_millis(12_499)), "12 s");
        assert_eq!(in_seconds(Duration::from_millis(500)), "1 s");
    }
}
