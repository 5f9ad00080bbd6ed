//! The sender of a command that runs outside any agent.

use std::path::Path;
use std::time::Instant;

use hub_protocol::InboxName;
use hub_protocol::git::{self, Repository};
use hub_protocol::regular_file;

use crate::system::env::{Env, Sourced};
use crate::system::process;

const PERSON: &str = "login name, outside any agent";
const NO_RULE: &str = "no rule names a sender";

/// The sources of a sender that is not a session.
pub(super) const SOURCES: [&str; 2] = [PERSON, NO_RULE];

/// The person who owns this shell, as `USER@HOST`. A session's short name has no `@`, so it cannot be taken for a
/// session.
pub(super) fn person(env: &Env) -> Sourced<InboxName> {
    login(env).map_or_else(unknown, |name| Sourced::new(name, PERSON))
}

/// The sender `unknown`.
pub(super) fn unknown() -> Sourced<InboxName> {
    // `unknown` is a constant of the protocol that is a valid name.
    let name = InboxName::UNKNOWN.parse().expect("'unknown' is a name");
    Sourced::new(name, NO_RULE)
}

/// The agent of the working directory, if the directory was made for one.
pub(crate) fn agent(env: &Env) -> Option<Sourced<InboxName>> {
    Some(Sourced::new(agent_of(env)?, ".ittybitty/agents"))
}

/// The agent `ID` of the worktree `.ittybitty/agents/ID/repo`, or the `id` in the `meta.json` beside the worktree. A
/// clone cannot contain such a directory, because git stores no repository inside another.
fn agent_of(env: &Env) -> Option<InboxName> {
    let dir = env.cwd.ancestors().find(|dir| is_agents(dir).is_some())?;
    // Git is asked last, because nearly no directory looks like this.
    let worktree = Repository::of(&env.cwd, Instant::now() + git::PATIENCE)?.worktree?;
    if worktree != dir.join("repo").canonicalize().ok()? {
        return None;
    }
    let meta = regular_file::read(&dir.join("meta.json")).ok()?;
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap_or_default();
    let id = match meta["id"].as_str().unwrap_or_default() {
        "" => dir.file_name()?.to_str()?,
        id => id,
    };
    id.parse().ok().filter(|id: &InboxName| !id.is_reserved())
}

/// `Some` if `dir` is called `.ittybitty/agents/ID`.
fn is_agents(dir: &Path) -> Option<()> {
    let agents = dir.parent()?;
    let is_one = agents.file_name()? == "agents" && agents.parent()?.file_name()? == ".ittybitty";
    is_one.then_some(())
}

fn login(env: &Env) -> Option<InboxName> {
    let variable = |name: &str| env.var(name)?.to_str().map(str::to_owned);
    let user = variable("LOGNAME")
        .or_else(|| variable("USER"))
        .or_else(listed)?;
    let host = process::host();
    let host = host.split('.').next().unwrap_or_default();
    let plain = |text: &str| -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        let chars = text.chars().map(|c| if allowed(c) { c } else { '-' });
        chars.collect()
    };
    let mut name = format!("{}@{}", plain(&user), plain(host));
    name.truncate(64);
    name.parse().ok()
}

/// The name of this process's user in `/etc/passwd`.
fn listed() -> Option<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let of = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    };
    users.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_named_by_the_login_and_the_machine() {
        let named = |vars: &[(&str, &str)]| person(&Env::of(Path::new("/"), vars)).value;
        let of = |user: &str| named(&[("LOGNAME", user), ("USER", "other")]).to_string();
        assert!(of("ada").starts_with("ada@"));
        assert!(of("a d\u{e4}").starts_with("a-d-@"));
        assert_eq!(of("-x"), "unknown", "no name begins so");
        assert_eq!(named(&[]).as_str().contains('@'), listed().is_some());
    }

    #[test]
    fn an_agents_directory_names_its_session_unless_the_name_is_reserved() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join(".ittybitty/agents/agent-1");
        for part in ["objects", "refs"] {
            std::fs::create_dir_all(dir.join("repo/.git").join(part)).unwrap();
        }
        std::fs::create_dir(dir.join("repo/src")).unwrap();
        std::fs::write(dir.join("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let found = || agent_of(&Env::of(&dir.join("repo/src"), &[]));
        assert_eq!(found(), None, "nothing says that it is an agent's");
        for (meta, name) in [
            ("{\"id\":\"agent-9\"}", Some("agent-9")),
            ("{}", Some("agent-1")),
            ("{\"id\":\"person\"}", None),
            ("{\"id\":\"a/b\"}", None),
        ] {
            std::fs::write(dir.join("meta.json"), meta).unwrap();
            assert_eq!(found().as_ref().map(InboxName::as_str), name, "{meta}");
        }
    }
}
