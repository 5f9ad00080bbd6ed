use super::*;
use std::fs;
use std::process::Command;

struct Place(tempfile::TempDir);

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A place with the repository `main`, which has a commit.
    fn with_repository() -> Self {
        let place = Self::new();
        place.git("", &["init", "-q", "-b", "trunk", "main"]);
        place.git("main", &["commit", "-q", "--allow-empty", "-m", "one"]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(name)
    }

    fn git(&self, dir: &str, args: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(args)
            .current_dir(self.path(dir))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(done.status.success(), "git {args:?}: {done:?}");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn about(&self, dir: &str) -> Answers {
        Answers::about(&self.path(dir), soon()).unwrap()
    }

    fn project(&self, dir: &str) -> String {
        self.about(dir).project().unwrap().0.to_string()
    }

    fn branch(&self, dir: &str) -> Option<String> {
        self.about(dir).repository.unwrap().branch
    }

    fn named(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn tracking(&self, top: &str, name: &str) -> Result<Tracking, Silence> {
        let file = format!(".hub/status/{name}");
        tracking(&self.path(top), &file, soon())
    }
}

#[test]
fn every_worktree_shares_the_main_worktrees_path() {
    let place = Place::with_repository();
    place.git("main", &["worktree", "add", "-q", "../side"]);
    fs::create_dir_all(place.path("side/deep/down")).unwrap();
    for dir in ["main", "side", "side/deep/down", "main/.git"] {
        assert_eq!(place.project(dir), place.named("main"), "{dir}");
    }
    place.git("main", &["config", "extensions.worktreeConfig", "true"]);
    assert_eq!(place.project("side"), place.named("main"));
    let name = |dir: &str| place.about(dir).directory_anyway().worktree;
    assert_eq!(name("side").as_deref(), Some("side"));
    assert_eq!(name("main"), None);
}

#[test]
fn a_directory_behind_a_link_belongs_to_the_repository_that_it_is_in() {
    let place = Place::with_repository();
    fs::create_dir(place.path("main/src")).unwrap();
    std::os::unix::fs::symlink(place.path("main/src"), place.path("link")).unwrap();
    assert_eq!(place.project("link"), place.named("main"));
    std::os::unix::fs::symlink(place.path("main"), place.path("all")).unwrap();
    assert_eq!(place.project("all/src"), place.named("main"));
}

#[test]
fn the_branch_is_the_one_that_git_tells_also_before_the_first_commit() {
    let place = Place::with_repository();
    assert_eq!(place.branch("main").as_deref(), Some("trunk"));
    place.git(
        "main",
        &["worktree", "add", "-q", "-b", "feature/x", "../side"],
    );
    assert_eq!(place.branch("side").as_deref(), Some("feature/x"));
    place.git("side", &["checkout", "-q", "--detach"]);
    assert_eq!(place.branch("side"), None);
    place.git("main", &["checkout", "-q", "--orphan", "new"]);
    assert_eq!(place.branch("main").as_deref(), Some("new"));
}

#[test]
fn a_repository_with_reftable_has_a_branch_and_shares_its_project() {
    let place = Place::new();
    let init = ["init", "-q", "--ref-format=reftable", "-b", "mine", "main"];
    let can = Command::new("git")
        .args(init)
        .current_dir(place.path(""))
        .output();
    if !can.unwrap().status.success() {
        return; // git before 2.45
    }
    assert_eq!(place.branch("main").as_deref(), Some("mine"));
    place.git("main", &["commit", "-q", "--allow-empty", "-m", "one"]);
    place.git("main", &["worktree", "add", "-q", "../side"]);
    assert_eq!(place.branch("side").as_deref(), Some("side"));
    assert_eq!(place.project("side"), place.named("main"));
}

#[test]
fn a_bare_repository_is_identified_by_its_common_directory() {
    let place = Place::with_repository();
    place.git("", &["clone", "-q", "--bare", "main", "bare"]);
    place.git("bare", &["worktree", "add", "-q", "../side"]);
    for dir in ["bare", "bare/refs", "side"] {
        let home = place.about(dir).home().cloned();
        assert_eq!(home, Some(Home::CommonDir(place.path("bare"))), "{dir}");
    }
}

#[test]
fn a_submodule_is_its_own_repository() {
    let place = Place::with_repository();
    place.git("", &["init", "-q", "outer"]);
    let allowed = ["-c", "protocol.file.allow=always"];
    let add = ["submodule", "add", "-q", "../main", "sub"];
    place.git("outer", &[allowed.as_slice(), &add].concat());
    place.git("outer/sub", &["worktree", "add", "-q", "../../side"]);
    for dir in ["outer/sub", "outer/.git/modules/sub", "side"] {
        assert_eq!(place.project(dir), place.named("outer/sub"), "{dir}");
    }
}

#[test]
fn a_directory_outside_git_has_no_repository() {
    let place = Place::new();
    let found = place.about("");
    assert_eq!(found.repository, None);
    assert_eq!(found.directory(), Ok(Directory::default()));
}

#[test]
fn hub_project_is_what_git_reads() {
    for (config, project) in [
        ("[hub]\n\tproject = shop\n", "shop"),
        ("[hub] project = shop\n", "shop"),
        ("[hub]\n\tproject = shop # of mine\n", "shop"),
        ("[hub]\n\tproject = shop ; of mine\n", "shop"),
        ("# [hub]\n; project = no\n[hub]\nproject = shop\n", "shop"),
        (
            "[hub]\n\tproject = \"the # \\\"shop\\\"\"\n",
            "the # \"shop\"",
        ),
        ("[hub]\n\tproject = a\" b \"c\n", "a b c"),
        ("[hub]\n\tproject = sh\\\nop\n", "shop"),
        ("[Hub]\r\n  PROJECT = shop\r\n", "shop"),
        ("[hub]\nproject = first\n[hub]\nproject = shop\n", "shop"),
        (
            "[hub \"x\"]\nproject = other\n[hub]\nproject = shop\n",
            "shop",
        ),
        ("[include]\n\tpath = more\n", "included"),
        (
            "[includeIf \"onbranch:trunk\"]\n\tpath = more\n",
            "included",
        ),
    ] {
        let place = Place::with_repository();
        place.write("main/.git/more", "[hub]\n\tproject = included\n");
        place.write("main/.git/config", config);
        assert_eq!(place.project("main"), project, "{config}");
    }
    let place = Place::with_repository();
    place.write(
        "main/.git/config",
        "[hub]\nproject = first\n[hub]\nproject =\n",
    );
    assert_eq!(place.project("main"), place.named("main"));
    place.write("main/.git/config", "[hub]\nproject = \"a\\tb\"\n");
    let found = place.about("main");
    assert!(found.directory().is_err());
    assert_eq!(
        found.directory_anyway().project.as_str(),
        place.named("main")
    );
}

#[test]
fn the_web_address_is_that_of_the_first_remote_with_a_page() {
    let place = Place::with_repository();
    let page = || place.about("main").directory_anyway().repository;
    assert_eq!(page(), None);
    place.git("main", &["remote", "add", "local", "/srv/api.git"]);
    let remote = "git@example.org:shop/api.git";
    place.git("main", &["remote", "add", "origin", remote]);
    assert_eq!(page().as_deref(), Some("https://example.org/shop/api"));
}

#[test]
fn a_path_that_is_no_name_makes_a_project_of_its_own() {
    let of = |bytes: &[u8]| {
        let path = Path::new(std::ffi::OsStr::from_bytes(bytes));
        project_at(path).unwrap().to_string()
    };
    assert_eq!(of(b"/a b/100%/\xc3\xa9"), "/a b/100%/\u{e9}");
    assert_eq!(of(b"/new\nline"), "//new%0Aline");
    assert_eq!(of(b"/new%0Aline"), "/new%0Aline");
    assert_eq!(of(b"/100%/latin\xe9"), "//100%25/latin%E9");
    assert_eq!(of("/a\u{202e}b".as_bytes()), "//a%E2%80%AEb");
    let place = Place::new();
    for odd in ["new\nline", "new\n--", "\n"] {
        place.git("", &["init", "-q", odd]);
        let below = format!("{odd}/a\n\nb/c");
        fs::create_dir_all(place.path(&below)).unwrap();
        let expected = project_at(&place.path(odd)).unwrap();
        assert!(expected.as_str().starts_with("//"));
        for dir in [odd, &below] {
            assert_eq!(place.project(dir), expected.as_str());
        }
    }
}

#[test]
fn a_worktree_whose_repository_forgot_it_is_refused_in_gits_words() {
    let place = Place::with_repository();
    place.git("main", &["worktree", "add", "-q", "../side"]);
    fs::remove_dir_all(place.path("main/.git/worktrees/side")).unwrap();
    let refused = Answers::about(&place.path("side"), soon()).unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("git: not a git repository: /"),
        "{refused}"
    );
}

#[test]
fn a_configuration_that_is_a_pipe_delays_nobody_for_long() {
    let place = Place::with_repository();
    fs::remove_file(place.path("main/.git/config")).unwrap();
    let made = Command::new("mkfifo")
        .arg(place.path("main/.git/config"))
        .status();
    assert!(made.unwrap().success());
    let until = Instant::now() + Duration::from_millis(300);
    assert_eq!(
        Answers::about(&place.path("main"), until),
        Err(Silence::Slow)
    );
    assert!(until.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_question_runs_no_program_that_a_repository_names() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_repository();
    let ran = place.path("ran");
    let program = place.named("program");
    place.write(
        "program",
        &format!("#!/bin/sh\necho \"$0 $*\" >>{}\n", ran.display()),
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for hook in ["post-index-change", "reference-transaction"] {
        let link = place.path("main/.git/hooks").join(hook);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&program, link).unwrap();
    }
    place.write("main/.hub/status/w1", "x");
    place.git("main", &["-c", "core.hooksPath=/dev/null", "add", "."]);
    for name in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "core.gitProxy",
        "credential.helper",
        "gpg.program",
        "diff.external",
        "pager.config",
        "alias.rev-parse",
        "alias.config",
        "remote.origin.uploadpack",
    ] {
        let value = if name.starts_with("alias") {
            format!("!{program}")
        } else {
            program.clone()
        };
        place.git(
            "main",
            &["-c", "core.fsmonitor=false", "config", name, &value],
        );
    }
    // Objects that are not there would be fetched.
    for (name, value) in [
        ("remote.origin.url", "ssh://localhost/x"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
    ] {
        place.git(
            "main",
            &["-c", "core.fsmonitor=false", "config", name, value],
        );
    }
    fs::remove_dir_all(place.path("main/.git/objects")).unwrap();
    fs::create_dir(place.path("main/.git/objects")).unwrap();
    assert_eq!(place.project("main"), place.named("main"));
    assert_eq!(place.tracking("main", "w1"), Ok(Tracking::Tracked));
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap());
}

#[test]
fn the_configuration_of_another_users_repository_is_not_believed() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::with_repository();
    place.git("main", &["config", "hub.project", "theirs"]);
    place.git("main", &["worktree", "add", "-q", "../side"]);
    assert_eq!(place.project("main"), "theirs");
    for part in ["main", "main/.git", "side", "side/.git"] {
        std::os::unix::fs::chown(place.path(part), Some(65_534), None).unwrap();
    }
    for dir in ["main", "side", "main/.git"] {
        assert_eq!(place.project(dir), place.named("main"), "{dir}");
    }
}

