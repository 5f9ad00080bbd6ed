//! Another machine, by a real ssh server: `hubctl tunnel` and `hubctl watch --ssh`.

mod hostile;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use crate::call::{Call, Running};
use crate::support::{Place, until};

/// A place whose `ssh` reaches the machine `devbox`, which has a home of its own.
struct Machines {
    place: Place,
    /// What `ssh devbox` is called with in PATH.
    path: String,
}

/// Returns the path of the ssh server.
fn sshd() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let local = test.ancestors().map(|dir| dir.join("sshd/usr/sbin/sshd"));
    let mut places = local.chain(["/usr/sbin/sshd".into()]);
    let found = places.find(|path| path.is_file());
    found.expect("sshd is missing: tests/run installs it")
}

/// Writes a script that can be run. Another process writes it, see [`Place::install`].
fn script(place: &Place, name: &str, text: &str) {
    let draft = place.write("draft", text);
    place.chmod("draft", 0o755);
    place.install(&draft, name);
}

impl Machines {
    fn new() -> Self {
        let place = Place::with_hub();
        let dir = place.path(".").display().to_string();
        for key in ["key", "hostkey"] {
            place
                .sh(&format!("ssh-keygen -q -t ed25519 -N '' -f {dir}/{key}"))
                .ok();
        }
        place.write(
            "sshd_config",
            format!(
                "HostKey {dir}/hostkey\nAuthorizedKeysFile {dir}/key.pub\nStrictModes no\nUsePAM no\nPidFile none\n\
                 SetEnv XDG_STATE_HOME={dir}/devbox\n"
            ),
        );
        place.write(
            "ssh_config",
            format!(
                "Host devbox\nProxyCommand {dir}/serve\nIdentityFile {dir}/key\nIdentitiesOnly yes\nBatchMode yes\n\
                 UserKnownHostsFile /dev/null\nStrictHostKeyChecking no\nLogLevel ERROR\n"
            ),
        );
        script(&place, "serve", &serve(&dir));
        place.dir("bin");
        let ssh = format!("#!/bin/sh\nexec /usr/bin/ssh -F {dir}/ssh_config \"$@\"\n");
        script(&place, "bin/ssh", &ssh);
        let path = format!("{dir}/bin:{}", std::env::var("PATH").unwrap_or_default());
        Self { place, path }
    }

    /// A call of hubctl on this machine.
    fn here(&self, line: &str) -> Call {
        self.place.hubctl(line).env("PATH", &self.path)
    }

    /// A call of hubctl on the other machine.
    fn there(&self, line: &str) -> Call {
        let hubctl = env!("CARGO_BIN_EXE_hubctl");
        let ssh = self
            .place
            .sh(&format!("exec ssh devbox -- {hubctl} {line}"));
        ssh.env("PATH", &self.path)
    }

    /// Starts a tunnel, and waits until it works.
    fn tunnel(&self) -> Running {
        let mut tunnel = self.here("tunnel devbox").spawn();
        let mut said = BufReader::new(tunnel.child().stderr.take().expect("a pipe")).lines();
        let works = said.any(|line| line.is_ok_and(|it| it.contains("is connected")));
        assert!(works, "{}", self.place.read("sshd.log"));
        // A full pipe would stop it.
        std::thread::spawn(move || said.count());
        tunnel
    }
}

/// The script that serves one connection. An sshd of root needs a user and a directory of its own.
fn serve(dir: &str) -> String {
    let sshd = sshd();
    let libraries = sshd.parent().expect("a directory").join("../lib");
    let library = glob(&libraries);
    let run = format!(
        "exec {} -i -f {dir}/sshd_config -E {dir}/sshd.log",
        sshd.display()
    );
    let environment = format!("#!/bin/sh\nexport LD_LIBRARY_PATH={library}\n");
    if rustix::process::geteuid().is_root() {
        format!(
            "{environment}{{ cat /etc/passwd; grep -q '^sshd:' /etc/passwd || echo 'sshd:x:65530:65534::/:/bin/false'; }} \
             >{dir}/passwd.$$\nexec unshare --mount sh -c 'mount --bind {dir}/passwd.'$$' /etc/passwd && \
             mount -t tmpfs tmpfs /run && mkdir /run/sshd && {run}'\n"
        )
    } else {
        format!("{environment}{run}\n")
    }
}

/// The directories below `dir`, for a search path.
fn glob(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let dirs = entries.map(|entry| entry.path().display().to_string());
    dirs.collect::<Vec<_>>().join(":")
}

/// Returns the children of a process.
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    let lists = tasks
        .flatten()
        .flatten()
        .map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let lists: Vec<String> = lists.collect();
    let pids = lists.iter().flat_map(|it| it.split_whitespace());
    pids.map(|it| it.parse().expect("a number")).collect()
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = kill_process(pid.expect("a process"), Signal::KILL);
}

/// Cuts the connections of hubctl: here, or at the server.
fn cut(hubctl: &mut Running, at_server: bool) {
    for ssh in children(hubctl.child().id()) {
        if at_server {
            children(ssh).into_iter().for_each(kill);
        } else {
            kill(ssh);
        }
    }
}

