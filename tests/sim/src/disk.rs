//! A disk that forgets what was not synced, and fails when it is told to.
//!
//! A file has the content that the running system sees, and the content that a power cut leaves. A write changes the first;
//! a sync makes both equal. In between, a power cut keeps each sector of each write or not. Directory entries that were not
//! synced are kept up to some point. After a failed sync, the writes before it count as written although they may be lost.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hub_core::disk::{Disk, DiskFile, FileId};
use hub_core::sync;
use hub_protocol::Seq;

use crate::rng::Rng;

/// The size that a disk writes or loses as a whole, in bytes.
const SECTOR: usize = 512;
/// The unit in which the epoch file is written.
const EPOCH_SLOT: usize = 4096;
/// The most writes for which the reserve has room.
const RESERVE: u64 = 8;
/// The bytes at the beginning of a file in which half of the flipped bits are: those say how to read the rest.
const HEADER: usize = 64;

/// The disk of one machine.
#[derive(Debug, Clone)]
pub(crate) struct SimDisk(Arc<Mutex<DiskState>>);

#[derive(Debug)]
struct DiskState {
    rng: Rng,
    inodes: BTreeMap<u64, Inode>,
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    /// Changes of names that were not synced, in order; `None` removes.
    unsynced_names: Vec<(PathBuf, Option<u64>)>,
    next_inode: u64,
    /// The process that may use it; calls of earlier ones fail.
    process: u64,
    is_off: bool,
    faults: Faults,
    /// The syncs so far.
    syncs: u64,
}

/// The faults that are set now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// Whether there is no room for new data.
    pub(crate) full: bool,
    /// The writes for which the reserve has room once it is released.
    pub(crate) reserve: u32,
    /// The writes for which there is room all the same, because the reserve was released.
    pub(crate) released: u32,
    /// The number of writes and syncs until one fails; the next one at 0.
    pub(crate) failing: Option<u32>,
    /// The call in the middle of which the machine goes off.
    pub(crate) cut: Option<Cut>,
}

/// A call in which the machine may go off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    /// A write to a file.
    Write,
    /// A sync of a file.
    Sync,
    /// A rename of a file.
    Rename,
    /// A sync of a directory.
    SyncNames,
    /// A commit of the store.
    Store,
}

/// The call in the middle of which the machine goes off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Its kind; `None` if it may be any.
    pub(crate) call: Option<Call>,
    /// The number of such calls before it.
    pub(crate) after: u32,
}

#[derive(Debug, Clone, Default)]
struct Inode {
    seen: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
}

impl Inode {
    fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[at..end].copy_from_slice(bytes);
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        Self::put(&mut self.seen, at, bytes);
        self.unsynced.push((at, bytes.to_vec()));
    }

    fn sync(&mut self) {
        for (at, bytes) in self.unsynced.drain(..) {
            Self::put(&mut self.durable, at, &bytes);
        }
    }

    /// Writes some of the sectors that were not synced, as the disk may at any time.
    fn write_some(&mut self, rng: &mut Rng) {
        let share = *rng.pick(&[0, 50, 100]);
        for (at, bytes) in self.unsynced.drain(..) {
            let mut from = 0;
            while from < bytes.len() {
                let to = bytes.len().min(from + SECTOR - (at + from) % SECTOR);
                if rng.chance(share) {
                    Self::put(&mut self.durable, at + from, &bytes[from..to]);
                }
                from = to;
            }
        }
    }
}

