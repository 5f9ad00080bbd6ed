//! The rules that choose the project of a command.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use hub_protocol::ProjectName;
use hub_protocol::git::{self, Home, Repository, configured_project, read};

use crate::error::Error;
use crate::system::env::{Env, Sourced};

/// The project, by the first rule that gives one: `given`, `HUB_PROJECT`, `git config hub.project`, the real path of
/// the main worktree (the shared git directory of a bare repository), `default`.
pub(crate) fn project(
    env: &Env,
    given: Option<&ProjectName>,
) -> Result<Sourced<ProjectName>, Error> {
    if let Some(given) = given {
        return Ok(Sourced::new(given.clone(), "--project"));
    }
    if let Some(found) = env.parsed("HUB_PROJECT")? {
        return Ok(found);
    }
    let repository = Repository::discover(&env.cwd);
    if let Some(configured) = git_config(env, repository.as_ref())? {
        return Ok(Sourced::new(configured, "git config hub.project"));
    }
    Ok(repository
        .and_then(|found| named_by(&found.home()))
        .unwrap_or_else(|| Sourced::new(ProjectName::default(), "default")))
}

/// The project of a process in `repository`, by the same rules but without starting git. A `hub.project` in an included
/// configuration file is not found, and an invalid project is skipped instead of being an error.
pub(crate) fn project_at_once(env: &Env, repository: Option<&Repository>) -> Sourced<ProjectName> {
    if let Ok(Some(found)) = env.parsed("HUB_PROJECT") {
        return found;
    }
    let configured = configured_at_once(env, repository)
        .map(|found| Sourced::new(found, "git config hub.project"));
    configured
        .or_else(|| named_by(&repository?.home()))
        .unwrap_or_else(|| Sourced::new(ProjectName::default(), "default"))
}

/// `hub.project` in the configuration files themselves; the repository's own files win.
fn configured_at_once(env: &Env, repository: Option<&Repository>) -> Option<ProjectName> {
    let own = repository.into_iter().flat_map(Repository::config_files);
    configured_project(other_config_files(env).into_iter().chain(own))
}

fn named_by(home: &Home) -> Option<Sourced<ProjectName>> {
    let source = match home {
        Home::MainWorktree(_) => "main worktree",
        Home::CommonDir(_) => "common git directory",
    };
    Some(Sourced::new(home.project()?, source))
}

fn git_config(env: &Env, repository: Option<&Repository>) -> Result<Option<ProjectName>, Error> {
    if !may_be_configured(env, repository) {
        return Ok(None);
    }
    let asked = Command::new("git")
        .args(["config", "--get", "hub.project"])
        .current_dir(&env.cwd)
        .output();
    let text = match asked {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => return Ok(None),
    };
    match text.trim_end_matches('\n').parse() {
        Ok(project) => Ok(Some(project)),
        Err(error) => Err(Error::Usage(format!("git config hub.project: {error}"))),
    }
}

/// Whether `git config hub.project` could return a value. Starting git costs more than the rest of a command.
fn may_be_configured(env: &Env, repository: Option<&Repository>) -> bool {
    let own = repository.map(Repository::config_files);
    // git would block for ever on a configuration file that is a pipe.
    let is_special = |file: &PathBuf| fs::metadata(file).is_ok_and(|meta| !meta.is_file());
    if own.iter().flatten().any(is_special) {
        return false;
    }
    if env.var("GIT_CONFIG_COUNT").is_some() || env.var("GIT_CONFIG_PARAMETERS").is_some() {
        return true;
    }
    let others = other_config_files(env);
    own.iter()
        .flatten()
        .chain(&others)
        .any(|file| mentions_hub(file))
}

fn other_config_files(env: &Env) -> Vec<PathBuf> {
    git::other_config_files(env.home.as_deref(), |name| env.path(name))
}

fn mentions_hub(file: &std::path::Path) -> bool {
    let Ok(mut text) = read(file) else {
        return false;
    };
    text.make_ascii_lowercase();
    text.contains("[hub") || text.contains("[include")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A repository made by hand, because git itself is only needed to read its configuration.
    fn repository(config: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for part in ["objects", "refs"] {
            fs::create_dir_all(dir.path().join(".git").join(part)).unwrap();
        }
        fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(dir.path().join(".git/config"), config).unwrap();
        dir
    }

    #[test]
    fn a_given_project_takes_precedence_over_the_variable() {
        let dir = repository("");
        let env = Env::of(dir.path(), &[("HUB_PROJECT", "by-variable")]);
        let given = "given".parse().unwrap();
        assert_eq!(project(&env, Some(&given)).unwrap().value, given);
        let found = project(&env, None).unwrap();
        assert_eq!(
            (found.value.as_str(), found.source),
            ("by-variable", "HUB_PROJECT")
        );
    }

    #[test]
    fn git_config_takes_precedence_over_the_worktree() {
        let dir = repository("[core]\n\tbare = false\n[hub]\n\tproject = configured\n");
        let found = project(&Env::of(dir.path(), &[]), None).unwrap();
        assert_eq!(
            (found.value.as_str(), found.source),
            ("configured", "git config hub.project")
        );
    }

    #[test]
    fn the_rules_without_git_give_the_same_project() {
        let configs = [
            "",
            "[core]\n\tbare = false\n[hub]\n\tproject = configured\n",
            "[Hub]\n  Project = \"with space\"\n[hub]\nproject=last\n",
        ];
        for config in configs {
            let dir = repository(config);
            let env = Env::of(dir.path(), &[("GIT_CONFIG_GLOBAL", "/dev/null")]);
            let found = project_at_once(&env, Repository::discover(dir.path()).as_ref());
            assert_eq!(found, project(&env, None).unwrap(), "{config}");
        }
        let bad = Env::of(Path::new("/"), &[("HUB_PROJECT", "a\u{1b}b")]);
        assert_eq!(project_at_once(&bad, None).source, "default");
    }

    #[test]
    fn the_main_worktree_names_the_project() {
        let dir = repository("[core]\n\tbare = false\n");
        let found = project(&Env::of(dir.path(), &[]), None).unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        assert_eq!(
            (found.value.as_str(), found.source),
            (real.to_str().unwrap(), "main worktree")
        );
    }

    #[test]
    fn the_project_outside_git_is_default() {
        let dir = tempfile::tempdir().unwrap();
        let found = project(&Env::of(dir.path(), &[]), None).unwrap();
        assert_eq!((found.value.as_str(), found.source), ("default", "default"));
    }

    #[test]
    fn an_error_names_the_variable_that_is_no_valid_project() {
        let dir = tempfile::tempdir().unwrap();
        let error =
            project(&Env::of(dir.path(), &[("HUB_PROJECT", "a\u{1b}b")]), None).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("HUB_PROJECT: invalid project"),
            "{error}"
        );
    }
}
