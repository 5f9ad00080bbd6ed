//! A writer's system calls, as strace records them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Arguments for strace: one file per thread under `dir`, with times, paths and all bytes.
pub(super) fn arguments(dir: &Path) -> Vec<String> {
    let calls = "trace=openat,write,pwrite64,fdatasync,fsync,ftruncate,rename,unlink";
    let to = dir.join("traces");
    fs::create_dir_all(&to).unwrap();
    let options = format!(
        "-ff -ttt -T -y -xx -s 8000000 -e {calls} -o {}/trace",
        to.display()
    );
    options.split(' ').map(String::from).collect()
}

/// One call that succeeded.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) begin: f64,
    pub(super) end: f64,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Create(PathBuf, bool),
    Write(PathBuf, Option<u64>, Vec<u8>),
    Sync(PathBuf),
    Truncate(PathBuf, u64),
    Rename(PathBuf, PathBuf),
    Unlink(PathBuf),
    /// The writer reported a record as stored.
    Stored(u64),
}

/// Returns the calls traced under `dir`, in the order in which they ended.
pub(super) fn read(dir: &Path) -> Vec<Call> {
    let mut calls = Vec::new();
    for file in fs::read_dir(dir.join("traces")).unwrap().flatten() {
        let text = fs::read_to_string(file.path()).unwrap();
        calls.extend(text.lines().filter_map(parse));
    }
    calls.sort_by(|a, b| a.end.total_cmp(&b.end));
    calls
}

/// `TIME name(arguments) = result <DURATION>`
fn parse(line: &str) -> Option<Call> {
    let (time, rest) = line.split_once(' ')?;
    let (name, rest) = rest.split_once('(')?;
    let (rest, duration) = rest.rsplit_once(" <")?;
    let (arguments, result) = rest.rsplit_once(") = ")?;
    if result.starts_with('-') {
        return None;
    }
    let begin: f64 = time.parse().ok()?;
    let end = begin + duration.trim_end_matches('>').parse::<f64>().ok()?;
    let what = what(name, arguments)?;
    Some(Call { begin, end, what })
}

fn what(name: &str, arguments: &str) -> Option<What> {
    let mut strings = arguments.split('"').skip(1).step_by(2).map(unescape);
    let named = |bytes: Vec<u8>| String::from_utf8(bytes).ok().map(PathBuf::from);
    let path = || {
        let (_, rest) = arguments.split_once('<')?;
        named(unescape(rest.split_once('>')?.0))
    };
    let last = || arguments.rsplit(", ").next()?.parse().ok();
    Some(match name {
        "openat" if arguments.contains("O_CREAT") => {
            What::Create(named(strings.next()?)?, arguments.contains("O_TRUNC"))
        }
        "pwrite64" => What::Write(path()?, Some(last()?), strings.next()?),
        "write" => {
            let bytes = strings.next()?;
            let text = String::from_utf8_lossy(&bytes);
            match text.trim().strip_prefix("stored ") {
                Some(seq) => What::Stored(seq.parse().ok()?),
                None => What::Write(path()?, None, bytes),
            }
        }
        "fdatasync" | "fsync" => What::Sync(path()?),
        "ftruncate" => What::Truncate(path()?, last()?),
        "rename" => What::Rename(named(strings.next()?)?, named(strings.next()?)?),
        "unlink" => What::Unlink(named(strings.next()?)?),
        _ => return None,
    })
}

fn unescape(text: &str) -> Vec<u8> {
    if !text.contains("\\x") {
        return text.as_bytes().to_vec();
    }
    let digits = text.split("\\x").skip(1);
    digits
        .filter_map(|hex| u8::from_str_radix(hex.get(..2)?, 16).ok())
        .collect()
}

/// Files on a disk that keeps only data that a finished sync covers.
#[derive(Debug, Default)]
pub(super) struct Disk {
    files: HashMap<PathBuf, File>,
}

#[derive(Debug, Default)]
struct File {
    durable: Vec<u8>,
    position: u64,
    /// Changes since the last sync: each with the time when its call ended.
    volatile: Vec<(f64, Change)>,
}

#[derive(Debug, Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

impl Disk {
    /// Applies the next call. Renames count as durable at once, which a journaling file system nearly guarantees.
    pub(super) fn apply(&mut self, call: &Call) {
        match &call.what {
            What::Create(path, truncate) => {
                let file = self.files.entry(path.clone()).or_default();
                if *truncate {
                    *file = File::default();
                }
            }
            What::Write(path, at, bytes) => {
                if let Some(file) = self.files.get_mut(path) {
                    let at = at.unwrap_or(file.position);
                    file.position = at + bytes.len() as u64;
                    let write = Change::Write(at, bytes.clone());
                    file.volatile.push((call.end, write));
                }
            }
            What::Truncate(path, length) => {
                if let Some(file) = self.files.get_mut(path) {
                    file.volatile.push((call.end, Change::Length(*length)));
                }
            }
            What::Sync(path) => {
                if let Some(file) = self.files.get_mut(path) {
                    file.sync(call.begin);
                }
            }
            What::Rename(from, to) => {
                if let Some(file) = self.files.remove(from) {
                    self.files.insert(to.clone(), file);
                }
            }
            What::Unlink(path) => drop(self.files.remove(path)),
            What::Stored(_) => {}
        }
    }

    /// Writes the files that a power cut leaves under `from` to `to`. `kept` decides for each change that no sync
    /// covers, because a disk may reorder writes.
    pub(super) fn write_to(&self, from: &Path, to: &Path, mut kept: impl FnMut() -> bool) {
        for (path, file) in &self.files {
            let Ok(inside) = path.strip_prefix(from) else {
                continue;
            };
            let target = to.join(inside);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            let mut left = file.durable.clone();
            for (_, change) in &file.volatile {
                if kept() {
                    change.apply_to(&mut left);
                }
            }
            fs::write(target, left).unwrap();
        }
    }
}

impl File {
    fn sync(&mut self, begin: f64) {
        for (_, change) in self.volatile.extract_if(.., |(end, _)| *end <= begin) {
            change.apply_to(&mut self.durable);
        }
    }
}

impl Change {
    fn apply_to(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Length(length) => bytes.resize(usize::try_from(*length).unwrap(), 0),
            Self::Write(at, written) => {
                let at = usize::try_from(*at).unwrap();
                let end = at + written.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[at..end].copy_from_slice(written);
            }
        }
    }
}
