//! Files that decide what the hub does: its configuration, and the programs that its rules run. Only the hub's user and root
//! may be able to change them, as ssh demands of its own files.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Links that are followed on the way to a file; more of them are a loop.
const MAX_LINKS: usize = 40;

/// Why a file is neither read nor run.
#[derive(Debug, thiserror::Error)]
pub enum UnguardedFile {
    /// It cannot be opened or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another user owns it, or a directory on the way to it.
    #[error("'{}' belongs to another user, who could change the programs that the hub runs", .0.display())]
    Owner(PathBuf),
    /// Others can write it, or replace it in its directory.
    #[error("other users can change '{path}', and so the programs that the hub runs: run chmod go-w '{path}'", path = .0.display())]
    Writable(PathBuf),
}

/// Reads the text of `path`, if nobody but this user and root can change it, a link to it, or a directory on the way.
pub fn read(path: &Path) -> Result<String, UnguardedFile> {
    let end = end_of(path)?;
    // The text is that of the file that was checked, even if its name means another one by now.
    let mut file = File::open(&end)?;
    let found = file.metadata()?;
    if is_null(&found) {
        return Ok(String::new());
    }
    check(&end, &found)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Checks a program as [`read`] checks a file. A name without a slash is looked up in `PATH`, as at its start. A program that
/// does not exist is not checked.
pub fn check_program(program: &str) -> Result<(), UnguardedFile> {
    let Some(path) = found(program) else {
        return Ok(());
    };
    let end = end_of(&path)?;
    check(&end, &fs::metadata(&end)?)
}

/// The file of a program.
fn found(program: &str) -> Option<PathBuf> {
    let dirs = if program.contains('/') {
        vec![PathBuf::new()]
    } else {
        std::env::split_paths(&std::env::var_os("PATH")?).collect()
    };
    let mut paths = dirs.into_iter().map(|dir| dir.join(program));
    paths.find(|it| it.is_file() && access(it, Access::EXEC_OK).is_ok())
}

/// Follows a path to its end, and checks each directory on the way.
fn end_of(path: &Path) -> Result<PathBuf, UnguardedFile> {
    let mut next = std::path::absolute(path)?;
    for _ in 0..MAX_LINKS {
        next = match walk(&next)? {
            Step::End => return Ok(next),
            Step::Link(target) => target,
        };
    }
    Err(io::Error::from(rustix::io::Errno::LOOP).into())
}

/// The outcome of a walk along a path.
enum Step {
    /// No part of it is a link.
    End,
    /// The path behind the first link.
    Link(PathBuf),
}

/// Checks each directory of a path, up to the first link.
fn walk(path: &Path) -> Result<Step, UnguardedFile> {
    let mut so_far = PathBuf::new();
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        so_far.push(part);
        let found = fs::symlink_metadata(&so_far)?;
        if found.is_symlink() {
            let target = fs::read_link(&so_far)?;
            so_far.pop();
            so_far.push(target);
            // To join an empty rest would add a slash, which means a directory.
            so_far.extend(parts);
            return Ok(Step::Link(so_far));
        }
        if found.is_dir() {
            check(&so_far, &found)?;
        }
    }
    Ok(Step::End)
}

/// Whether it is `/dev/null`: all can write there, and nothing is ever in it.
fn is_null(found: &fs::Metadata) -> bool {
    let null = fs::metadata("/dev/null");
    found.file_type().is_char_device() && null.is_ok_and(|null| null.rdev() == found.rdev())
}

fn check(path: &Path, found: &fs::Metadata) -> Result<(), UnguardedFile> {
    const STICKY: u32 = 0o1000;
    let own = rustix::process::geteuid().as_raw();
    if ![0, own].contains(&found.uid()) {
        return Err(UnguardedFile::Owner(path.into()));
    }
    // In a sticky directory, such as /tmp, others can replace only their own files.
    let keeps_files = found.is_dir() && found.mode() & STICKY != 0;
    if found.mode() & 0o022 != 0 && !keeps_files {
        return Err(UnguardedFile::Writable(path.into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config.toml");
        fs::write(&file, "x = 1").unwrap();
        chmod(&file, 0o644);
        (place, file)
    }

    #[test]
    fn a_file_that_only_its_user_can_change_is_read() {
        let (_place, file) = place();
        assert_eq!(read(&file).unwrap(), "x = 1");
    }

    #[test]
    fn dev_null_is_an_empty_configuration() {
        assert_eq!(read(Path::new("/dev/null")).unwrap(), "");
        assert!(read(Path::new("/dev/zero")).is_err(), "it has no end");
    }

    #[test]
    fn a_file_that_a_group_or_all_can_write_is_refused_with_what_to_do() {
        let (_place, file) = place();
        for mode in [0o664, 0o646, 0o666] {
            chmod(&file, mode);
            let error = read(&file).unwrap_err().to_string();
            assert!(error.contains("chmod go-w"), "{error}");
        }
    }

    #[test]
    fn a_file_in_a_directory_that_others_can_write_is_refused_unless_it_is_sticky() {
        let (place, file) = place();
        chmod(place.path(), 0o777);
        assert!(matches!(read(&file), Err(UnguardedFile::Writable(path)) if path == place.path()));
        chmod(place.path(), 0o1777);
        assert!(read(&file).is_ok());
    }

    #[test]
    fn the_directory_of_a_link_and_that_of_its_target_are_both_checked() {
        let (place, file) = place();
        let links = tempfile::tempdir().unwrap();
        let link = links.path().join("config.toml");
        symlink(&file, &link).unwrap();
        assert_eq!(read(&link).unwrap(), "x = 1");
        chmod(links.path(), 0o777);
        assert!(read(&link).is_err());
        chmod(links.path(), 0o700);
        chmod(place.path(), 0o770);
        assert!(read(&link).is_err());
    }

    #[test]
    fn a_program_is_checked_at_its_path_with_the_directories_above_it() {
        let (place, file) = place();
        let program = file.to_str().unwrap();
        chmod(&file, 0o777);
        assert!(
            matches!(check_program(program), Err(UnguardedFile::Writable(path)) if path == file)
        );
        chmod(&file, 0o755);
        assert!(check_program(program).is_ok());
        chmod(place.path(), 0o770);
        assert!(check_program(program).is_err());
        assert!(check_program("/nowhere/program").is_ok(), "it cannot start");
        assert!(found("sh").is_some_and(|it| it.is_absolute()), "by PATH");
        assert!(found("no-such-program").is_none());
    }

    #[test]
    fn links_in_a_circle_are_an_error() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("a");
        symlink(&link, &link).unwrap();
        assert!(matches!(read(&link), Err(UnguardedFile::Io(_))));
    }
}
