//! The facts about a hook's session that the hub cannot see: its repository, its process, its terminal.

use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use hub_agents::Agent;
use hub_protocol::git::Directory;
use hub_protocol::{InboxName, Process, ProjectName};

use super::HookArgs;
use super::headless::is_single_shot;
use super::payload::Payload;
use super::view::is_watched;
use crate::hub::Path;
use crate::identity::Context;
use crate::identity::directory::{self, NoProject};
use crate::identity::project::of_session;
use crate::identity::sender::{given_session, is_given_to};
use crate::system::env::Env;
use crate::system::process;

/// How long the hub and git may take, each: a hook has a second in all.
const PATIENCE: Duration = Duration::from_millis(300);

/// The variable by which a session allows the hub to paste into its tmux pane, if it is `1`.
pub(crate) const PANE_DELIVERY: &str = "HUB_PANE_DELIVERY";

/// The surroundings of an agent's session.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// The project, by the rules of every command.
    pub(crate) project: ProjectName,
    /// The session's working directory.
    directory: Directory,
    process: Option<Process>,
    /// Whether the session is headless: it answers one prompt and ends.
    pub(super) headless: bool,
    /// The name that the session was given.
    given: Option<InboxName>,
}

impl Surroundings {
    /// Collects the surroundings of the hook with this `payload`.
    pub(super) async fn of(context: &Context, agent: Agent, payload: &Payload) -> Self {
        let env = &context.env;
        let session = payload.session();
        let here = working_directory(env, payload.text("cwd"));
        let started = started_in(env, agent).filter(|dir| *dir != here);
        let start = async {
            let dir = started.as_ref()?;
            Some(look(context, dir, session.as_ref()).await)
        };
        let (directory, start) = tokio::join!(look(context, &here, session.as_ref()), start);
        let project = of_session(env, start.as_ref().unwrap_or(&directory));
        let process = process::agent(env, agent.facts().process_variable);
        Self {
            project,
            directory,
            headless: is_single_shot(env, agent, process.as_ref()),
            process,
            given: None,
        }
    }

    /// Collects those of a session in `dir` that this process runs itself, under `name` if it is given one.
    pub(crate) async fn of_program(
        context: &Context,
        dir: &FilePath,
        name: Option<InboxName>,
    ) -> Self {
        let directory = look(context, dir, None).await;
        Self {
            project: of_session(&context.env, &directory),
            directory,
            headless: false,
            process: Some(Process::running(std::process::id())),
            given: name,
        }
    }

    /// A short name for the session: the one that it was given, the linked worktree's, or the branch's.
    fn name(&self) -> Option<InboxName> {
        if self.given.is_some() {
            return self.given.clone();
        }
        let name = match &self.directory.worktree {
            Some(name) => name.to_owned(),
            None => self.directory.branch.as_ref()?.replace('/', "-"),
        };
        name.parse().ok()
    }

    /// The path of the request, with the surroundings in its query. `asks_view` says that it matters whether the person has
    /// the session in view: at the end of a turn, and at a dialog.
    pub(super) fn path(&self, env: &Env, args: &HookArgs, asks_view: bool) -> Path {
        let given = given_session(env).ok().flatten();
        let given = given.filter(|_| is_given_to(env, self.process.as_ref()));
        // The terminal of a headless session shows the program that started it, so it is not checked.
        let watched = asks_view && !self.headless && is_watched(env);
        self.event_path(env, args.agent.as_str())
            .maybe("session", given.map(|it| it.value))
            .maybe("watched", watched.then_some(true))
            .with("rewake", args.rewake && !self.headless)
            .maybe("watches", args.rewake.then_some(true))
    }

    /// The path of any event of `reporter`, with what does not depend on the event.
    pub(crate) fn event_path(&self, env: &Env, reporter: &str) -> Path {
        let var = |name: &str| env.var(name).and_then(|value| value.to_str());
        let name_of = |name: &str| var(name)?.parse::<InboxName>().ok();
        let agent = self.process.as_ref();
        let directory = &self.directory;
        Path::new("/hooks")
            .segment(reporter)
            .with("project", &self.project)
            .maybe("parent", name_of("HUB_PARENT"))
            .maybe("role", var("HUB_ROLE"))
            .maybe("name", self.name())
            .maybe("main", directory.main)
            .with("host", process::host())
            .maybe("pid", agent.map(|process| process.pid))
            .maybe("started", agent.and_then(|process| process.started))
            .maybe("boot_id", agent.and_then(|it| it.boot_id.as_ref()))
            .maybe("branch", directory.branch.as_ref())
            .maybe("repository", directory.repository.as_ref())
            .maybe("pane", var("TMUX_PANE"))
            .maybe("pane_delivery", allows_pane_delivery(env).then_some(true))
            .with("headless", self.headless)
    }
}

