//! The documentation: its links, its table of contents, and its commands, run as a reader would type them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Place;

/// Why a block cannot run in this test. Its info string is `sh no-run:REASON`.
const REASONS: &[(&str, &str)] = &[
    (
        "agent",
        "needs the real program of an agent, with a session",
    ),
    ("build", "compiles for minutes"),
    ("desktop", "needs a terminal, a browser or a desktop"),
    ("endless", "runs until it is interrupted"),
    (
        "machine",
        "needs another machine, or the machine's own systemd",
    ),
    ("names", "has a name or a key that only the reader knows"),
    ("network", "downloads, or sends to a service"),
    ("package", "installs for all users: tests/package runs it"),
];

/// A fenced block of a page.
pub(crate) struct Block {
    language: String,
    reason: Option<String>,
    pub(crate) text: String,
}

/// Returns the directory of the sources.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns all files below `dir`, without build results.
fn files(dir: &Path) -> Vec<PathBuf> {
    if dir.is_file() {
        return vec![dir.to_owned()];
    }
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let entries = entries.map(|entry| entry.unwrap().path());
    let sources = entries.filter(|it| !it.ends_with("target") && !it.ends_with("node_modules"));
    sources.flat_map(|it| files(&it)).collect()
}

/// Whether a path is that of a page.
fn is_page(path: impl AsRef<Path>) -> bool {
    path.as_ref().extension().is_some_and(|it| it == "md")
}

/// Returns the documentation's pages, relative to the sources.
fn pages() -> Vec<PathBuf> {
    let top = top();
    let mut pages = files(&top.join("docs"));
    pages.retain(|it| is_page(it));
    pages.extend(["README.md", "ARCHITECTURE.md"].map(|it| top.join(it)));
    let pages = pages.into_iter();
    pages
        .map(|it| it.strip_prefix(&top).unwrap().to_owned())
        .collect()
}

/// Splits a page into its prose and its fenced blocks.
fn split(page: &str) -> (String, Vec<Block>) {
    let (mut prose, mut blocks, mut open) = (String::new(), Vec::new(), None::<Block>);
    for line in page.lines() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                let (language, mark) = info.split_once(' ').unwrap_or((info, ""));
                let reason = mark.strip_prefix("no-run:");
                let known = |reason| REASONS.iter().any(|(it, _)| *it == reason);
                let valid = reason.map_or(mark.is_empty(), known);
                assert!(valid, "```{info}: expected no-run: and one of {REASONS:?}");
                open = Some(Block {
                    language: language.to_owned(),
                    reason: reason.map(str::to_owned),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => prose.extend([line, "\n"]),
        }
    }
    assert!(open.is_none(), "a block without an end");
    (prose, blocks)
}

/// Returns the blocks of a page.
pub(crate) fn blocks(page: impl AsRef<Path>) -> Vec<Block> {
    split(&read(&top().join(page))).1
}

/// Returns the targets of a page's links.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    let targets = prose.split("](").skip(1);
    targets.map(|it| it.split(')').next().expect("a first part"))
}

