//! `hubd doctor`: verifies a state directory and prints what is wrong and what to do.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use hub_config::state_dir::{StateDirError, stored_token};
use hub_core::disk::OsDisk;
use hub_core::report::Report;
use hub_log::archive::recover;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::epoch::EpochFile;
use hub_log::journal::sled::{Files, OpenError, Options, free_bytes};
use hub_log::journal::snapshot::{self, Snapshots};
use hub_log::journal::{Journal, JournalError};
use hub_protocol::{Counted, Device, Timestamp, one_line};

use super::{bar, hash};

/// Checks everything in `state_dir`. Fails if there are problems.
pub(super) fn doctor(state_dir: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let files = Files::new(state_dir);
    let mut report = Report::new(out);
    if files.root.exists() {
        permissions(&files, &mut report)?;
        token(&files, &mut report)?;
        devices(&files, &mut report)?;
        space(&files, &mut report)?;
        if files.staged().exists() {
            report.problem(
                "`hubd adopt` or `hubd import` was interrupted, and some of its files are not in place",
                "start hubd, or run the command again: either puts the rest in place",
            )?;
        } else {
            epoch(&files, &mut report)?;
            journal(&files, &mut report)?;
        }
    } else {
        let missing = format!("{} does not exist", state_dir.display());
        report.problem(&missing, "start hubd once, or pass --state-dir")?;
    }
    report.end()
}

fn permissions(files: &Files, report: &mut Report<impl Write>) -> io::Result<()> {
    let dirs = [files.journal(), files.segments(), files.snapshots()];
    for dir in [files.root.clone()].into_iter().chain(dirs) {
        let Ok(found) = fs::symlink_metadata(&dir) else {
            continue;
        };
        let path = dir.display();
        if !found.is_dir() {
            report.problem(&format!("{path} is no directory"), "put the directory back")?;
        } else if found.uid() != rustix::process::geteuid().as_raw() {
            report.problem(
                &format!("{path} belongs to another user"),
                &format!("chown it: chown -R $USER {path}"),
            )?;
        } else if found.permissions().mode() & 0o077 != 0 {
            report.problem(
                &format!("{path} is open to other users"),
                &format!("close it: chmod 700 {path}"),
            )?;
        } else {
            report.fine(&format!("{path} is private"))?;
        }
    }
    Ok(())
}

/// The browsers that are signed in: each may answer in the person's place.
fn devices(files: &Files, report: &mut Report<impl Write>) -> io::Result<()> {
    let text = fs::read(files.root.join("devices.json")).unwrap_or_default();
    let now = Timestamp::now();
    let devices: Vec<Device> = serde_json::from_slice(&text).unwrap_or_default();
    for it in devices.iter().filter(|it| it.expires_at > now) {
        let (name, id) = (one_line(&it.name), one_line(&it.id));
        report.fine(&format!(
            "{name} signed in at {} (device {id})",
            it.created_at
        ))?;
    }
    Ok(())
}

fn token(files: &Files, report: &mut Report<impl Write>) -> io::Result<()> {
    match stored_token(&files.root) {
        Ok(Some(_)) => report.fine("the token is private and whole"),
        Ok(None) if files.are_missing() => report.fine("no token was made yet"),
        Ok(None) => report.problem(
            "the file 'token' is missing",
            "start hubd: it makes a new one, and programs that know the old one are refused",
        ),
        Err(error @ StateDirError::BrokenToken { .. }) => report.problem(
            &error.to_string(),
            "programs that know the old one are refused then",
        ),
        Err(error @ StateDirError::Unsafe { .. }) => report.problem(
            &error.to_string(),
            "others may know it: remove it to make a new one",
        ),
        Err(error) => report.problem(&format!("{:#}", anyhow::Error::from(error)), DISK),
    }
}

/// The advice after an error of the disk.
const DISK: &str = "look at the disk and how it is mounted (dmesg, mount, smartctl)";

/// Returns the advice for a journal that cannot be opened.
fn advice(error: &OpenError) -> &'static str {
    let kind = match error {
        OpenError::Io(error) => Some(error.kind()),
        _ => None,
    };
    match (kind, error) {
        (Some(io::ErrorKind::ReadOnlyFilesystem), _) => {
            "the disk is mounted read-only: mount it writable (mount -o remount,rw), or copy the directory elsewhere"
        }
        (Some(io::ErrorKind::PermissionDenied), _) => {
            "make the state directory and its files writable for yourself"
        }
        (Some(_), _) => DISK,
        (_, OpenError::Locked) => "then run `hubd doctor` again",
        (_, OpenError::Full) => "make room on the disk",
        (_, OpenError::Unsupported(_)) => "the stored data is intact",
        _ => "`hubd adopt` keeps a copy of the present files",
    }
}

