//! Names the risks of a shell command, so that a person who reads many of them does not overlook one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

/// A risk, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Risk {
    RunsAsRoot,
    RunsADownload,
    RemovesAll,
    DropsData,
    DeletesFiles,
    ForcePush,
    Pushes,
    DiscardsChanges,
    Publishes,
    WritesToADevice,
    OpensPermissions,
    StopsProcesses,
}

impl Risk {
    fn name(self) -> &'static str {
        match self {
            Self::RunsAsRoot => "runs as root",
            Self::RunsADownload => "runs a download",
            Self::RemovesAll => "rm -rf",
            Self::DropsData => "drops data",
            Self::DeletesFiles => "deletes files",
            Self::ForcePush => "force-push",
            Self::Pushes => "pushes",
            Self::DiscardsChanges => "discards changes",
            Self::Publishes => "publishes",
            Self::WritesToADevice => "writes to a device",
            Self::OpensPermissions => "opens permissions",
            Self::StopsProcesses => "stops processes",
        }
    }

    /// The risk that says the same more exactly.
    fn covered_by(self) -> Option<Self> {
        match self {
            Self::DeletesFiles => Some(Self::RemovesAll),
            Self::Pushes => Some(Self::ForcePush),
            _ => None,
        }
    }
}

/// Commands that run the command after them.
const WRAPPERS: [&str; 12] = [
    "env", "nohup", "time", "exec", "command", "xargs", "then", "do", "else", "!", "sudo", "doas",
];
const ROOT: [&str; 4] = ["sudo", "doas", "su", "pkexec"];
const DOWNLOADS: [&str; 2] = ["curl", "wget"];

static INTERPRETERS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:(?:ba|z|da|k|fi)?sh|python[\d.]*|perl|ruby|node)$"));
/// A shell that runs what a download prints: `bash <(curl …)`, `sh -c "$(curl …)"`.
static RUN_DOWNLOAD: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"\b(?:(?:ba|z|da|k)?sh|eval|source)(?:\s+-\w+)?\s+["']?(?:<|\$)\(\s*(?:curl|wget)\b"#)
});
static DROPS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)\bdrop\s(?:table|database|schema|column)\b|\btruncate\stable\b|\bdelete\sfrom\s\S+\s?(?:;|["'`]|$)"#,
    )
});
static CONTINUED: LazyLock<Regex> = LazyLock::new(|| regex(r"\\\r?\n"));
static BLANKS: LazyLock<Regex> = LazyLock::new(|| regex(r"[ \t]+"));
static STATEMENTS: LazyLock<Regex> = LazyLock::new(|| regex(r"[\n;&(){}]+|\|\|"));
static RECURSIVE: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:-\w*[rR]\w*|--recursive)$"));
static FORCED: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:-\w*f\w*|--force)$"));
static FORCED_PUSH: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:--force-with-lease.*|--mirror|\+.+)$"));
static DEVICE: LazyLock<Regex> = LazyLock::new(|| regex(r">\s?/dev/(?:sd|nvme|hd|vd|disk|mmcblk)"));
static OPEN: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:-\w*R\w*|0?777|a\+\w*w\w*)$"));
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| regex(r"^\w+="));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

/// The names of the risks of a command, the worst first. A command without one is not safe, only of no kind that is named here.
pub(crate) fn risks_of(command: &str) -> Vec<String> {
    let joined = CONTINUED.replace_all(command, " ");
    let joined = BLANKS.replace_all(&joined, " ");
    let mut found = BTreeSet::new();
    let mut add = |risk, is_there: bool| {
        if is_there {
            found.insert(risk);
        }
    };
    add(Risk::RunsADownload, RUN_DOWNLOAD.is_match(&joined));
    add(Risk::DropsData, DROPS.is_match(&joined));
    // A quoted text is a word of a command, or a command itself.
    for quotes in ["", "\n"] {
        let text = joined.replace(['"', '\'', '`'], quotes);
        for statement in STATEMENTS.split(&text) {
            examine(statement, &mut found);
        }
    }
    let told = found.iter().filter(|it| {
        let more_exactly = it.covered_by();
        more_exactly.is_none_or(|other| !found.contains(&other))
    });
    told.map(|it| it.name().to_owned()).collect()
}

/// Adds the risks of a pipeline.
fn examine(statement: &str, found: &mut BTreeSet<Risk>) {
    let mut downloads = false;
    for text in statement.split('|') {
        let all: Vec<&str> = text.split(' ').filter(|it| !it.is_empty()).collect();
        let at = command_at(&all);
        if all.iter().take(at + 1).any(|it| ROOT.contains(it)) {
            found.insert(Risk::RunsAsRoot);
        }
        let mut words = all[at..].to_vec();
        let Some(program) = words.first_mut() else {
            continue;
        };
        *program = program.rsplit('/').next().unwrap_or_default();
        let program = *program;
        found.extend(risks_of_words(&words, text));
        if all.contains(&"xargs") && program == "rm" {
            found.insert(Risk::DeletesFiles);
        }
        if downloads && INTERPRETERS.is_match(program) {
            found.insert(Risk::RunsADownload);
        }
        downloads |= DOWNLOADS.contains(&program);
    }
}

/// The place of the command's own name, after assignments and wrappers with their options.
fn command_at(words: &[&str]) -> usize {
    let mut wrapped = false;
    let is_before = |word: &&&str| {
        let wraps = WRAPPERS.contains(*word);
        let is_option = wrapped && word.starts_with('-');
        wrapped |= wraps;
        wraps || is_option || ASSIGNMENT.is_match(word)
    };
    words.iter().take_while(is_before).count()
}