#[test]
fn a_command_over_ssh_is_nobody_and_a_person_has_a_terminal() {
    let machines = Machines::new();
    let place = &machines.place;
    place.ctl("notify --from worker --type approval 'rm -rf build' --project default");
    let id = place.questions()[0].id;
    let state = place.state().display().to_string();
    let answer = format!("--state-dir {state} answer {id} allow");
    let refused = machines.there(&answer).run();
    refused.warns("only a person speaks as 'person'");
    let hubctl = env!("CARGO_BIN_EXE_hubctl");
    let in_a_terminal = place.sh(&format!("exec ssh -tt devbox -- {hubctl} {answer}"));
    in_a_terminal.env("PATH", &machines.path).ok();
}

#[test]
fn an_agent_on_another_machine_notifies_and_is_woken_through_the_tunnel() {
    let machines = Machines::new();
    let _tunnel = machines.tunnel();
    machines
        .there("notify --project default --from far hello")
        .ok();
    assert_eq!(machines.place.said(), ["hello"]);
    let wait = "wait --project default --inbox far --timeout 60";
    let waiter = machines.place.registered(machines.there(wait));
    machines
        .place
        .ctl("notify --project default --to far --type message back");
    waiter.end().ok().prints("back");
}

#[test]
fn a_message_that_was_published_while_the_tunnel_was_cut_arrives_once() {
    let machines = Machines::new();
    let mut tunnel = machines.tunnel();
    let publish = |text: &str| {
        // On this machine as on the other one, because ssh to it may be cut too.
        let call = machines
            .place
            .hubctl(format!("notify --project default --from far {text}"));
        let home = machines.place.path("devbox");
        call.env("HUB_STATE_DIR", "")
            .env("XDG_STATE_HOME", home)
            .ok();
    };
    let mut expected = Vec::new();
    for round in 0..6 {
        cut(&mut tunnel, round % 2 == 0);
        for part in 0..3 {
            let text = format!("{round}.{part}");
            publish(&text);
            expected.push(text);
        }
    }
    let said = || {
        let mut said = machines.place.said();
        said.sort();
        said
    };
    until("all have arrived", || said().len() >= expected.len());
    assert_eq!(said(), expected);
    until("the other machine's spool is empty", || {
        machines.place.files("devbox/hub/spool") == 0
    });
}

#[test]
fn a_second_tunnel_works_while_ssh_shares_a_connection() {
    let machines = Machines::new();
    let place = &machines.place;
    let config = place.read("ssh_config");
    let master = place.path("master").display().to_string();
    let shared = format!("{config}ControlMaster auto\nControlPath {master}\nControlPersist 60\n");
    place.write("ssh_config", shared);
    for _ in 0..2 {
        let tunnel = machines.tunnel();
        machines.there("needs").ok();
        drop(tunnel);
        until("its socket is gone", || !place.has("devbox/hub/hub.sock"));
    }
    let leave = place.sh("exec ssh -O exit devbox");
    leave.env("PATH", &machines.path).ok();
}

#[test]
fn a_command_on_another_machine_approves_nothing() {
    let machines = Machines::new();
    let _tunnel = machines.tunnel();
    let ask = "notify --json --project default --from w1 --type approval push?";
    let id = machines.place.json(ask)["id"].clone();
    machines.there(&format!("answer {id} allow")).fails(1);
    machines.place.ctl(format!("answer {id} allow"));
}

#[test]
fn a_machine_with_a_hub_of_its_own_gets_no_tunnel() {
    let machines = Machines::new();
    machines.place.write("devbox/hub/token", "t");
    let refused = machines.here("tunnel devbox").fails(1);
    refused.warns("devbox: it has a hub of its own");
    let refused = machines
        .here("--url http://127.0.0.1:1 tunnel devbox")
        .fails(64);
    refused.warns("only a hub's socket");
}

#[test]
fn a_status_file_of_another_machine_is_forwarded_also_after_a_cut() {
    let machines = Machines::new();
    let place = &machines.place;
    place.write("far/nightly", "working on it\n");
    let file = place.path("far/nightly").display().to_string();
    let mut watch = machines.here(&format!("watch --ssh devbox {file}")).spawn();
    until("the first line is there", || place.said() == ["on it"]);
    assert_eq!(place.history("")[0].from.as_str(), "nightly");
    place.write("far/nightly", "completed all green\n");
    until("the second line is there", || {
        place.said() == ["on it", "all green"]
    });
    cut(&mut watch, true);
    place.write("far/nightly", "error disk full\n");
    until("the third line is there", || place.said().len() == 3);
    watch.kill();
    // The same line is not news at the next start.
    place.write("far/other", "completed too\n");
    let _again = machines.here(&format!("watch --ssh devbox {file}")).spawn();
    let other = place.path("far/other").display().to_string();
    let _other = machines
        .here(&format!("watch --ssh devbox {other}"))
        .spawn();
    until("the other file is there", || {
        place.said().contains(&"too".to_owned())
    });
    assert_eq!(place.said(), ["on it", "all green", "disk full", "too"]);
}

#[test]
fn a_machine_that_cannot_be_reached_is_named() {
    let machines = Machines::new();
    machines
        .here("tunnel nowhere.invalid")
        .fails(1)
        .warns("nowhere.invalid");
    machines
        .here("watch --ssh nowhere.invalid /x/w1")
        .fails(1)
        .warns("nowhere.invalid");
}
