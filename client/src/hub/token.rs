//! The token, which never leaves its file but to a hub that has proved to know it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, ensure};
use reqwest::header::HeaderValue;
use rustix::fs::{Mode, OFlags};

use super::proof;
use crate::error::{Error, Unreachable};
use crate::spool::is_private;

/// The shared secret.
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

impl Token {
    /// Reads the token's file, which must be ours alone. Without one no hub has run here.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Err(missing(path)),
            Err(error) => return Err(unreadable(path, io::Error::from(error).into())),
        };
        Self::from_file(file).map_err(|error| unreadable(path, error))
    }

    fn from_file(file: File) -> anyhow::Result<Self> {
        let meta = file.metadata()?;
        let uid = rustix::process::geteuid().as_raw();
        ensure!(meta.is_file(), "not a regular file");
        ensure!(
            meta.uid() == uid,
            "belongs to user {}, not to you",
            meta.uid()
        );
        ensure!(is_private(meta.mode()), "others may read it (chmod 600)");
        let mut text = String::new();
        file.take(4096)
            .read_to_string(&mut text)
            .context("not a token")?;
        let text = text.trim();
        let sound = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(sound, "not a token");
        Ok(Self(text.into()))
    }

    /// The header that shows it.
    pub(super) fn authorization(&self) -> Result<HeaderValue, Error> {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", self.0)).map_err(anyhow::Error::from)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Whether the `/hello` answer `body` comes from somebody who knows this token, asked with `nonce` at `address`.
    pub(super) fn is_proven_by(&self, body: &[u8], nonce: &str, address: &str) -> bool {
        proof::holds(self.0.as_bytes(), body, nonce, address)
    }
}

fn missing(path: &Path) -> Error {
    Error::Unreachable(Unreachable {
        connected: false,
        reason: format!(
            "no token at {}: a hub makes it when it first runs",
            path.display()
        ),
    })
}

fn unreadable(path: &Path, error: anyhow::Error) -> Error {
    Error::Failed(error.context(format!("token file {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn file(mode: u32) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "s3cret\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        dir
    }

    #[test]
    fn a_token_shows_itself_to_nobody() {
        let dir = file(0o600);
        let token = Token::read(&dir.path().join("token")).unwrap();
        let shown = format!("{token:?} {:?}", token.authorization().unwrap());
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn a_token_that_others_may_read_is_refused() {
        let dir = file(0o640);
        let error = Token::read(&dir.path().join("token")).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_token_behind_a_link_is_refused() {
        let dir = file(0o600);
        let link = dir.path().join("link");
        symlink(dir.path().join("token"), &link).unwrap();
        assert!(matches!(Token::read(&link), Err(Error::Failed(_))));
    }
}
