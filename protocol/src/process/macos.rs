//! Processes as `proc_pidinfo` and `sysctl(3)` show them.

use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use proc_pidinfo::{
    Fd, Pid, ProcBSDInfo, ProcBSDShortInfo, ProcFDInfo, ProcFDType, VnodeFdInfoWithPath,
    proc_pidfdinfo, proc_pidinfo, proc_pidinfo_list,
};
use sysctl::{Ctl, CtlValue, Sysctl as _};

use super::arguments::Arguments;
use super::{RunState, Stat, Terminal};
use crate::Timestamp;

/// `CTL_KERN` and `KERN_PROCARGS2` of `sys/sysctl.h`.
const ARGUMENTS: [i32; 2] = [1, 49];

/// `SSTOP` and `SZOMB` of `sys/proc.h`.
const STOPPED: u32 = 4;
const ENDED: u32 = 5;

/// `NODEV` of `sys/types.h`: no terminal.
const NO_DEVICE: u32 = u32::MAX;

pub(super) fn stat(pid: u32) -> Option<Stat> {
    // Any user may read the short form, but the full one only of its own processes.
    let short: ProcBSDShortInfo = proc_pidinfo(Pid(pid)).ok()??;
    let full: Option<ProcBSDInfo> = proc_pidinfo(Pid(pid)).ok().flatten();
    let on = full.filter(|it| it.e_tdev != NO_DEVICE && it.e_tdev != 0);
    let started = |it: ProcBSDInfo| Some(it.pbi_start_tvsec * 1_000_000 + it.pbi_start_tvusec);
    Some(Stat {
        name: short.comm().unwrap_or_default().to_owned(),
        state: match short.pbsi_status {
            STOPPED => RunState::Stopped,
            ENDED => RunState::Ended,
            _ => RunState::Running,
        },
        parent: short.pbsi_ppid.0,
        group: short.pbsi_pgid,
        session: session(pid)?,
        terminal: on.map(|it| Terminal {
            device: it.e_tdev,
            foreground: Some(it.e_tpgid).filter(|it| *it != 0),
        }),
        started: full.and_then(started),
    })
}

fn session(pid: u32) -> Option<u32> {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed());
    let session = rustix::process::getsid(Some(pid?)).ok()?;
    Some(session.as_raw_pid().cast_unsigned())
}

/// The name of a terminal, by the number of its device.
pub(super) fn terminal_name(device: u32) -> String {
    format!("terminal {device}")
}

/// The identity of the machine's boot, as in [`super::Process::boot_id`].
pub fn boot_id() -> Option<String> {
    Ctl::new("kern.bootsessionuuid").ok()?.value_string().ok()
}

/// The time of a process's start, from [`super::Process::started`] of this boot.
pub fn started_at(started: u64) -> Option<Timestamp> {
    let millis = i64::try_from(started / 1000).ok()?;
    Some(Timestamp::from_millis(millis))
}

/// The variables that the process `pid` was started with, as `NAME=value` with a NUL after each; `None` if the system does
/// not show them. It hides those of Apple's own programs, such as `/bin/zsh`.
pub fn environment(pid: u32) -> Option<Vec<u8>> {
    arguments(pid)?.environment
}

/// The arguments of the process `pid`, the program's name first; empty if the system does not show them.
pub fn command_line(pid: u32) -> Vec<String> {
    let words = arguments(pid).map(|it| it.words).unwrap_or_default();
    let lossy = |it: Vec<u8>| String::from_utf8_lossy(&it).into_owned();
    words.into_iter().map(lossy).collect()
}

/// The file of the program that the process `pid` runs.
pub fn program(pid: u32) -> Option<PathBuf> {
    let path = arguments(pid)?.program;
    Some(std::ffi::OsString::from_vec(path).into())
}

fn arguments(pid: u32) -> Option<Arguments> {
    let [kern, arguments] = ARGUMENTS;
    match Ctl::Oid(vec![kern, arguments, pid.cast_signed()]).value() {
        Ok(CtlValue::Node(bytes)) => Arguments::parse(&bytes),
        _ => None,
    }
}

/// Whether the standard input of the process `pid` is a terminal; `None` if the system does not show it.
pub fn reads_terminal(pid: u32) -> Option<bool> {
    let open: Vec<ProcFDInfo> = proc_pidinfo_list(Pid(pid)).ok()?;
    let input = open.iter().find(|it| it.proc_fd == Fd(0))?;
    if input.fd_type() != Ok(ProcFDType::VNODE) {
        return Some(false);
    }
    let file: VnodeFdInfoWithPath = proc_pidfdinfo(Pid(pid), Fd(0)).ok()??;
    let path = file.path().ok()?;
    Some(path.to_string_lossy().starts_with("/dev/tty"))
}