fn failed() -> io::Error {
    io::Error::other("the simulated disk failed")
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl SimDisk {
    /// An empty disk.
    pub(crate) fn new(rng: Rng) -> Self {
        Self(Arc::new(Mutex::new(DiskState {
            rng,
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            next_inode: 1,
            process: 0,
            is_off: false,
            faults: Faults::default(),
            syncs: 0,
        })))
    }

    fn with<T>(&self, act: impl FnOnce(&mut DiskState) -> T) -> T {
        act(&mut sync::lock(&self.0))
    }

    /// The disk as a process that starts now uses it; what earlier ones have open fails from now on.
    pub(crate) fn for_new_process(&self) -> Arc<ProcessDisk> {
        let process = self.with(|it| {
            (it.process, it.is_off) = (it.process + 1, false);
            it.faults.cut = None;
            it.process
        });
        let disk = self.clone();
        Arc::new(ProcessDisk { disk, process })
    }

    /// Ends the process that uses it. The system keeps what it has written.
    pub(crate) fn kill(&self) {
        self.with(|it| it.is_off = true);
    }

    /// Cuts the power: what was not synced is lost, torn or kept.
    pub(crate) fn lose_power(&self) {
        self.with(DiskState::lose_power);
    }

    /// Whether its process ended in the middle of a call.
    pub(crate) fn is_off(&self) -> bool {
        self.with(|it| it.is_off)
    }

    /// Changes the faults.
    pub(crate) fn set_faults(&self, change: impl FnOnce(&mut Faults)) {
        self.with(|it| change(&mut it.faults));
    }

    /// Leaves no room for new data, or has room again. The seed decides for how many writes the reserve has room.
    pub(crate) fn fill(&self, full: bool, rng: &mut Rng) {
        let reserve = u32::try_from(rng.between(0, RESERVE)).unwrap_or(0);
        self.set_faults(|it| (it.full, it.reserve, it.released) = (full, reserve, 0));
    }

    /// Fails one of the next writes and syncs. Returns how many succeed before it.
    pub(crate) fn fail_later(&self, rng: &mut Rng) -> u32 {
        let calls = u32::try_from(rng.below(8)).unwrap_or(0);
        self.set_faults(|it| it.failing = Some(calls));
        calls
    }

    /// Goes off in the middle of one of the next `most` calls of this kind. Returns how many succeed before it.
    pub(crate) fn cut_later(&self, call: Option<Call>, most: u64, rng: &mut Rng) -> u32 {
        let after = u32::try_from(rng.below(most)).unwrap_or(0);
        self.set_faults(|it| it.cut = Some(Cut { call, after }));
        after
    }

    /// Returns the faults that are set.
    pub(crate) fn faults(&self) -> Faults {
        self.with(|it| it.faults)
    }

    /// Returns the number of syncs so far.
    pub(crate) fn syncs(&self) -> u64 {
        self.with(|it| it.syncs)
    }

    /// Whether there is a file of this name.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.with(|it| it.names.contains_key(path))
    }

    /// Flips a bit in the newest file with this extension. Returns which; `None` if there is none.
    pub(crate) fn flip(&self, extension: &str) -> Option<PathBuf> {
        self.with(|it| {
            let named = |path: &&PathBuf| path.extension().is_some_and(|it| it == extension);
            let newest = it.names.keys().filter(named).max().cloned();
            it.flip(newest.as_deref()).then_some(newest).flatten()
        })
    }

    /// Flips a bit in a segment that ends at or before record `last`. Returns false if there is none.
    pub(crate) fn flip_segment(&self, last: Seq) -> bool {
        self.with(|it| {
            let segments = it
                .names
                .keys()
                .filter(|path| path.parent() == Some(Path::new("/hub/segments")));
            let first = |path: &PathBuf| path.file_name()?.to_str()?.parse::<Seq>().ok();
            let firsts: Vec<_> = segments
                .filter_map(|path| Some((first(path)?, path.clone())))
                .collect();
            let ended = firsts.windows(2).filter(|it| it[1].0 <= last + 1);
            let ended: Vec<PathBuf> = ended.map(|it| it[0].1.clone()).collect();
            let index = it.rng.index(ended.len().max(1));
            it.flip(ended.get(index).map(PathBuf::as_path))
        })
    }
}

