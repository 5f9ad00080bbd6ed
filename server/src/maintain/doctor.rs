//! `hubd doctor`.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::{bar, hash};
use crate::archive::recover;
use crate::journal::Journal;
use crate::journal::disk::DiskJournal;
use crate::journal::epoch::EpochFile;
use crate::journal::sled::{Files, OpenError, Options, free_bytes};
use crate::journal::snapshot::{self, Snapshots};

/// What was found, one line each.
struct Report<'a, W> {
    out: &'a mut W,
    problems: usize,
}

impl<W: Write> Report<'_, W> {
    fn fine(&mut self, what: &str) -> io::Result<()> {
        writeln!(self.out, "ok       {what}")
    }

    fn problem(&mut self, what: &str, todo: &str) -> io::Result<()> {
        self.problems += 1;
        writeln!(self.out, "PROBLEM  {what}\n         {todo}")
    }
}

/// Looks at everything in `state_dir`; fails where something is wrong.
pub(super) fn doctor(state_dir: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let files = Files::new(state_dir);
    let mut report = Report { out, problems: 0 };
    if files.root.exists() {
        permissions(&files, &mut report)?;
        space(&files, &mut report)?;
        if files.made().exists() {
            report.problem(
                "what `hubd adopt` or `hubd import` made is not all in place: it was cut short",
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
    match report.problems {
        0 => Ok(()),
        1 => anyhow::bail!("1 problem"),
        many => anyhow::bail!("{many} problems"),
    }
}

fn permissions(files: &Files, report: &mut Report<impl Write>) -> io::Result<()> {
    for dir in [files.root.clone(), files.journal(), files.snapshots()] {
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
    match EpochFile::read(&files.epoch()) {
        Ok(Some(anchor)) if anchor.synced < anchor.first => report.fine(&format!(
            "epoch {}: nothing must be there yet",
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
        Err(error) => report.problem(
            &format!("the file 'epoch' cannot be read: {error}"),
            "put it back, or run `hubd adopt`",
        ),
    }
}

fn journal(files: &Files, report: &mut Report<impl Write>) -> io::Result<()> {
    if files.are_missing() {
        return Ok(());
    }
    if files.suspect().exists() {
        return report.problem(
            "a write failed in the last run: the journal is verified and copied at the next start",
            "look at the disk (dmesg, smartctl), then start hubd; if it cannot, run `hubd adopt`",
        );
    }
    match DiskJournal::open(&files.root, Options::default()) {
        Ok(journal) => contents(files, &journal, report),
        Err(error @ OpenError::Locked) => {
            report.problem(&error.to_string(), "then run `hubd doctor` again")
        }
        Err(error) => report.problem(
            &error.to_string(),
            "`hubd adopt` keeps a copy of what is there",
        ),
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
    match verified {
        Ok(()) => report.fine(&format!(
            "records {earliest} to {head} are what was written"
        ))?,
        Err(error) => report.problem(
            &error.to_string(),
            "`hubd adopt` goes on with the records before it",
        )?,
    }
    let sound = snapshots(files, report)?;
    let folded = recover(
        journal,
        &Snapshots::new(&files.snapshots(), journal.epoch()),
    );
    let folded = folded
        .map_err(anyhow::Error::from)
        .and_then(|recovered| hash(&recovered.state));
    match folded {
        Ok(sha256) => report.fine(&format!(
            "the log and {sound} snapshots give the state {sha256}"
        )),
        Err(error) => report.problem(
            &error.to_string(),
            "restore a backup, then run `hubd adopt`",
        ),
    }
}

fn snapshots(files: &Files, report: &mut Report<impl Write>) -> io::Result<usize> {
    let mut sound = 0;
    for (_, path) in snapshot::list(&files.snapshots())? {
        match snapshot::read(&path) {
            Ok(_) => sound += 1,
            Err(error) => report.problem(
                &error.to_string(),
                "remove it: it is not needed where another one serves",
            )?,
        }
    }
    Ok(sound)
}