#[test]
fn only_files_in_an_index_are_tracked_in_any_version() {
    for (version, format) in [("2", "sha1"), ("3", "sha1"), ("4", "sha1"), ("4", "sha256")] {
        let place = Place::new();
        place.git("", &["init", "-q", &format!("--object-format={format}")]);
        assert_eq!(place.tracking("", "w1"), Ok(Tracking::Untracked));
        for file in "+a .git-blame .hub/status/a .hub/status/w1 src/lib.rs".split(' ') {
            place.write(file, "completed x\n");
        }
        place.git("", &["add", "."]);
        if version == "3" {
            place.write(".hub/later", "x");
            // Only an extended flag makes git write version 3.
            place.git("", &["add", "-N", ".hub/later"]);
        }
        place.git("", &["update-index", "--index-version", version]);
        let found = |name| place.tracking("", name).unwrap();
        assert_eq!(found("w1"), Tracking::Tracked, "{version} {format}");
        assert_eq!(found("W1"), Tracking::Tracked, "{version} {format}");
        assert_eq!(found("w"), Tracking::Untracked, "{version} {format}");
        assert_eq!(found("w2"), Tracking::Untracked, "{version} {format}");
    }
}

#[test]
fn a_linked_worktree_has_its_own_index_and_a_split_index_is_read_whole() {
    let place = Place::with_repository();
    place.write("main/.hub/status/w1", "x");
    place.git("main", &["add", "."]);
    place.git("main", &["commit", "-q", "-m", "two"]);
    place.git("main", &["worktree", "add", "-q", "../side"]);
    assert_eq!(place.tracking("side", "w1"), Ok(Tracking::Tracked));
    place.git("side", &["update-index", "--split-index"]);
    place.write("side/.hub/status/w2", "x");
    place.git("side", &["add", "."]);
    for name in ["w1", "w2"] {
        assert_eq!(
            place.tracking("side", name),
            Ok(Tracking::Tracked),
            "{name}"
        );
    }
    place.git("main", &["rm", "-q", "--cached", ".hub/status/w1"]);
    assert_eq!(place.tracking("main", "w1"), Ok(Tracking::Untracked));
}

#[test]
fn a_directory_above_that_the_index_lists_as_a_repository_makes_no_file_trusted() {
    let place = Place::with_repository();
    let entry = format!("160000,{},.hub", "1".repeat(40));
    place.git("main", &["update-index", "--add", "--cacheinfo", &entry]);
    assert_eq!(place.tracking("main", "w1"), Ok(Tracking::Tracked));
}

#[test]
fn a_file_is_not_judged_while_git_holds_the_index_lock() {
    let place = Place::with_repository();
    place.write("main/.git/index.lock", "");
    assert_eq!(place.tracking("main", "w1"), Ok(Tracking::Busy));
}

#[test]
fn a_nested_repository_and_a_broken_index_make_no_file_trusted() {
    let place = Place::with_repository();
    place.write("main/.git/index", "DIRC\0\0\0\x02\0\0\0\x01");
    assert!(place.tracking("main", "w1").is_err());
    fs::create_dir_all(place.path("main/.hub/.git")).unwrap();
    assert_eq!(place.tracking("main", "w1"), Ok(Tracking::Tracked));
}