/// Whether the session allows the hub to paste into its tmux pane.
pub(crate) fn allows_pane_delivery(env: &Env) -> bool {
    env.var(PANE_DELIVERY).is_some_and(|it| it == "1")
}

/// The project of an agent's session. It is that of the directory in which the agent was started, if the agent tells, so
/// that the project stays the same when the session changes its directory.
pub(crate) async fn session_project(
    context: &Context,
    agent: Agent,
    cwd: Option<&str>,
    session: &InboxName,
) -> ProjectName {
    let env = &context.env;
    let started = started_in(env, agent);
    let dir = started.unwrap_or_else(|| working_directory(env, cwd));
    of_session(env, &look(context, &dir, Some(session)).await)
}

/// The directory in which the agent was started, if it tells.
pub(super) fn started_in(env: &Env, agent: Agent) -> Option<PathBuf> {
    env.path(agent.facts().directory_variable?)
}

/// What git says about `dir`. If nobody can tell, the hub still knows the session by its id.
async fn look(context: &Context, dir: &FilePath, session: Option<&InboxName>) -> Directory {
    match directory::directory(context, dir, session, PATIENCE).await {
        Ok(directory) | Err(NoProject::Misnamed(_, directory)) => directory,
        Err(NoProject::Silent(_) | NoProject::Gone) => Directory::default(),
    }
}

/// The session's working directory: from the payload, or else this process's.
pub(super) fn working_directory(env: &Env, cwd: Option<&str>) -> PathBuf {
    match cwd.map(FilePath::new).filter(|cwd| cwd.is_absolute()) {
        Some(cwd) => cwd.to_owned(),
        None => env.here(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{HubLocation, Settings};
    use crate::system::runtime::block_on;
    use std::pin::pin;

    fn query(vars: &[(&str, &str)], rewake: bool) -> String {
        let place = tempfile::tempdir().unwrap();
        let state = place.path().to_str().unwrap();
        let env = Env::of(
            FilePath::new("/"),
            &[vars, &[("HUB_STATE_DIR", state)]].concat(),
        );
        let settings = Settings::resolve(&HubLocation::default(), &env).unwrap();
        let context = Context { env, settings };
        let payload = Payload::parse(b"{\"cwd\":\"/\"}", None).unwrap();
        let args = HookArgs {
            agent: Agent::Claude,
            json: None,
            event: None,
            rewake,
            plugin: false,
        };
        let surroundings = Surroundings::of(&context, Agent::Claude, &payload);
        let surroundings = block_on(pin!(surroundings)).unwrap();
        surroundings
            .path(&context.env, &args, false)
            .query()
            .to_owned()
    }

    #[test]
    fn valid_values_from_the_environment_are_sent_and_invalid_names_are_not() {
        let query = query(
            &[
                ("HUB_SESSION", "me"),
                ("HUB_PARENT", "a/b"),
                ("HUB_ROLE", "primary"),
                ("HUB_PROJECT", "/p q"),
                ("TMUX_PANE", "%7"),
                (PANE_DELIVERY, "1"),
            ],
            true,
        );
        for part in [
            "project=%2Fp%20q&",
            "&session=me&",
            "&role=primary&",
            "&pane=%257&pane_delivery=true&",
            "&rewake=true",
            "&host=",
            "&pid=",
        ] {
            assert!(query.contains(part), "{part}: {query}");
        }
        assert!(
            !query.contains("parent") && !query.contains("main"),
            "{query}"
        );
    }

    #[test]
    fn a_headless_session_is_not_registered_for_rewaking() {
        let headless = [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")];
        assert!(query(&headless, true).contains("headless=true&rewake=false"));
        let wanted = [headless[0], ("HUB_REWAKE_HEADLESS", "1")];
        assert!(query(&wanted, true).contains("headless=false&rewake=true"));
        assert!(query(&[], false).ends_with("rewake=false"));
    }
}