/// Returns the anchors that GitHub and mdBook make of a page's headings.
fn anchors(prose: &str) -> BTreeSet<String> {
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let anchor = |line: &str| -> String {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let heading = heading.chars().filter(kept);
        heading.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Returns the maximal parts of a text that begin with `start` and have only the characters of paths.
fn paths<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    let in_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    text.match_indices(start).filter_map(move |(at, _)| {
        let path = &text[at..];
        let path = path.split(|c| !in_path(c)).next().expect("a first part");
        let starts = !text[..at].ends_with(in_path);
        starts.then(|| path.trim_end_matches('.'))
    })
}

#[test]
fn every_link_of_the_documentation_has_a_target() {
    let mut broken = Vec::new();
    for page in pages() {
        let (prose, _) = split(&read(&top().join(&page)));
        for link in links(&prose).filter(|it| !it.starts_with("http")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = top().join(&page);
            let target = match file {
                "" => target,
                file => target.parent().unwrap().join(file),
            };
            let has_anchor = || anchors(&split(&read(&target)).0).contains(anchor);
            if !target.exists() || !anchor.is_empty() && !has_anchor() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn the_summary_lists_every_page_once() {
    let (prose, _) = split(&read(&top().join("docs/SUMMARY.md")));
    let mut listed: Vec<_> = links(&prose).map(|it| Path::new("docs").join(it)).collect();
    listed.sort();
    let mut expected = pages();
    expected.retain(|it| it.starts_with("docs") && !it.ends_with("SUMMARY.md"));
    expected.push("docs/../README.md".into());
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn the_documents_for_newcomers_stay_small() {
    for (page, most) in [("README.md", 200), ("ARCHITECTURE.md", 120)] {
        let lines = read(&top().join(page)).lines().count();
        assert!(lines <= most, "{page} has {lines} lines, at most {most}");
    }
}

#[test]
fn the_sources_name_pages_that_exist_and_the_pages_name_files_that_exist() {
    let mut missing = BTreeSet::new();
    let mut check = |from: &Path, path: &str| {
        if !top().join(path).exists() {
            missing.insert(format!("{}: {path}", from.display()));
        }
    };
    let places = [
        "client",
        "packaging",
        "protocol",
        "server",
        "tests",
        "install.sh",
        "package",
    ];
    for file in places.iter().flat_map(|it| files(&top().join(it))) {
        // Some files of the tests are no text.
        let text = fs::read_to_string(&file).unwrap_or_default();
        for path in paths(&text, "docs/").filter(|it| is_page(it)) {
            check(&file, path);
        }
    }
    for page in pages() {
        let (prose, _) = split(&read(&top().join(&page)));
        for code in prose.split('`').skip(1).step_by(2) {
            for place in [
                "client/",
                "packaging/",
                "protocol/",
                "server/",
                "tests/",
                "web/",
            ] {
                paths(code, place).for_each(|path| check(&page, path));
            }
        }
    }
    assert!(missing.is_empty(), "no such files: {missing:#?}");
}

#[test]
fn the_commands_of_the_documentation_run() {
    for page in pages() {
        let mut script = String::new();
        let runs = |it: &&Block| it.language == "sh" && it.reason.is_none();
        for block in blocks(&page).iter().filter(runs) {
            let text = block.text.replace("4782", "$PORT");
            // The parts that a block leaves in the background belong to it.
            script.extend(["(\n", &text, "wait\n)\n"]);
        }
        if !script.is_empty() {
            run(&page, &script);
        }
    }
}

/// Runs a page's commands in a fresh home, with a hub that ends with them.
fn run(page: &Path, script: &str) {
    let place = Place::new();
    let script = format!(
        "set -e; trap 'hubctl down' EXIT; hubctl up
        PORT=$(hubctl status --json | sed -n 's/.*\"url\":\"[^\"]*:\\([0-9]*\\)\".*/\\1/p'); set -x
        {script}"
    );
    let call = place.sh(&script).unset("HUB_STATE_DIR");
    let done = call.env("HUB_LISTEN", "127.0.0.1:0").run();
    assert_eq!(
        done.code,
        Some(0),
        "{}:\n{}\n{}",
        page.display(),
        done.stdout,
        done.stderr
    );
}

#[test]
fn the_configurations_of_the_documentation_are_accepted() {
    for page in pages() {
        let complete = |it: &&Block| it.language == "toml" && it.reason.is_none();
        for block in blocks(&page).iter().filter(complete) {
            let place = Place::new();
            place.write("work/config.toml", &block.text);
            place.chmod("work/config.toml", 0o600);
            let done = place.sh("hubd --config config.toml --print-config").run();
            assert_eq!(done.code, Some(0), "{}: {done:?}", page.display());
        }
    }
}
