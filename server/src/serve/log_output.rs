//! The hub's own log: one line an event, on standard error.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;

use anyhow::Context as _;
use hub_config::{Config, LogFormat};
use hub_protocol::one_line;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Starts the log with the level and the format of the settings.
pub(super) fn start(config: &Config) -> anyhow::Result<()> {
    // rmcp reports every message; a level of its own in the setting shows that.
    let level = format!("rmcp=warn,{}", config.log.level);
    let filter = tracing_subscriber::EnvFilter::try_new(level).context("log.level")?;
    let to_journal = is_journal();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Output { to_journal })
        // Without this, a failed write to stderr would be reported on stderr again, and panic if it is closed.
        .log_internal_errors(false)
        .with_ansi(false);
    match config.log.format {
        LogFormat::Json => log.json().init(),
        // The journal stores time and level of each line itself.
        LogFormat::Text if to_journal => log.without_time().with_level(false).init(),
        LogFormat::Text => log.init(),
    }
    Ok(())
}

/// Whether standard error is the journal of systemd, which then names its device and inode in `JOURNAL_STREAM`.
fn is_journal() -> bool {
    let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let stderr = std::fs::metadata("/dev/stderr");
    stderr.is_ok_and(|it| stream == format!("{}:{}", it.dev(), it.ino()))
}

#[derive(Clone, Copy)]
struct Output {
    to_journal: bool,
}

impl<'a> MakeWriter<'a> for Output {
    type Writer = OneLine;

    fn make_writer(&'a self) -> OneLine {
        OneLine { prefix: "" }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> OneLine {
        let prefix = if self.to_journal {
            priority(*meta.level())
        } else {
            ""
        };
        OneLine { prefix }
    }
}

/// The prefix by which the journal takes the priority of a line (`sd-daemon(3)`).
fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        _ => "<7>",
    }
}

/// Standard error, with each event on one line, because a path in a field may contain line breaks and terminal
/// controls.
struct OneLine {
    prefix: &'static str,
}

impl Write for OneLine {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = one_line(text.strip_suffix('\n').unwrap_or(&text));
        let line = format!("{}{line}\n", self.prefix);
        io::stderr().write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
