//! The state of one watched status file.

use std::fs::{Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use hub_protocol::{Post, Seq, SpoolKey, StatusLine, Timestamp};
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use crate::output::say;

/// How long a line without a line feed must stay unchanged before it counts, because `printf` and `echo -n` write none.
const QUIET: Duration = Duration::from_millis(500);

/// A status file as it was last read.
#[derive(Debug, Default)]
pub(super) struct WatchedFile {
    write: Option<LastWrite>,
    published: Option<(StatusLine, Option<Seq>)>,
    ignored: Option<String>,
}

/// A write of the file, and when it was noticed.
#[derive(Debug)]
struct LastWrite {
    stamp: Stamp,
    content: Vec<u8>,
    since: Instant,
    read: bool,
}

/// The identity of a write: the file's inode number, its size, and the time of its last change in nanoseconds.
pub(in crate::commands) type Stamp = (u64, u64, i128);

/// The result of checking a file.
#[derive(Debug)]
pub(super) enum FileCheck {
    /// No new line, or the file is ignored.
    Same,
    /// The line has no line feed yet; it may still be being written.
    Unfinished,
    /// A new line.
    Line(StatusLine),
}

impl WatchedFile {
    /// Checks the file at `path`.
    pub(super) fn look(&mut self, path: &Path) -> FileCheck {
        let (stamp, content) = match read(path) {
            Ok(Some(read)) => read,
            Ok(None) => return FileCheck::Same,
            Err(error) => {
                self.ignore(path, &error);
                return FileCheck::Same;
            }
        };
        let known = self.write.take();
        let known = known.filter(|known| known.stamp == stamp && known.content == content);
        let write = self.write.insert(known.unwrap_or_else(|| LastWrite {
            stamp,
            content,
            since: Instant::now(),
            read: false,
        }));
        if write.read {
            return FileCheck::Same;
        }
        if !StatusLine::is_finished(&write.content) && write.since.elapsed() < QUIET {
            return FileCheck::Unfinished;
        }
        write.read = true;
        match StatusLine::read(&write.content) {
            Ok(line) => {
                self.ignored = None;
                FileCheck::Line(line)
            }
            Err(error) => {
                self.ignore(path, &error);
                FileCheck::Same
            }
        }
    }

    /// The line that was published last, and its notification's id, if it was not spooled.
    pub(super) fn published(&self) -> Option<(&StatusLine, Option<Seq>)> {
        self.published.as_ref().map(|(line, id)| (line, *id))
    }

    /// Records that this line was published as `id`; `None` if it was spooled.
    pub(super) fn set_published(&mut self, line: StatusLine, id: Option<Seq>) {
        self.published = Some((line, id));
    }

    /// When the file was last written; at most the current time.
    pub(super) fn written(&self) -> Option<Timestamp> {
        let (_, _, nanos) = self.write.as_ref()?.stamp;
        let written = Timestamp::from_millis(i64::try_from(nanos / 1_000_000).ok()?);
        Some(written.min(Timestamp::now()))
    }

    /// The key for `post`, which reports this write. It sorts by the time of the write, and differs for another write
    /// or another post.
    pub(super) fn key(&self, path: &Path, post: &Post) -> SpoolKey {
        let (_, _, nanos) = self.write.as_ref().map_or((0, 0, 0), |write| write.stamp);
        let nanos = u64::try_from(nanos).unwrap_or_default();
        let post = serde_json::to_string(post).unwrap_or_default();
        let text = format!("{}\0{post}", path.display());
        let mut half = [0; 8];
        half.copy_from_slice(&Sha256::digest(text.as_bytes())[..8]);
        SpoolKey::new(nanos, u64::from_be_bytes(half))
    }

    /// Reports on stderr that the file is ignored, once for each reason.
    pub(super) fn ignore(&mut self, path: &Path, why: &impl std::fmt::Display) {
        let why = format!("{} is ignored: {why:#}", path.display());
        if self.ignored.as_ref() != Some(&why) {
            say(&why);
            self.ignored = Some(why);
        }
    }

    /// Whether the file is ignored.
    pub(super) fn is_ignored(&self) -> bool {
        self.ignored.is_some()
    }
}

/// Reads a file of this user and its stamp; `None` if there is none.
pub(in crate::commands) fn read(path: &Path) -> anyhow::Result<Option<(Stamp, Vec<u8>)>> {
    // Without NONBLOCK, opening a pipe in place of the file would block for ever.
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
    ensure!(meta.is_file(), "it is not a regular file");
    ensure!(meta.uid() == us, "it belongs to user {}", meta.uid());
    let mut content = Vec::new();
    // One byte above the limit shows that the file is too large.
    (&file)
        .take(StatusLine::MAX_FILE_BYTES as u64 + 1)
        .read_to_end(&mut content)?;
    Ok(Some((stamp(&meta), content)))
}

fn stamp(meta: &Metadata) -> Stamp {
    let nanos = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    (meta.ino(), meta.size(), nanos)
}
