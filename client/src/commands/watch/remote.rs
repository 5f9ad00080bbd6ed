//! A status file of another machine, copied to this one while it changes.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow, ensure};
use hub_protocol::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::fs::OFlags;

use crate::commands::ssh::{Script, keep_connected};
use crate::error::Error;
use crate::identity::Context;
use crate::output::say;
use crate::system::no_follow::Dir;
use crate::system::private::make_private;

/// Prints the time of the last change and the first line of the file `$1`, now and after each change; waits by
/// inotifywait, or polls. A file that is being written is read again after a second. It ends when its input is closed.
const FOLLOW: &str = r#"f=$1; d=$(dirname -- "$f"); [ -d "$d" ] || { echo missing; exit; }; echo ready; exec 3<&0; (cat <&3 >/dev/null; kill $$) & o=; while :; do n="$(date -r "$f" +%s 2>/dev/null) $(head -n 1 -- "$f" 2>/dev/null | head -c 65536)"; if [ "$n" = "$o" ]; then inotifywait -qq -t 5 -e close_write,moved_to "$d" 2>/dev/null; case $? in 0|2) ;; *) sleep 2;; esac; else sleep 1; m="$(date -r "$f" +%s 2>/dev/null) $(head -n 1 -- "$f" 2>/dev/null | head -c 65536)"; if [ "$m" = "$n" ]; then o=$n; printf "%s\n" "$n" || exit; fi; fi; done"#;

/// Copies the file `path` of `host` until the first connection fails; reports that on `failed`. Returns the path of the
/// copy, the same one at each start.
pub(super) fn follow(
    host: &str,
    path: &Path,
    context: &Context,
    failed: tokio::sync::oneshot::Sender<anyhow::Error>,
) -> Result<PathBuf, Error> {
    let dir = context.settings.state_dir.value.join("remote");
    make_private(&dir).map_err(Error::Failed)?;
    let path = path.display().to_string();
    let name = utf8_percent_encode(&format!("{host}:{path}"), NON_ALPHANUMERIC).to_string();
    let copy = dir.join(name);
    let (host, to) = (host.to_owned(), copy.clone());
    std::thread::spawn(move || {
        let error = keep_connected(&host, |works| copy_changes(&host, &path, &to, works));
        let _ = failed.send(error);
    });
    Ok(copy)
}

fn copy_changes(host: &str, path: &str, to: &Path, works: &mut bool) -> anyhow::Error {
    let mut follow = || -> anyhow::Result<()> {
        let mut script = Script::start(host, &[], FOLLOW, path)?;
        if script.line()? != "ready" {
            return Err(anyhow!("the directory of {path} does not exist there"));
        }
        *works = true;
        say(format!("watching {path} on {host}"));
        let mut ignored = None;
        loop {
            let line = script.line()?;
            let Some((time, text)) = line.split_once(' ') else {
                continue;
            };
            match written(time) {
                Ok(time) => store(to, time, text).with_context(|| to.display().to_string())?,
                Err(error) => {
                    let why = Some(format!("{host}: a line of {path} is ignored: {error}"));
                    if ignored != why {
                        ignored = why;
                        say(ignored.as_deref().unwrap_or_default());
                    }
                }
            }
        }
    };
    follow().expect_err("it ends with an error")
}

/// The time of the last change, printed in seconds since 1970; `None` if the file is missing.
fn written(seconds: &str) -> anyhow::Result<Option<SystemTime>> {
    if seconds.is_empty() {
        return Ok(None);
    }
    let seconds: i64 = seconds
        .parse()
        .context("its time is not a number of seconds")?;
    let ahead = seconds.saturating_mul(1000)
        > Timestamp::now()
            .plus_millis(Timestamp::MAX_AHEAD_MS)
            .as_millis();
    ensure!(!ahead, "its time lies in the future");
    let seconds = u64::try_from(seconds).context("its time lies before 1970")?;
    Ok(Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)))
}

/// Stores the line `text`, written at `time`; removes the copy if the file is missing.
fn store(to: &Path, time: Option<SystemTime>, text: &str) -> anyhow::Result<()> {
    let (parent, name) = to
        .parent()
        .zip(to.file_name())
        .context("no path of a file")?;
    let (dir, name) = (Dir::open(parent)?, Path::new(name));
    let Some(time) = time else {
        let _ = dir.remove(name);
        return Ok(());
    };
    let draft = name.with_extension("new");
    dir.write(&draft, &format!("{text}\n"))?;
    dir.file(&draft, OFlags::WRONLY, 0)?.set_modified(time)?;
    Ok(dir.rename(&draft, name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_cannot_be_is_refused() {
        assert_eq!(written("").unwrap(), None);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert!(time > SystemTime::now() || written("1800000000").unwrap() == Some(time));
        for bad in [
            "18446744073709551615",
            "9223372036854775807",
            "99999999999",
            "-1",
            "x",
        ] {
            assert!(written(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_copy_behind_a_link_is_replaced_and_the_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (copy, precious) = (dir.path().join("copy"), dir.path().join("precious"));
        std::fs::write(&precious, "x").unwrap();
        std::os::unix::fs::symlink(&precious, &copy).unwrap();
        let now = Some(SystemTime::now());
        store(&copy, now, "working").unwrap();
        assert_eq!(std::fs::read_to_string(&copy).unwrap(), "working\n");
        std::os::unix::fs::symlink(&precious, copy.with_extension("new")).unwrap();
        assert!(store(&copy, now, "working").is_err());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x");
    }
}