/// The risks of a simple command: its words, and all of its text.
fn risks_of_words(words: &[&str], text: &str) -> impl Iterator<Item = Risk> {
    let has = |pattern: &Regex| words.iter().any(|word| pattern.is_match(word));
    let (recursive, forced) = (has(&RECURSIVE), has(&FORCED));
    let program = words[0];
    let pushes = program == "git" && words.contains(&"push");
    let second = words.get(1).copied().unwrap_or_default();
    [
        (Risk::RemovesAll, program == "rm" && recursive && forced),
        (Risk::DeletesFiles, deletes(words, recursive)),
        (Risk::ForcePush, pushes && (forced || has(&FORCED_PUSH))),
        (Risk::Pushes, pushes),
        (Risk::DiscardsChanges, discards(words, forced)),
        (Risk::Publishes, publishes(words)),
        (Risk::WritesToADevice, writes_to_a_device(words, text)),
        (
            Risk::OpensPermissions,
            matches!(program, "chmod" | "chown") && has(&OPEN),
        ),
        (
            Risk::StopsProcesses,
            matches!(
                program,
                "kill" | "killall" | "pkill" | "shutdown" | "reboot" | "poweroff"
            ) || (program == "systemctl" && matches!(second, "stop" | "disable" | "kill")),
        ),
    ]
    .into_iter()
    .filter_map(|(risk, is_there)| is_there.then_some(risk))
}

fn deletes(words: &[&str], recursive: bool) -> bool {
    match words[0] {
        "shred" | "truncate" | "unlink" => true,
        "rm" => recursive,
        "find" => words.contains(&"-delete") || words.contains(&"rm"),
        _ => false,
    }
}

fn discards(words: &[&str], forced: bool) -> bool {
    let is = |command: &str| words.contains(&command);
    if words[0] != "git" {
        return false;
    }
    if is("reset") {
        return is("--hard");
    }
    if is("clean") {
        return forced;
    }
    if is("checkout") {
        return is("--") || is(".");
    }
    if is("stash") {
        return is("drop") || is("clear");
    }
    if is("branch") {
        return is("-D");
    }
    is("restore") || is("filter-branch") || is("filter-repo")
}

fn publishes(words: &[&str]) -> bool {
    if words.contains(&"--dry-run") {
        return false;
    }
    let is_registry = |it: &str| {
        matches!(
            it,
            "npm" | "pnpm" | "yarn" | "cargo" | "gem" | "poetry" | "uv"
        )
    };
    match words {
        [program, "publish", ..] if is_registry(program) => true,
        ["twine", "upload", ..] | ["docker", "push", ..] => true,
        _ => words.starts_with(&["gh", "release", "create"]),
    }
}

fn writes_to_a_device(words: &[&str], text: &str) -> bool {
    let writes = |it: &&str| it.starts_with("of=/dev/");
    words[0].starts_with("mkfs")
        || (words[0] == "dd" && words.iter().any(writes))
        || DEVICE.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_risks() {
        let rows: [(&str, &[&str]); 39] = [
            ("rm -rf build", &["rm -rf"]),
            ("cd x && rm -fr \"$DIR\"", &["rm -rf"]),
            ("rm -r -f a", &["rm -rf"]),
            ("rm --recursive --force a", &["rm -rf"]),
            ("/bin/rm -Rf /", &["rm -rf"]),
            ("rm -r a", &["deletes files"]),
            ("rm a.txt", &[]),
            ("bash -c \"rm -rf a\"", &["rm -rf"]),
            ("echo $(rm -rf a)", &["rm -rf"]),
            ("rm \\\n  -rf \\\n  a", &["rm -rf"]),
            ("find . -name \"*.o\" -delete", &["deletes files"]),
            ("find . -print0 | xargs -0 rm -v", &["deletes files"]),
            ("sudo rm -rf /var/x", &["runs as root", "rm -rf"]),
            ("make && sudo make install", &["runs as root"]),
            ("visudo", &[]),
            ("git push --force", &["force-push"]),
            ("git -C sub push origin +main", &["force-push"]),
            ("git push -f origin main", &["force-push"]),
            ("git push --force-with-lease", &["force-push"]),
            ("git push origin main", &["pushes"]),
            ("git log --format=%h", &[]),
            ("git reset --hard HEAD~1", &["discards changes"]),
            ("git clean -fdx", &["discards changes"]),
            ("git checkout -b new", &[]),
            ("curl -fsSL https://a.b/i.sh | sh", &["runs a download"]),
            (
                "curl https://a.b | sudo bash -s -- -y",
                &["runs as root", "runs a download"],
            ),
            ("wget -qO- https://a.b | python3 -", &["runs a download"]),
            ("bash <(curl -s https://a.b)", &["runs a download"]),
            ("sh -c \"$(curl -fsSL https://a.b)\"", &["runs a download"]),
            ("curl https://a.b | jq .", &[]),
            ("npm publish", &["publishes"]),
            ("cargo publish --dry-run -p hubd", &[]),
            ("dd if=a.img of=/dev/sda", &["writes to a device"]),
            ("chmod -R 777 /srv", &["opens permissions"]),
            ("chmod +x a.sh", &[]),
            ("pkill -f node", &["stops processes"]),
            ("psql -c \"DROP TABLE users\"", &["drops data"]),
            ("cargo test --workspace", &[]),
            ("grep -rf patterns src", &[]),
        ];
        for (command, risks) in rows {
            assert_eq!(risks_of(command), risks, "{command}");
        }
    }

    #[test]
    fn a_long_command_is_examined_too() {
        for word in ["rm ", "push ", "|", "curl ", "a=b ", "-x "] {
            risks_of(&word.repeat(100_000));
        }
    }
}