fn space(files: &Files, report: &mut Report<impl Write>) -> io::Result<()> {
    let free = free_bytes(&files.reserve());
    let needed = Options::default().floor_bytes;
    let mib = free >> 20;
    if free < needed {
        report.problem(
            &format!("{mib} MiB are free: publishes are refused"),
            "make room on the disk",
        )
    } else {
        report.fine(&format!("{mib} MiB are free"))
    }
}

fn epoch(files: &Files, report: &mut Report<impl Write>) -> io::Result<()> {
    match EpochFile::read(&OsDisk, &files.epoch()) {
        Ok(Some(anchor)) if anchor.synced < anchor.first => report.fine(&format!(
            "epoch {}: no records are expected yet",
            anchor.epoch
        )),
        Ok(Some(anchor)) => report.fine(&format!(
            "epoch {}: records {} to {} must be there",
            anchor.epoch, anchor.first, anchor.synced
        )),
        Ok(None) if !files.db().exists() => report.fine("nothing was ever stored"),
        Ok(None) => report.problem(
            "the file 'epoch' is missing",
            "put it back, or run `hubd adopt`",
        ),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => report.problem(
            &format!("the file 'epoch' is broken: {error}"),
            "put it back, or run `hubd adopt`",
        ),
        Err(error) => report.problem(&format!("the file 'epoch' cannot be read: {error}"), DISK),
    }
}

fn journal(files: &Files, report: &mut Report<impl Write>) -> io::Result<()> {
    if files.are_missing() {
        return Ok(());
    }
    if files.suspect().exists() {
        return report.problem(
            "the last run could not write or read something: sled's directory is made anew at the next start",
            "look at the disk (dmesg, smartctl), then start hubd",
        );
    }
    match DiskJournal::open(&files.root, Options::default()) {
        Ok(journal) => contents(files, &journal, report),
        Err(error) => report.problem(&error.to_string(), advice(&error)),
    }
}

fn contents(
    files: &Files,
    journal: &DiskJournal,
    report: &mut Report<impl Write>,
) -> io::Result<()> {
    let (earliest, head) = (journal.earliest(), journal.head());
    let bar = bar(head + 1 - earliest, "verifying");
    let verified = journal.scrub(|at| bar.set_position(at + 1 - earliest));
    bar.finish_and_clear();
    if let Some(last) = journal.repairs().last {
        let bar = super::bar(head + 1 - earliest, "copying");
        let copied = journal.copy_all(|at| bar.set_position(at + 1 - earliest));
        bar.finish_and_clear();
        if let Err(error) = copied {
            report.problem(&error.to_string(), DISK)?;
        }
        report.problem(
            &format!("one copy of the records was damaged, and is repaired from the other: {last}"),
            "look at the disk (dmesg, smartctl)",
        )?;
    }
    let lost_ranges = journal.lost_ranges();
    for hole in &lost_ranges {
        report.problem(
            &format!(
                "records {} to {} cannot be read any more",
                hole.from, hole.to
            ),
            if hole.recorded {
                "they were left out: a backup may hold them"
            } else {
                "start hubd: it goes on without them; a backup may hold them"
            },
        )?;
    }
    match verified {
        Ok(()) if !lost_ranges.is_empty() => {
            report.fine("all other records are intact")?;
        }
        Ok(()) => report.fine(&format!("records {earliest} to {head} are intact"))?,
        Err(error @ JournalError::Io(_)) => report.problem(&error.to_string(), DISK)?,
        Err(error) => report.problem(
            &error.to_string(),
            "`hubd adopt` goes on with all that can be read",
        )?,
    }
    let sound = snapshots(files, report)?;
    let folded = recover(
        journal,
        &Snapshots::new(&files.snapshots(), journal.epoch()),
    );
    if let Some(loss) = folded.as_ref().ok().and_then(|it| it.state.losses.unread()) {
        report.problem(
            &format!(
                "{} notifications that nobody had read were lost, numbers {} to {}",
                loss.count, loss.from, loss.to
            ),
            "settle the hub's question about it: hubctl questions; a backup may hold them",
        )?;
    }
    let folded = folded
        .map_err(anyhow::Error::from)
        .and_then(|recovered| hash(&recovered.state));
    match folded {
        Ok(sha256) => report.fine(&format!(
            "the log and {} give the state {sha256}",
            Counted(sound, "snapshot")
        )),
        Err(error) => report.problem(
            &error.to_string(),
            "restore a backup, then run `hubd adopt`",
        ),
    }
}

fn snapshots(files: &Files, report: &mut Report<impl Write>) -> io::Result<usize> {
    let mut sound = 0;
    for (_, path) in snapshot::list(&OsDisk, &files.snapshots())? {
        match snapshot::read(&OsDisk, &path) {
            Ok(_) => sound += 1,
            Err(error) => report.problem(
                &error.to_string(),
                "remove it: it is not needed where another one serves",
            )?,
        }
    }
    Ok(sound)
}
