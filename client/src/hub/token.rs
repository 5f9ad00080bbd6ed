//! The token. It is sent only to a hub that has proved that it knows it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context as _, ensure};
use reqwest::header::HeaderValue;
use rustix::fs::{Mode, OFlags};

use super::proof;
use crate::error::{Error, Unreachable};
use crate::system::private::is_private;

/// The number of hexadecimal digits in a token.
const DIGITS: usize = 64;

/// The secret that the hub and its clients share.
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

impl Token {
    /// Reads the token from its file, which only this user may be able to read. A missing file means that no hub has
    /// run here.
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
        // Refuse any other file, such as a private key named by mistake, so that its content is never sent.
        let sound = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        ensure!(sound, "not a token of {DIGITS} hexadecimal digits");
        Ok(Self(text.into()))
    }

    /// The `Authorization` header with the token.
    pub(super) fn authorization(&self) -> Result<HeaderValue, Error> {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", self.0)).map_err(anyhow::Error::from)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Whether `body`, the answer to `/hello` with `nonce` at `address`, proves that the server knows this token.
    pub(super) fn is_proven_by(&self, body: &[u8], nonce: &str, address: &str) -> bool {
        proof::holds(self.0.as_bytes(), body, nonce, address)
    }
}

fn missing(path: &Path) -> Error {
    Error::Unreachable(Unreachable {
        connected: false,
        reason: format!(
            "no token at {}: the hub creates it when it first starts",
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
        std::fs::write(&path, "5ec7e7".repeat(11)[2..].to_owned() + "\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        dir
    }

    #[test]
    fn a_token_is_not_shown_in_debug_output() {
        let dir = file(0o600);
        let token = Token::read(&dir.path().join("token")).unwrap();
        let shown = format!("{token:?} {:?}", token.authorization().unwrap());
        assert!(!shown.contains("5ec7e7"), "{shown}");
    }

    #[test]
    fn a_file_without_a_token_is_refused_and_not_shown() {
        let dir = file(0o600);
        let path = dir.path().join("token");
        for text in [
            "",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            &"g".repeat(64),
            &"0".repeat(65),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Token::read(&path).unwrap_err().to_string();
            assert!(error.contains("not a token"), "{error}");
            assert!(text.is_empty() || !error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_token_that_other_users_can_read_is_refused() {
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
