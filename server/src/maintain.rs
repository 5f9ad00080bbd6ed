//! Maintenance of a state directory while no hub runs on it: export, import, doctor, adopt.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use hub_core::fold::State;
use hub_core::secret::hex;
use hub_log::journal::Journal;
use hub_log::journal::disk::DiskJournal;
use hub_log::journal::sled::{Files, Options};
use hub_log::journal::snapshot::Snapshots;
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest, Sha256};

mod adopt;
mod doctor;
mod export;
mod import;
mod lines;

/// Work on a state directory that no hub is using.
#[derive(Debug, clap::Subcommand)]
pub enum Maintenance {
    /// Export the whole store as lines of JSON.
    #[command(after_help = "Examples:\n  \
        hubd export > hub.ndjson\n  \
        hubd export hub.ndjson\n  \
        hubd export | zstd > hub.ndjson.zst\n\n\
        Ends with the SHA-256 of the folded state and of all lines before; `hubd import` compares both.")]
    Export {
        /// The file to write; standard output when absent.
        file: Option<PathBuf>,
    },
    /// Import an export into a state directory that has no journal yet.
    #[command(after_help = "Examples:\n  \
        hubd --state-dir /new/place import hub.ndjson\n  \
        zstd -dc hub.ndjson.zst | hubd --state-dir /new/place import\n\n\
        All of it is there at the end, or nothing.")]
    Import {
        /// The file to read; standard input when absent.
        file: Option<PathBuf>,
    },
    /// Verify the whole store, and print each problem with its remedy.
    #[command(after_help = "Examples:\n  \
        hubd doctor\n  \
        hubd --state-dir /some/backup doctor")]
    Doctor,
    /// Continue with a restored backup, or with what both copies of a journal still have, under a new epoch.
    #[command(after_help = "Examples:\n  \
        hubd adopt\n\n\
        Readers are told that their place is gone, and numbers go on far above those that were ever used.\n\
        What was there before is kept in 'journal.replaced', 'segments.replaced', 'snapshots.replaced' and 'epoch.replaced';\n\
        where these are there already, in 'journal.replaced.2' and so on. Cut short anywhere, it can be run again.")]
    Adopt,
}

impl Maintenance {
    /// Runs the command on `state_dir`. Fails without a change while a hub uses the directory.
    pub fn run(self, state_dir: &Path) -> anyhow::Result<()> {
        match self {
            Self::Export { file: None } => export::export(state_dir, io::stdout().lock()),
            Self::Export { file: Some(file) } => export::export(state_dir, create(&file)?),
            Self::Import { file: None } => import::import(state_dir, io::stdin().lock(), None),
            Self::Import { file: Some(file) } => {
                let (file, size) = open(&file)?;
                import::import(state_dir, io::BufReader::new(file), Some(size))
            }
            Self::Doctor => doctor::doctor(state_dir, &mut io::stdout().lock()),
            Self::Adopt => adopt::adopt(state_dir, &mut io::stdout().lock()),
        }
    }
}

fn create(path: &Path) -> anyhow::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    // The export contains private texts of agents.
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    file.with_context(|| format!("{} cannot be written", path.display()))
}

fn open(path: &Path) -> anyhow::Result<(std::fs::File, u64)> {
    let file =
        std::fs::File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// Opens the existing journal; fails if there is none.
fn open_journal(state_dir: &Path) -> anyhow::Result<DiskJournal> {
    let files = Files::new(state_dir);
    if files.are_missing() {
        anyhow::bail!("there is no journal in {}", state_dir.display());
    }
    Ok(DiskJournal::open(state_dir, Options::default())?)
}

fn snapshots(state_dir: &Path, journal: &dyn Journal) -> Snapshots {
    Snapshots::new(&Files::new(state_dir).snapshots(), journal.epoch())
}

/// Returns the SHA-256 of a fold in its saved form, in hexadecimal. Equal folds have equal hashes.
fn hash(state: &State) -> anyhow::Result<String> {
    Ok(hex(&Sha256::digest(serde_json::to_vec(state)?)))
}

/// Returns a progress bar on standard error; it is invisible unless that is a terminal.
fn bar(length: u64, what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}");
    let bar = ProgressBar::new(length).with_message(what);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests;
