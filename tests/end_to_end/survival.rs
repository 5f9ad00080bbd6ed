//! Waiters outlive the hub, but not the process that started them.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use crate::support::{Call, Place, Running, until};

/// Runs `call`, a shell that starts a waiter and prints its process id; returns the shell and that id.
fn waiter_of(place: &Place, call: Call) -> (Running, u32) {
    let mut shell = place.waiter(call);
    let mut line = String::new();
    shell.stdout().read_line(&mut line).unwrap();
    (shell, line.trim().parse().unwrap())
}

fn is_alive(pid: u32) -> bool {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}

#[test]
fn after_an_outage_of_five_seconds_the_waiter_gets_one_batch_and_keeps_its_deadline() {
    let mut place = Place::with_hub();
    let started = Instant::now();
    let waiter = place.waiter(place.hubctl(&["wait", "--timeout", "60"]));
    place.kill();
    place.hubctl(&["notify", "one"]).run().ok();
    // Long enough to catch a client that gives up, or that does not count the outage for its timeout.
    std::thread::sleep(Duration::from_secs(5));
    place.hubctl(&["notify", "two"]).run().ok();
    place.start();
    let woken = waiter.end().ok();
    assert_eq!(woken.messages(), ["one", "two"]);
    assert!(started.elapsed() >= Duration::from_secs(5));
    until("the batch is acknowledged", || {
        place.inbox("primary").pending == 0
    });
}

#[test]
fn the_time_before_an_outage_counts_for_the_timeout() {
    let place = Place::new();
    let socket = place.path("fake.sock");
    let hub = UnixListener::bind(&socket).unwrap();
    let _waiter = place
        .hubctl(&[
            "wait",
            "--inbox",
            "primary",
            "--timeout",
            "60",
            "--socket",
            socket.to_str().unwrap(),
        ])
        .spawn();
    // A hub that accepts the request and dies after a while.
    let asked = || {
        let (connection, line) = loop {
            let (connection, _) = hub.accept().unwrap();
            let mut line = String::new();
            BufReader::new(&connection).read_line(&mut line).unwrap();
            // Earlier requests check the socket's owner and look up the caller's session.
            if line.contains("/wait") {
                break (connection, line);
            }
        };
        let (_, timeout) = line.split_once("timeout=").expect("a timeout");
        let digits = timeout.split(|c: char| !c.is_ascii_digit()).next().unwrap();
        (connection, digits.parse::<u64>().unwrap())
    };
    let (connection, first) = asked();
    std::thread::sleep(Duration::from_millis(1100));
    drop(connection);
    let (_connection, second) = asked();
    assert!(first <= 60 && second < first, "{first} then {second}");
}

#[test]
fn a_waiter_waits_on_through_a_restart() {
    let mut place = Place::with_hub();
    let waiter = place.waiter(place.hubctl(&["wait"]));
    let before = place.waiters();
    place.kill();
    place.start();
    until("it is back", || place.waiters() == before);
    place.hubctl(&["notify", "x"]).run().ok();
    assert_eq!(waiter.end().ok().messages(), ["x"]);
}

#[test]
fn a_waiter_ends_with_its_parent() {
    let place = Place::with_hub();
    let (mut shell, waiter) = waiter_of(&place, place.sh("hubctl wait & echo $!; read line"));
    assert!(is_alive(waiter));
    shell.child().kill().unwrap();
    until("it has ended", || {
        !is_alive(waiter) && place.waiters().is_empty()
    });
}

#[test]
fn a_waiter_ends_with_its_agent_and_not_with_the_shell_between() {
    let place = Place::with_hub();
    let mut agent = place.sh("read line").spawn();
    let pid = agent.child().id().to_string();
    let (shell, waiter) = waiter_of(
        &place,
        place
            .sh("hubctl wait >out & echo $!")
            .env("CLAUDE_PID", &pid),
    );
    drop(shell);
    place.hubctl(&["status"]).run().ok();
    agent.child().kill().unwrap();
    agent.child().wait().unwrap();
    until("it has ended", || {
        !is_alive(waiter) && place.waiters().is_empty()
    });
}