impl DiskState {
    /// Flips a bit of the file. Returns false without a file.
    fn flip(&mut self, path: Option<&Path>) -> bool {
        let inode = path.and_then(|path| self.names.get(path)).copied();
        let Some(inode) = inode.and_then(|inode| self.inodes.get_mut(&inode)) else {
            return false;
        };
        let most = *self.rng.pick(&[HEADER, usize::MAX]);
        let at = self.rng.index(inode.seen.len().clamp(1, most));
        let bit = self.rng.below(8);
        for content in [&mut inode.seen, &mut inode.durable] {
            if let Some(byte) = content.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        true
    }

    fn lose_power(&mut self) {
        self.is_off = true;
        let kept = self.rng.index(self.unsynced_names.len() + 1);
        let changes: Vec<_> = self.unsynced_names.drain(..).take(kept).collect();
        for (path, inode) in changes {
            Self::rename_to(&mut self.durable_names, path, inode);
        }
        self.names = self.durable_names.clone();
        for inode in self.inodes.values_mut() {
            inode.write_some(&mut self.rng);
            inode.seen = inode.durable.clone();
        }
        let named: Vec<u64> = self.names.values().copied().collect();
        self.inodes.retain(|id, _| named.contains(id));
    }

    fn rename_to(names: &mut BTreeMap<PathBuf, u64>, path: PathBuf, inode: Option<u64>) {
        match inode {
            Some(inode) => drop(names.insert(path, inode)),
            None => drop(names.remove(&path)),
        }
    }

    fn name(&mut self, path: &Path, inode: Option<u64>) {
        Self::rename_to(&mut self.names, path.to_owned(), inode);
        self.unsynced_names.push((path.to_owned(), inode));
    }

    /// Whether the machine goes off in this call.
    fn is_cut(&mut self, call: Call) -> bool {
        let cut = self.faults.cut.as_mut();
        match cut.filter(|it| it.call.is_none_or(|of| of == call)) {
            Some(Cut { after: 0, .. }) => {
                self.faults.cut = None;
                self.is_off = true;
            }
            Some(cut) => cut.after -= 1,
            None => {}
        }
        self.is_off
    }

    /// Whether a write finds no room.
    fn is_out_of_room(&mut self) -> bool {
        let is_released = self.faults.released > 0;
        self.faults.released = self.faults.released.saturating_sub(1);
        self.faults.full && !is_released
    }

    fn fails(&mut self) -> bool {
        match &mut self.faults.failing {
            Some(0) => {
                self.faults.failing = None;
                true
            }
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    fn write(&mut self, inode: u64, at: usize, bytes: &[u8]) -> io::Result<()> {
        let cut = self.is_cut(Call::Write);
        let fails = self.fails();
        // The log has its room from the beginning, but a file system that copies on write needs more.
        let grows = self
            .inodes
            .get(&inode)
            .is_some_and(|it| it.seen.len() < at + bytes.len());
        // The epoch file is written in place, sector by sector.
        let needs_room = grows || bytes.len() != EPOCH_SLOT && self.rng.chance(70);
        let full = needs_room && self.is_out_of_room();
        let whole = !(cut || fails || full);
        let len = if whole {
            bytes.len()
        } else {
            self.rng.index(bytes.len() + 1)
        };
        let file = self.inodes.entry(inode).or_default();
        file.write(at, &bytes[..len]);
        match whole {
            true => Ok(()),
            false if cut || fails => Err(failed()),
            false => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn sync_inode(&mut self, inode: u64) -> io::Result<()> {
        self.syncs += 1;
        if self.is_cut(Call::Sync) {
            return Err(failed());
        }
        let fails = self.fails();
        let Some(file) = self.inodes.get_mut(&inode) else {
            return Err(missing());
        };
        if fails {
            file.write_some(&mut self.rng);
            return Err(failed());
        }
        file.sync();
        Ok(())
    }

    fn sync_dir(&mut self, dir: &Path) -> io::Result<()> {
        if self.is_cut(Call::SyncNames) || self.fails() {
            return Err(failed());
        }
        let (synced, rest) = std::mem::take(&mut self.unsynced_names)
            .into_iter()
            .partition(|(path, _): &(PathBuf, _)| path.parent() == Some(dir));
        self.unsynced_names = rest;
        for (path, inode) in synced {
            Self::rename_to(&mut self.durable_names, path, inode);
        }
        Ok(())
    }
}

/// The disk as one process sees it.
#[derive(Debug, Clone)]
pub(crate) struct ProcessDisk {
    disk: SimDisk,
    process: u64,
}

#[derive(Debug)]
struct SimFile {
    disk: ProcessDisk,
    inode: u64,
}

#[derive(Debug)]
struct SimDir {
    disk: ProcessDisk,
    path: PathBuf,
}

impl ProcessDisk {
    fn call<T>(&self, act: impl FnOnce(&mut DiskState) -> io::Result<T>) -> io::Result<T> {
        self.disk.with(|state| {
            if state.is_off || state.process != self.process {
                return Err(failed());
            }
            act(state)
        })
    }

    /// Looks at the content of a file.
    fn look<T>(&self, path: &Path, at: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        self.call(|it| {
            let inode = it.names.get(path).ok_or_else(missing)?;
            Ok(at(&it.inodes.get(inode).ok_or_else(missing)?.seen))
        })
    }

    /// Whether its process still runs.
    pub(crate) fn lives(&self) -> bool {
        self.call(|_| Ok(())).is_ok()
    }

    /// Whether there is no room for new data.
    pub(crate) fn is_full(&self) -> bool {
        self.disk.faults().full
    }

    /// Makes room for some writes, unless that was done since the disk became full.
    pub(crate) fn release_reserve(&self) {
        self.disk
            .set_faults(|it| it.released += std::mem::take(&mut it.reserve));
    }

    /// Whether a call of the store fails now, or the machine goes off in it.
    pub(crate) fn fails(&self) -> bool {
        self.disk
            .with(|state| state.is_cut(Call::Store) || state.fails())
    }

    /// Decides something that the disk decides.
    pub(crate) fn chance(&self, percent: u64) -> bool {
        self.disk.with(|state| state.rng.chance(percent))
    }
}

impl Disk for ProcessDisk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.look(path, <[u8]>::to_vec)
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.look(path, |bytes| {
            let from = usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
            let to = bytes.len().min(from.saturating_add(length));
            bytes[from..to].to_vec()
        })
    }

    fn size(&self, path: &Path) -> io::Result<u64> {
        self.look(path, |bytes| bytes.len() as u64)
    }

    fn free(&self, _dir: &Path) -> u64 {
        if self.disk.faults().full { 0 } else { u64::MAX }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let inode = self.call(|it| {
            if it.is_out_of_room() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let inode = it.next_inode;
            it.next_inode += 1;
            it.inodes.insert(inode, Inode::default());
            it.name(path, Some(inode));
            Ok(inode)
        })?;
        let disk = self.clone();
        Ok(Box::new(SimFile { disk, inode }))
    }

    fn open_in_place(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let inode = self.call(|it| it.names.get(path).copied().ok_or_else(missing))?;
        let disk = self.clone();
        Ok(Box::new(SimFile { disk, inode }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call(|it| {
            if it.is_cut(Call::Rename) {
                return Err(failed());
            }
            let inode = it.names.get(from).copied().ok_or_else(missing)?;
            // One step, whatever a power cut leaves.
            it.name(to, Some(inode));
            it.name(from, None);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call(|it| {
            it.names.get(path).ok_or_else(missing)?;
            it.name(path, None);
            Ok(())
        })
    }

    fn is_there(&self, path: &Path) -> io::Result<bool> {
        self.call(|it| Ok(it.names.contains_key(path)))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.call(|it| {
            let within = it.names.keys().filter(|path| path.parent() == Some(dir));
            Ok(within.cloned().collect())
        })
    }

    fn private_dir(&self, _: &Path) -> io::Result<()> {
        self.call(|_| Ok(()))
    }

    fn sync(&self, path: &Path) -> io::Result<()> {
        self.call(|it| match it.names.get(path).copied() {
            Some(inode) => it.sync_inode(inode),
            None if path.extension().is_some() || path.ends_with("epoch") => Err(missing()),
            None => it.sync_dir(path),
        })
    }

    fn open_dir(&self, dir: &Path) -> io::Result<Box<dyn DiskFile>> {
        let (disk, path) = (self.clone(), dir.to_owned());
        Ok(Box::new(SimDir { disk, path }))
    }

    fn identify(&self, path: &Path) -> io::Result<FileId> {
        self.call(|it| {
            let inode = it.names.get(path).copied().ok_or_else(missing)?;
            Ok((1, inode))
        })
    }
}

impl DiskFile for SimDir {
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::IsADirectory.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.call(|it| it.sync_dir(&self.path))
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }
}

impl DiskFile for SimFile {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let at = usize::try_from(offset).map_err(io::Error::other)?;
        self.disk.call(|it| it.write(self.inode, at, bytes))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.call(|it| it.sync_inode(self.inode))
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }
}
