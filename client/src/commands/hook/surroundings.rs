//! The facts about a hook's session that the hub cannot see: its repository, its process, its terminal.

use std::path::{Path as FilePath, PathBuf};

use hub_protocol::git::Repository;
use hub_protocol::{Agent, InboxName, Process, ProjectName};

use super::HookArgs;
use super::headless::is_single_shot;
use super::payload::Payload;
use super::view::is_watched;
use crate::hub::Path;
use crate::identity::project::project_at_once;
use crate::identity::sender::{given_session, is_given_to};
use crate::system::env::Env;
use crate::system::process;

/// The variable by which a session allows the hub to paste into its tmux pane, if it is `1`.
pub(crate) const PANE_DELIVERY: &str = "HUB_PANE_DELIVERY";

/// The surroundings of an agent's session.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// The project, by the rules of every command.
    pub(super) project: ProjectName,
    /// The repository of the session's working directory.
    repository: Option<Repository>,
    process: Option<Process>,
    /// Whether the session is headless: it answers one prompt and ends.
    headless: bool,
}

impl Surroundings {
    /// Collects the surroundings of the hook with this `payload`.
    pub(super) fn of(env: &Env, agent: Agent, payload: &Payload) -> Self {
        let here = directory(env, payload.text("cwd"));
        let repository = Repository::discover(&here);
        let project = match env.path("CLAUDE_PROJECT_DIR").filter(|dir| *dir != here) {
            Some(dir) => project_at_once(env, Repository::discover(&dir).as_ref()),
            None => project_at_once(env, repository.as_ref()),
        };
        let process = process::agent(env, (agent == Agent::Claude).then_some("CLAUDE_PID"));
        Self {
            project: project.value,
            repository,
            headless: is_single_shot(env, agent, process.as_ref()),
            process,
        }
    }

    /// A short name for the session: the linked worktree's, or the branch's.
    fn name(&self) -> Option<InboxName> {
        let repository = self.repository.as_ref()?;
        let name = match repository.linked_worktree() {
            Some(name) => name.to_owned(),
            None => repository.branch()?.replace('/', "-"),
        };
        name.parse().ok()
    }

    /// Whether the session is in the main worktree; `None` outside of one.
    fn is_main(&self) -> Option<bool> {
        let repository = self.repository.as_ref()?;
        repository.worktree.as_ref()?;
        Some(repository.linked_worktree().is_none())
    }

    /// The path of the request, with the surroundings in its query. `stops` says that the session's turn is over.
    pub(super) fn path(&self, env: &Env, args: &HookArgs, stops: bool) -> Path {
        let var = |name: &str| env.var(name).and_then(|value| value.to_str());
        let name_of = |name: &str| var(name)?.parse::<InboxName>().ok();
        let agent = self.process.as_ref();
        let repository = self.repository.as_ref();
        let given = given_session(env).ok().flatten();
        let given = given.filter(|_| is_given_to(env, agent));
        // The terminal of a headless session shows the program that started it, so it is not checked.
        let watched = stops && !self.headless && is_watched(env);
        Path::new("/hooks")
            .segment(args.agent)
            .with("project", &self.project)
            .maybe("session", given.map(|it| it.value))
            .maybe("parent", name_of("HUB_PARENT"))
            .maybe("role", var("HUB_ROLE"))
            .maybe("name", self.name())
            .maybe("main", self.is_main())
            .with("host", process::host())
            .maybe("pid", agent.map(|process| process.pid))
            .maybe("started", agent.and_then(|process| process.started))
            .maybe("boot_id", agent.and_then(|it| it.boot_id.as_ref()))
            .maybe("branch", repository.and_then(Repository::branch))
            .maybe("repository", repository.and_then(Repository::web_address))
            .maybe("pane", var("TMUX_PANE"))
            .maybe("pane_delivery", allows_pane_delivery(env).then_some(true))
            .with("headless", self.headless)
            .maybe("watched", watched.then_some(true))
            .with("rewake", args.rewake && !self.headless)
            .maybe("watches", args.rewake.then_some(true))
    }
}

/// Whether the session allows the hub to paste into its tmux pane.
pub(crate) fn allows_pane_delivery(env: &Env) -> bool {
    env.var(PANE_DELIVERY).is_some_and(|it| it == "1")
}

/// The repository that gives a session its project. That is the one in which the agent was started, if the agent tells,
/// so that the project stays the same when the session changes its directory.
pub(crate) fn project_repository(env: &Env, cwd: Option<&str>) -> Option<Repository> {
    match env.path("CLAUDE_PROJECT_DIR") {
        Some(dir) => Repository::discover(&dir),
        None => Repository::discover(&directory(env, cwd)),
    }
}

/// The session's working directory: from the payload, or else this process's.
pub(super) fn directory(env: &Env, cwd: Option<&str>) -> PathBuf {
    match cwd.map(FilePath::new).filter(|cwd| cwd.is_absolute()) {
        Some(cwd) => cwd.to_owned(),
        None => env.cwd.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(vars: &[(&str, &str)], rewake: bool) -> String {
        let env = Env::of(FilePath::new("/"), vars);
        let payload = Payload::parse(b"{\"cwd\":\"/\"}", None).unwrap();
        let args = HookArgs {
            agent: Agent::Claude,
            json: None,
            event: None,
            rewake,
            plugin: false,
        };
        let surroundings = Surroundings::of(&env, Agent::Claude, &payload);
        surroundings.path(&env, &args, false).query().to_owned()
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
