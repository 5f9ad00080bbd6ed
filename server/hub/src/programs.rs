//! The processes of the programs that rules run. They act for no person: a rule may run a program because of what an
//! agent says.

use std::io;
use std::sync::{Arc, Mutex};

use hub_core::sync::lock;
use hub_protocol::Process;
use hub_protocol::process::Stat;

/// The processes of a hub's rules.
#[derive(Debug, Default)]
pub struct Programs(Mutex<Started>);

#[derive(Debug, Default)]
struct Started {
    /// Those that run.
    running: Vec<Process>,
    /// The first that was started. A process that is older than it is none of them, nor below one.
    first: Option<Process>,
}

/// A running program; dropped once its process group is gone.
#[derive(Debug)]
#[must_use]
pub struct RunningProgram {
    programs: Arc<Programs>,
    pid: u32,
}

impl Programs {
    /// Starts a program by `spawn`, which returns it with its process. [`Programs::include`] waits meanwhile, so it knows
    /// the program before the program can ask for anything.
    pub fn start<T>(
        self: &Arc<Self>,
        spawn: impl FnOnce() -> io::Result<(T, u32)>,
    ) -> io::Result<(T, RunningProgram)> {
        let mut started = lock(&self.0);
        let (program, pid) = spawn()?;
        let process = Process {
            pid,
            started: Stat::of(pid).and_then(|it| it.started),
            boot_id: None,
        };
        started.first.get_or_insert_with(|| process.clone());
        started.running.push(process);
        let programs = Arc::clone(self);
        Ok((program, RunningProgram { programs, pid }))
    }

    /// Returns the process that was started first.
    pub fn first(&self) -> Option<Process> {
        lock(&self.0).first.clone()
    }

    /// Whether a process is one of these, or below one.
    pub fn include(&self, pid: u32) -> bool {
        let running = lock(&self.0).running.clone();
        let mut next = Some(pid).filter(|_| !running.is_empty());
        while let Some(pid) = next {
            let stat = Stat::of(pid);
            let is_it = |it: &Process| {
                let started = stat.as_ref().and_then(|it| it.started);
                it.pid == pid && started.is_none_or(|started| it.started == Some(started))
            };
            if running.iter().any(is_it) {
                return true;
            }
            next = stat.map(|it| it.parent).filter(|parent| *parent > 1);
        }
        false
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        lock(&self.programs.0)
            .running
            .retain(|it| it.pid != self.pid);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_program_and_what_it_starts_are_known_while_it_runs() {
        let programs = Arc::<Programs>::default();
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 3<&0; cat <&3 & echo $!; wait"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let spawn = || {
            let child = shell.spawn()?;
            let pid = child.id();
            Ok((child, pid))
        };
        let (mut child, running) = programs.start(spawn).unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        io::BufRead::read_line(&mut io::BufReader::new(stdout), &mut line).unwrap();
        assert!(programs.include(child.id()));
        assert!(programs.include(line.trim().parse().unwrap()));
        assert!(!programs.include(std::process::id()));
        drop(running);
        assert!(!programs.include(child.id()));
        assert_eq!(programs.first().map(|it| it.pid), Some(child.id()));
        drop(child.stdin.take());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