#[test]
fn a_waiter_does_not_end_with_the_thread_that_started_it() {
    let place = Place::with_hub();
    let waiter = std::thread::scope(|scope| {
        let starter = scope.spawn(|| place.hubctl(&["wait"]).spawn());
        starter.join().unwrap()
    });
    until("it is there", || !place.waiters().is_empty());
    place.hubctl(&["notify", "x"]).run().ok();
    assert_eq!(waiter.end().ok().messages(), ["x"]);
}

#[test]
fn a_waiter_detached_on_purpose_outlives_the_shell() {
    let place = Place::with_hub();
    place
        .sh("setsid -f hubctl wait --timeout 60 > out 2> err")
        .run()
        .ok();
    until("it is there", || !place.waiters().is_empty());
    place.hubctl(&["notify", "x"]).run().ok();
    until("it is woken", || {
        std::fs::read_to_string(place.path("work/out")).is_ok_and(|out| out.contains("\"x\""))
    });
}

#[test]
fn a_waiter_does_not_end_with_a_launcher_that_ends_late() {
    let place = Place::with_hub();
    // This process simulates a launcher that starts its child and only then exits.
    let launcher =
        "ln -s \"$(command -v sh)\" setsid; exec ./setsid -c 'hubctl wait > out & read line'";
    let mut launcher = place.sh(launcher).spawn();
    until("it is there", || !place.waiters().is_empty());
    launcher.child().kill().unwrap();
    launcher.child().wait().unwrap();
    place.hubctl(&["notify", "x"]).run().ok();
    until("it is woken", || {
        std::fs::read_to_string(place.path("work/out")).is_ok_and(|out| out.contains("\"x\""))
    });
}

#[test]
fn a_killed_waiter_frees_its_inbox_and_loses_no_notification() {
    let place = Place::with_hub();
    drop(place.waiter(place.hubctl(&["wait"])));
    until("its place is free", || place.waiters().is_empty());
    place.hubctl(&["notify", "x"]).run().ok();
    assert_eq!(place.hubctl(&["wait"]).run().ok().messages(), ["x"]);
}

#[test]
fn a_signal_ends_a_waiter() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::os::unix::process::ExitStatusExt;
    let place = Place::with_hub();
    // SIGINT is left out, because a shell starts its background jobs with SIGINT ignored, and their children inherit
    // that.
    for signal in [Signal::TERM, Signal::ALARM] {
        let mut waiter = place.waiter(place.hubctl(&["wait"]));
        let child = waiter.child();
        kill_process(Pid::from_child(child), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()));
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(said, "");
        until("its place is free", || place.waiters().is_empty());
    }
}

/// Starts another user's program that listens at `socket` and writes what it receives to the file `heard`.
#[cfg(target_os = "linux")]
fn squatter(place: &Place, socket: &str) -> (std::process::Child, std::path::PathBuf) {
    let heard = place.path("heard");
    std::fs::write(&heard, "").unwrap();
    std::os::unix::fs::chown(&heard, Some(65_534), None).unwrap();
    let script = "const [, socket, heard] = process.argv;
        require('net').createServer((it) => it.on('data', (data) => require('fs').appendFileSync(heard, data)))
            .listen(socket, () => console.log('ready'))";
    let mut child = std::process::Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--pdeathsig",
            "KILL",
        ])
        .args(["--", "node", "-e", script, socket, heard.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    (child, heard)
}

#[cfg(target_os = "linux")]
#[test]
fn a_waiter_asks_no_socket_that_another_user_put_in_the_hubs_place() {
    use std::os::unix::fs::PermissionsExt as _;
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let mut place = Place::with_hub();
    let open = |path: &std::path::Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    };
    let waiter = place.waiter(place.hubctl(&["wait", "--timeout", "60"]));
    place.kill();
    // A socket that was forwarded into a directory where other users may write.
    open(&place.path("."));
    open(&place.state());
    let socket = place.state().join("hub.sock");
    let other = place.state().join("other.sock");
    let (mut squatter, heard) = squatter(&place, other.to_str().unwrap());
    // The socket's file has this user's uid, so only the peer's credentials show who serves it.
    std::os::unix::fs::chown(&other, Some(0), Some(0)).unwrap();
    std::fs::rename(other, socket).unwrap();
    let done = waiter.end();
    squatter.kill().unwrap();
    squatter.wait().unwrap();
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.stderr.contains("is served by user 65534"),
        "{}",
        done.stderr
    );
    assert_eq!(std::fs::read_to_string(heard).unwrap(), "");
}
