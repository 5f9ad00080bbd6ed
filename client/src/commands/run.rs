//! `hubctl run`: a command as a session of its own, from its registration to how it ended.

mod child;
mod registration;
mod signals;
mod tail;

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use hub_protocol::{InboxName, Kind, Post, ProjectName, Timestamp};
use serde_json::{Map, Value, json};

use self::child::{Child, Ended};
use self::signals::Signals;
use crate::error::{Error, Exit};
use crate::here::Here;
use crate::out::say;
use crate::publish::{Attempt, publish};
use crate::status_file;

/// As a shell says that a command is not there, or cannot be run.
const NOT_FOUND: Exit = Exit(127);
const NOT_RUNNABLE: Exit = Exit(126);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command is told HUB_SESSION, HUB_PROJECT and HUB_STATUS_FILE. Its input, output and signals pass straight through,
and its exit code is ours (128+N where signal N ended it). When it ends, the hub is told `complete` or `error` with the
duration and the last 20 lines of its stderr in `data`; these are missing where stderr is a terminal, which the command
then sees.

Examples:
  hubctl run -- make test
  hubctl run --session nightly --name \"nightly build\" -- ./build.sh --all 2>>build.log
  HUB_PARENT=lead hubctl run --session w1 -- codex exec \"fix the flaky test\"")]
/// What to run, and as whom.
pub(crate) struct Args {
    /// The session's id, and its inbox's name [default: the command's base name]
    #[arg(long, value_name = "ID")]
    session: Option<InboxName>,
    /// The name it is shown by [default: its id]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The project [default: as for notify]
    #[arg(long, value_name = "P")]
    project: Option<ProjectName>,
    /// The command
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<std::ffi::OsString>,
}

/// Who runs, and for whom.
#[derive(Debug)]
struct Job {
    session: InboxName,
    /// As a person reads it.
    name: String,
    project: ProjectName,
    parent: Option<InboxName>,
    status_file: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, here: &Here) -> Result<Exit, Error> {
    let job = Job::new(args, here)?;
    // From here on a signal is the command's, not ours.
    let mut signals = Signals::listen()?;
    let child = match Child::start(&args.command, &job) {
        Ok(child) => child,
        Err(error) => {
            say(format!("{}: {error}", args.command[0].to_string_lossy()));
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            return Ok(if missing { NOT_FOUND } else { NOT_RUNNABLE });
        }
    };
    // The command does not wait for the hub.
    let (ended, ()) = tokio::join!(child.end(&mut signals), registration::register(&job, here));
    let ended = ended?;
    if let Err(error) = tell(&job.post(&ended), here).await {
        say(format!(
            "the hub does not know that {} ended: {error}",
            job.name
        ));
    }
    Ok(Exit(code(ended.status)))
}

async fn tell(post: &Post, here: &Here) -> Result<(), Error> {
    match publish(here, post).await? {
        Attempt::Sent(sent) => sent.send_spooled(here).await,
        Attempt::Unsent(unsent) => unsent.leave(here, post)?,
    }
    Ok(())
}

impl Job {
    fn new(args: &Args, here: &Here) -> Result<Self, Error> {
        let session = match &args.session {
            Some(session) => session.clone(),
            None => named_by(Path::new(&args.command[0])),
        };
        let status_file = status_file::prepare(here, &here.env.cwd, &session)
            .inspect_err(|error| say(format!("no status file: {error:#}")))
            .ok();
        Ok(Self {
            name: args.name.clone().unwrap_or_else(|| session.to_string()),
            project: here.project(args.project.as_ref())?.value,
            parent: here.env.parsed("HUB_PARENT")?.map(|parent| parent.value),
            session,
            status_file,
        })
    }

    /// How it ended.
    fn post(&self, ended: &Ended) -> Post {
        let seconds = in_seconds(ended.lasted);
        let (kind, how) = match (ended.status.code(), signal(ended.status)) {
            (Some(0), _) => (Kind::Complete, format!("finished in {seconds}")),
            (_, Some(signal)) => {
                let how = format!("was ended by signal {signal} after {seconds}");
                (Kind::Error, how)
            }
            (code, None) => {
                let code = code.unwrap_or_default();
                let how = format!("failed with exit code {code} after {seconds}");
                (Kind::Error, how)
            }
        };
        Post {
            msg: format!("{} {how}", self.name),
            from: Some(self.session.clone()),
            kind: Some(kind),
            project: Some(self.project.clone()),
            parent: self.parent.clone(),
            data: Some(data(ended)),
            ts: Some(Timestamp::now()),
            ..Post::default()
        }
    }
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

/// The exit code as a shell gives it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(signal(status).map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// A session's name from a command's path.
fn named_by(command: &Path) -> InboxName {
    let base = command.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "._-:@+".contains(c) => c,
        _ => '-',
    };
    let name: String = base.chars().map(plain).take(64).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let fallback = || "run".parse().expect("'run' is a name");
    name.parse().unwrap_or_else(|_| fallback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_session() {
        for (command, name) in [
            ("make", "make"),
            ("/usr/bin/python3.12", "python3.12"),
            ("./.build it", "build-it"),
            ("..", "run"),
            ("a..b", "run"),
        ] {
            assert_eq!(named_by(Path::new(command)).as_str(), name, "{command}");
        }
    }

    #[test]
    fn seconds_are_rounded() {
        assert_eq!(in_seconds(Duration::from_millis(12_499)), "12 s");
        assert_eq!(in_seconds(Duration::from_millis(500)), "1 s");
    }
}
