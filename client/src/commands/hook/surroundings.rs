//! What the hub cannot see of a hook: where it runs, and of whom.

use std::path::{Path as FilePath, PathBuf};

use hub_protocol::{InboxName, Process, ProjectName};

use super::Args;
use super::payload::Payload;
use crate::agent::Agent;
use crate::env::Env;
use crate::git::Repository;
use crate::hub::Path;
use crate::process;
use crate::project::project_at_once;
use crate::sender::given_session;

/// Where an agent's session is.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// The project, by the rule that every command has.
    pub(super) project: ProjectName,
    /// The repository of the working directory.
    repository: Option<Repository>,
    process: Option<Process>,
}

impl Surroundings {
    /// Those of the hook that says `payload`.
    pub(super) fn of(env: &Env, agent: Agent, payload: &Payload) -> Self {
        let here = directory(env, payload.text("cwd"));
        let repository = Repository::discover(&here);
        let project = match env.path("CLAUDE_PROJECT_DIR").filter(|dir| *dir != here) {
            Some(dir) => project_at_once(env, Repository::discover(&dir).as_ref()),
            None => project_at_once(env, repository.as_ref()),
        };
        Self {
            project: project.value,
            repository,
            process: process::agent(env, agent.pid_variable()),
        }
    }

    /// A short name to suggest: the linked worktree's, or the branch's.
    fn name(&self) -> Option<InboxName> {
        let repository = self.repository.as_ref()?;
        let name = match repository.linked_worktree() {
            Some(name) => name.to_owned(),
            None => repository.branch()?.replace('/', "-"),
        };
        name.parse().ok()
    }

    /// Whether this is the main worktree.
    fn is_main(&self) -> Option<bool> {
        let repository = self.repository.as_ref()?;
        repository.worktree.as_ref()?;
        Some(repository.linked_worktree().is_none())
    }

    /// The path of the request that tells all of this.
    pub(super) fn path(&self, env: &Env, args: &Args) -> Path {
        let var = |name: &str| env.var(name).and_then(|value| value.to_str());
        let name_of = |name: &str| var(name)?.parse::<InboxName>().ok();
        let given = given_session(env).ok().flatten();
        let agent = self.process.as_ref();
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
            .maybe("pane", var("TMUX_PANE"))
            .maybe("entrypoint", var("CLAUDE_CODE_ENTRYPOINT"))
            .with("rewake", args.rewake && !is_headless(env))
    }
}

/// Whether this is a single shot of Claude Code, which nothing wakes: a rewake hook would block it.
pub(crate) fn is_headless(env: &Env) -> bool {
    let is = |name: &str, value: &str| env.var(name).is_some_and(|found| found == value);
    is("CLAUDE_CODE_ENTRYPOINT", "sdk-cli") && !is("HUB_REWAKE_HEADLESS", "1")
}

/// The repository that gives a session its project: where the agent was started, if it says, so that the project
/// stays the same wherever the session goes.
pub(crate) fn project_repository(env: &Env, cwd: Option<&str>) -> Option<Repository> {
    match env.path("CLAUDE_PROJECT_DIR") {
        Some(dir) => Repository::discover(&dir),
        None => Repository::discover(&directory(env, cwd)),
    }
}

/// The session's working directory: as the payload says, or else this process's.
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
        let args = Args {
            agent: Agent::Claude,
            json: None,
            event: None,
            rewake,
        };
        let surroundings = Surroundings::of(&env, Agent::Claude, &payload);
        surroundings.path(&env, &args).query().to_owned()
    }

    #[test]
    fn what_the_environment_says_is_told_and_what_is_no_name_is_not() {
        let query = query(
            &[
                ("HUB_SESSION", "me"),
                ("HUB_PARENT", "a/b"),
                ("HUB_ROLE", "primary"),
                ("HUB_PROJECT", "/p q"),
                ("TMUX_PANE", "%7"),
            ],
            true,
        );
        for part in [
            "project=%2Fp%20q&",
            "&session=me&",
            "&role=primary&",
            "&pane=%257&",
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
    fn a_single_shot_is_not_woken() {
        let headless = [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")];
        assert!(query(&headless, true).ends_with("entrypoint=sdk-cli&rewake=false"));
        let wanted = [headless[0], ("HUB_REWAKE_HEADLESS", "1")];
        assert!(query(&wanted, true).ends_with("rewake=true"));
        assert!(query(&[], false).ends_with("rewake=false"));
    }
}
