//! A status file of another machine, copied to this one while it changes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::commands::ssh::{Script, keep_connected};
use crate::error::Error;
use crate::identity::Context;
use crate::output::say;
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
        loop {
            let line = script.line()?;
            if let Some((time, text)) = line.split_once(' ') {
                store(to, time, text).with_context(|| to.display().to_string())?;
            }
        }
    };
    follow().expect_err("it ends with an error")
}

/// Stores the line `text`, written at `time` in seconds since 1970; removes the copy if the file is missing.
fn store(to: &Path, time: &str, text: &str) -> anyhow::Result<()> {
    let Ok(seconds) = time.parse() else {
        let _ = fs::remove_file(to);
        return Ok(());
    };
    let draft = to.with_extension("new");
    fs::write(&draft, format!("{text}\n"))?;
    File::open(&draft)?.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))?;
    Ok(fs::rename(draft, to)?)
}
