//! Which project a command is about.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hub_protocol::ProjectName;

use crate::env::{Env, Sourced};
use crate::error::Error;
use crate::git::{Home, Repository, each_setting};

/// The project by the first rule that gives one: given, `HUB_PROJECT`, `git config hub.project`, the main worktree's
/// real path (the shared git directory of a bare repository), `default`.
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

/// The project of a process in `repository`, by the same rules without an error and without starting git: a `hub.project` in
/// a file that the configuration includes is not seen, and what is no project is passed over.
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

/// `hub.project` as the files themselves say; the last word is the repository's own.
fn configured_at_once(env: &Env, repository: Option<&Repository>) -> Option<ProjectName> {
    // git reads the system's first, then XDG, then ~/.gitconfig: the order here turned round.
    let mut files = other_config_files(env);
    files.reverse();
    files.extend(repository.into_iter().flat_map(Repository::config_files));
    let mut found = None;
    for text in files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
    {
        each_setting(&text, |section, name, value| {
            if (section, name) == ("hub", "project") {
                found = value.parse().ok();
            }
        });
    }
    found
}

fn named_by(home: &Home) -> Option<Sourced<ProjectName>> {
    let (path, source) = match home {
        Home::MainWorktree(path) => (path, "main worktree"),
        Home::CommonDir(path) => (path, "common git directory"),
    };
    // A path that is no project name (control characters, not UTF-8) leaves the default, as outside of git.
    Some(Sourced::new(path.to_str()?.parse().ok()?, source))
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

/// Whether `git config hub.project` could give anything: asking git costs more than everything else together.
fn may_be_configured(env: &Env, repository: Option<&Repository>) -> bool {
    if env.var("GIT_CONFIG_COUNT").is_some() || env.var("GIT_CONFIG_PARAMETERS").is_some() {
        return true;
    }
    let own = repository.map(Repository::config_files);
    let others = other_config_files(env);
    own.iter()
        .flatten()
        .chain(&others)
        .any(|file| mentions_hub(file))
}

fn other_config_files(env: &Env) -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(global) = env.path("GIT_CONFIG_GLOBAL") {
        files.push(global);
    } else {
        files.extend(env.home.as_ref().map(|home| home.join(".gitconfig")));
        let xdg = env.path("XDG_CONFIG_HOME");
        let config = xdg.or_else(|| env.home.as_ref().map(|home| home.join(".config")));
        files.extend(config.map(|dir| dir.join("git/config")));
    }
    match env.path("GIT_CONFIG_SYSTEM") {
        Some(system) => files.push(system),
        // Where git was built to look is known to git alone; these are the usual places.
        None => files.extend(
            ["/etc", "/usr/local/etc", "/opt/homebrew/etc"]
                .map(|dir| Path::new(dir).join("gitconfig")),
        ),
    }
    files
}

fn mentions_hub(file: &Path) -> bool {
    let Ok(mut text) = fs::read(file) else {
        return false;
    };
    text.make_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    has(b"[hub") || has(b"[include")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository by hand: git itself is only needed for its configuration.
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
    fn what_is_given_goes_first_then_the_variable() {
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
    fn git_config_goes_before_the_worktree() {
        let dir = repository("[core]\n\tbare = false\n[hub]\n\tproject = configured\n");
        let found = project(&Env::of(dir.path(), &[]), None).unwrap();
        assert_eq!(
            (found.value.as_str(), found.source),
            ("configured", "git config hub.project")
        );
    }

    #[test]
    fn without_starting_git_the_project_is_the_same() {
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
    fn outside_of_git_the_project_is_default() {
        let dir = tempfile::tempdir().unwrap();
        let found = project(&Env::of(dir.path(), &[]), None).unwrap();
        assert_eq!((found.value.as_str(), found.source), ("default", "default"));
    }

    #[test]
    fn a_variable_that_is_no_project_is_named() {
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
