//! The machine on which the figures were measured, in one line.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::slices;

/// Cores, load, kernel, file system and the time of one fdatasync below `dir`, which must not be in memory.
pub(crate) fn describe(dir: &Path) -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let name = rustix::system::uname();
    let file_system = file_system(dir);
    ensure!(
        file_system != "tmpfs",
        "{} is on tmpfs, where a sync costs nothing; name a directory on a disk with --dir",
        dir.display()
    );
    Ok(format!(
        "{cores} cores{}, {} {}, {file_system}, fdatasync of a small append {:.0} µs",
        load(),
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy(),
        sync_micros(dir)?
    ))
}

/// Describes the load average, which makes ratios rough; returns an empty text where the system reports none.
fn load() -> String {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    match loads.split(' ').next().filter(|load| !load.is_empty()) {
        Some(load) => format!(" with a load of {load}"),
        None => String::new(),
    }
}

/// Returns the type of the file system that holds `dir`, or `unknown file system`.
fn file_system(dir: &Path) -> String {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mut best = (0, "unknown file system");
    for line in mounts.lines() {
        let mut fields = line.split(' ').skip(1);
        if let (Some(point), Some(kind)) = (fields.next(), fields.next())
            && dir.starts_with(point)
            && point.len() >= best.0
        {
            best = (point.len(), kind);
        }
    }
    best.1.to_owned()
}

fn sync_micros(dir: &Path) -> Result<f64> {
    let mut file = File::create(dir.join("sync"))?;
    let mut times = Vec::new();
    for _ in 0..300 {
        file.write_all(&[b'x'; 220])?;
        let start = Instant::now();
        file.sync_data()?;
        times.push(slices::micros(start.elapsed()));
    }
    Ok(slices::median(&times))
}
