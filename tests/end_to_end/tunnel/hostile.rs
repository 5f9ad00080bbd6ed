//! The other machine is hostile: it gets no file written here, no memory, no secret and no control of the terminal.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, SystemTime};

use super::{Machines, script};
use crate::call::Running;
use crate::support::until;

/// More than `hubctl` and ssh need, in KiB of address space, and less than what the other machine sends.
const MEMORY: u32 = 400_000;

/// A post in the spool, under `key`.
fn item(key: &str, text: &str) -> String {
    format!(r#"{{"v":1,"key":"{key}","post":{{"msg":"{text}","from":"far"}}}}"#)
}

/// The standard error of a tunnel.
struct Tunnel {
    _running: Running,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Tunnel {
    /// Waits until it has printed a line with `part`. Returns the lines up to there.
    fn says(&mut self, part: &str) -> String {
        let mut said = String::new();
        for line in &mut self.lines {
            said.push_str(&line);
            said.push('\n');
            if line.contains(part) {
                return said;
            }
        }
        panic!("'{part}' is missing: {said}");
    }
}

impl Machines {
    /// The machines, of which the other one answers to everything but the first command with the sh script `far`. Its
    /// state directory is `devbox/hub`.
    fn with_far(far: &str) -> Self {
        let machines = Self::new();
        let place = &machines.place;
        let dir = place.path(".").display().to_string();
        place.dir("devbox/hub/spool");
        let answer = format!(
            "#!/bin/sh\ncd {dir}\ncase $SSH_ORIGINAL_COMMAND in\n*own*) echo {dir}/devbox/hub; exit;;\nesac\n{far}\n"
        );
        script(place, "far", &answer);
        let config = place.read("sshd_config");
        place.write("sshd_config", format!("{config}ForceCommand {dir}/far\n"));
        machines
    }

    /// A far machine that lists its spool once as the output of `listing`, and then nothing.
    fn listing(listing: &str) -> Self {
        Self::with_far(&format!(
            "echo ready; read act; {listing}; while read act; do case $act in list) printf '\\000';; esac; done"
        ))
    }

    /// Starts a command that has little memory.
    fn starts(&self, line: &str) -> Tunnel {
        let hubctl = env!("CARGO_BIN_EXE_hubctl");
        let limited = format!("ulimit -v {MEMORY}; exec {hubctl} {line}");
        let mut running = self.place.sh(&limited).env("PATH", &self.path).spawn();
        let errors = running.child().stderr.take().expect("a pipe");
        let lines = BufReader::new(errors).lines();
        Tunnel {
            _running: running,
            lines: Box::new(lines.map_while(Result::ok)),
        }
    }

    fn arrives(&self, text: &str) {
        until("the sound item is there", || self.place.said() == [text]);
    }
}

#[test]
fn a_file_in_the_spool_there_is_written_nowhere_but_in_the_spool_here() {
    let machines = Machines::new();
    let place = &machines.place;
    let spool = |name: &str| format!("devbox/hub/spool/{name}");
    let precious = place.path("precious").display().to_string();
    let path = format!("/../../../../../../../../..{precious}");
    // A listing by lines took the second line for a file of its own.
    place.write(&spool("0"), format!("junk\n{path} {}\n", item(&path, "x")));
    place.write(&spool("1\n2"), item("2", "x"));
    place.write(&spool("large"), "x".repeat(3 << 20));
    place.write(&spool("nul"), "x\0other\0".repeat(5));
    let time = |ts: &str| format!(r#"{{"v":1,"key":"{ts}","post":{{"msg":"x","ts":"{ts}"}}}}"#);
    place.write(&spool("9999"), time("9999"));
    let hook = r#"{"v":1,"key":"hook","hook":{"agent":"claude","query":"","ts":18446744073709551615,"body":{}}}"#;
    place.write(&spool("hook"), hook);
    place.write("elsewhere", item("link", "x"));
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path(&spool("link"))).unwrap();
    let pipe = place.path(&spool("pipe")).display().to_string();
    place.sh(&format!("mkfifo {pipe}")).ok();
    place.write(&spool("z"), item("z", "sound"));
    let mut tunnel = machines.starts("tunnel devbox");
    let said = tunnel.says("'nul'");
    for refused in [
        "'0' in its spool is refused: not a spool item",
        "'1\\n2' in its spool is refused: its name is not a key",
        "'9999' in its spool is refused: not a spool item: '9999' is not an RFC 3339 time",
        "'hook' in its spool is refused: not a spool item: invalid value: integer `18446744073709551615`",
        "'large' in its spool is refused: larger than 1048576 bytes",
    ] {
        assert!(said.contains(refused), "{refused}: {said}");
    }
    machines.arrives("sound");
    until("the sound item is gone there", || !place.has(&spool("z")));
    until("the refused files are set aside there", || {
        place.files("devbox/hub/spool/rejected") == 6
    });
    let left = std::fs::read_dir(place.path("devbox/hub/spool")).unwrap();
    let mut left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["link", "pipe", "rejected"]);
    assert!(!place.has("precious"));
}

#[test]
fn a_name_that_leaves_the_spool_is_refused_and_the_others_arrive() {
    let machines = Machines::listing(
        r#"for name in ../../precious /../precious .. rejected .x "$(printf 'a\nb')"; do
        printf '%s\000{"v":1,"key":"%s","post":{"msg":"x"}}\000' "$name" "$name"; done
        printf 'z\000{"v":1,"key":"z","post":{"msg":"sound"}}\000\000'"#,
    );
    let mut tunnel = machines.starts("tunnel devbox");
    let said = tunnel.says("'a\\nb'");
    assert!(
        said.contains("'../../precious' in its spool is refused: its name is not a key"),
        "{said}"
    );
    machines.arrives("sound");
    assert!(!machines.place.has("precious") && !machines.place.has("state/precious"));
}

#[test]
fn an_endless_line_ends_the_tunnel_without_its_memory() {
    let machines = Machines::with_far("exec tr '\\000' x </dev/zero");
    let mut tunnel = machines.starts("tunnel devbox");
    tunnel.says("it printed a line of more than");
    let machines = Machines::with_far("");
    // The first command too.
    script(
        &machines.place,
        "far",
        "#!/bin/sh\nexec tr '\\000' x </dev/zero\n",
    );
    machines
        .starts("tunnel devbox")
        .says("it printed a line of more than");
}

#[test]
fn an_endless_listing_ends_the_connection_and_stores_nothing_of_the_last_file() {
    for (listing, why) in [
        (
            "printf 'a\\000'; exec tr '\\000' x </dev/zero",
            "a content of more than",
        ),
        ("exec tr '\\000' x </dev/zero", "a name of more than"),
        ("yes a | tr '\\n' '\\000'", "has more than 1000 files"),
        (
            "while :; do printf 'a\\000'; head -c 900000 /dev/zero | tr '\\000' x; printf '\\000'; done",
            "has more than 3145728 bytes",
        ),
        (
            r#"printf 'a\000{"v":1,"key":"a","post":{"msg":"x"}}'; exit"#,
            "ended early",
        ),
    ] {
        let machines = Machines::listing(listing);
        let said = machines.starts("tunnel devbox").says(why);
        assert!(said.contains("is connected"), "{said}");
        assert!(machines.place.said().is_empty());
    }
}

#[test]
fn a_directory_there_reads_no_variable_of_this_machine() {
    let machines = Machines::with_far("echo ready; cat");
    let dir = machines.place.path("devbox").display().to_string();
    machines.place.dir("devbox/secret");
    let answer = format!(
        "#!/bin/sh\ncase $SSH_ORIGINAL_COMMAND in *own*) echo '{dir}/${{SECRET}}';; *) echo ready; cat;; esac\n"
    );
    script(&machines.place, "far", &answer);
    let call = machines.here("tunnel devbox").env("SECRET", "secret");
    call.fails(1).warns("ssh cannot forward the socket");
    assert_eq!(machines.place.files("devbox/secret"), 0);
}

#[test]
fn errors_there_reach_the_terminal_escaped_and_are_limited() {
    let machines = Machines::with_far(
        "printf '\\033]0;title\\007\\n' >&2; echo ready; read act; yes flood | head -n 9999 >&2; exec cat",
    );
    let mut tunnel = machines.starts("tunnel devbox");
    let said = tunnel.says("further errors of ssh are not shown");
    assert!(said.contains("devbox: \\u001b]0;title\\u0007"), "{said}");
    assert!(
        said.lines().count() < 60 && !said.contains('\u{1b}'),
        "{said}"
    );
}

#[test]
fn a_status_file_there_cannot_lie_about_its_time() {
    let machines = Machines::with_far(
        "echo ready; for time in 18446744073709551615 99999999999 -5; do echo \"$time error far\"; done; \
         echo \"$(date +%s) completed sound\"; exec cat",
    );
    let file = machines.place.path("far-status").display().to_string();
    let mut watch = machines.starts(&format!("watch --ssh devbox {file}"));
    watch.says("is ignored: its time is not a number");
    watch.says("is ignored: its time lies in the future");
    machines.arrives("sound");
}

#[test]
fn the_other_machine_brings_nothing_into_a_full_spool() {
    let mut machines =
        Machines::listing(r#"printf 'z\000{"v":1,"key":"z","post":{"msg":"sound"}}\000\000'"#);
    // The hub does not read the spool while it is stopped; its files are as many as a hook leaves there.
    machines.place.kill();
    for number in 0..1000 {
        machines.place.write(&format!("state/spool/{number}"), "");
    }
    let mut tunnel = machines.starts("tunnel devbox");
    tunnel.says("the one here is full");
    assert!(!machines.place.has("state/spool/z"));
}

#[test]
fn a_draft_of_a_killed_hubctl_is_removed() {
    let machines = Machines::new();
    let place = &machines.place;
    let draft = place.write("devbox/hub/spool/.0123.tmp", "{");
    let old = SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::options()
        .append(true)
        .open(&draft)
        .unwrap()
        .set_modified(old)
        .unwrap();
    let home = place.path("devbox");
    place
        .hubctl("notify --project default x")
        .env("HUB_STATE_DIR", "")
        .env("XDG_STATE_HOME", home)
        .ok();
    assert!(!draft.exists());
    assert_eq!(place.files("devbox/hub/spool"), 1);
}
