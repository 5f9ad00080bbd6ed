//! One status file, as far as it was seen.

use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use hub_protocol::{Post, Seq, StatusLine, Timestamp};
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use crate::out::say;

/// How long a first line without an end must lie still before it counts: `printf` and `echo -n` write no end.
const QUIET: Duration = Duration::from_millis(500);

/// What was seen of a file.
#[derive(Debug, Default)]
pub(super) struct File {
    write: Option<Write>,
    told: Option<(StatusLine, Option<Seq>)>,
    ignored: Option<String>,
}

/// A write, and since when it is known.
#[derive(Debug)]
struct Write {
    stamp: Stamp,
    content: Vec<u8>,
    since: Instant,
    read: bool,
}

/// What tells one write from another: the file, its size, and nanoseconds of its last write.
type Stamp = (u64, u64, i128);

/// What a look at a file came to.
#[derive(Debug)]
pub(super) enum Look {
    /// Nothing new, or nothing that can be told.
    Same,
    /// Somebody may be writing it.
    Unfinished,
    /// A line was written.
    Line(StatusLine),
}

impl File {
    /// Looks at the file at `path`.
    pub(super) fn look(&mut self, path: &Path) -> Look {
        let (stamp, content) = match read(path) {
            Ok(Some(read)) => read,
            Ok(None) => return Look::Same,
            Err(error) => {
                self.ignore(path, &error);
                return Look::Same;
            }
        };
        let known = self.write.take();
        let known = known.filter(|known| known.stamp == stamp && known.content == content);
        let write = self.write.insert(known.unwrap_or_else(|| Write {
            stamp,
            content,
            since: Instant::now(),
            read: false,
        }));
        if write.read {
            return Look::Same;
        }
        if !StatusLine::is_finished(&write.content) && write.since.elapsed() < QUIET {
            return Look::Unfinished;
        }
        write.read = true;
        match StatusLine::read(&write.content) {
            Ok(line) => {
                self.ignored = None;
                Look::Line(line)
            }
            Err(error) => {
                self.ignore(path, &error);
                Look::Same
            }
        }
    }

    /// The line that was told last, and as which notification.
    pub(super) fn told(&self) -> Option<(&StatusLine, Option<Seq>)> {
        self.told.as_ref().map(|(line, id)| (line, *id))
    }

    /// This line was told, as `id` if the hub said so.
    pub(super) fn tell(&mut self, line: StatusLine, id: Option<Seq>) {
        self.told = Some((line, id));
    }

    /// When it was written.
    pub(super) fn written(&self) -> Option<Timestamp> {
        let (_, _, nanos) = self.write.as_ref()?.stamp;
        let written = Timestamp::from_millis(i64::try_from(nanos / 1_000_000).ok()?);
        Some(written.min(Timestamp::now()))
    }

    /// The key of `post`, which says what this write told: it sorts by the time of the write, and is another for
    /// another write or another post.
    pub(super) fn key(&self, path: &Path, post: &Post) -> String {
        let (_, _, nanos) = self.write.as_ref().map_or((0, 0, 0), |write| write.stamp);
        let nanos = u64::try_from(nanos).unwrap_or_default();
        let post = serde_json::to_string(post).unwrap_or_default();
        let text = format!("{}\0{post}", path.display());
        let digest = Sha256::digest(text.as_bytes());
        let half = digest.iter().take(8);
        half.fold(format!("{nanos:016x}"), |mut key, byte| {
            use std::fmt::Write as _;
            // Writing to a String cannot fail.
            let _ = write!(key, "{byte:02x}");
            key
        })
    }

    /// Says once why the file is ignored.
    pub(super) fn ignore(&mut self, path: &Path, why: &impl std::fmt::Display) {
        let why = format!("{} is ignored: {why:#}", path.display());
        if self.ignored.as_ref() != Some(&why) {
            say(&why);
            self.ignored = Some(why);
        }
    }

    /// Whether the file tells nothing.
    pub(super) fn is_ignored(&self) -> bool {
        self.ignored.is_some()
    }
}

/// A file of ours and its stamp; `None` if there is none.
fn read(path: &Path) -> anyhow::Result<Option<(Stamp, Vec<u8>)>> {
    // Without NONBLOCK, a pipe in the place of a file would hold us for ever.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            anyhow::bail!("it is a symbolic link")
        }
        Err(error) => return Err(error.into()),
    };
    let meta = file.metadata()?;
    let us = rustix::process::geteuid().as_raw();
    ensure!(meta.is_file(), "it is no regular file");
    ensure!(meta.uid() == us, "it belongs to user {}", meta.uid());
    let mut content = Vec::new();
    // One byte more than can be a status is enough to know that it is too much.
    (&file)
        .take(StatusLine::MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut content)?;
    Ok(Some((stamp(&meta), content)))
}

fn stamp(meta: &Metadata) -> Stamp {
    let nanos = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    (meta.ino(), meta.size(), nanos)
}
