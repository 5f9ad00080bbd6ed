//! Waiters outlive the hub, but not the process that started them.

use std::io::Read;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::support::{Call, Place, Running, first_line, until};

/// Runs `call`, a shell that starts a waiter and prints its process id; returns the shell and that id.
fn waiter_of(place: &Place, call: Call) -> (Running, Pid) {
    let mut shell = place.registered(call);
    let pid = first_line(shell.stdout()).parse().unwrap();
    (shell, Pid::from_raw(pid).unwrap())
}

fn until_ended(place: &Place, waiter: Pid) {
    until("it has ended", || {
        test_kill_process(waiter).is_err() && place.waiters().is_empty()
    });
}

/// Waits until there is a waiter, which writes to `work/out`, and wakes it.
fn until_woken(place: &Place) {
    until("it is there", || !place.waiters().is_empty());
    place.ctl("notify x");
    until("it is woken", || place.read("work/out").contains("\"x\""));
}

#[test]
fn after_an_outage_of_five_seconds_the_waiter_gets_one_batch_and_keeps_its_deadline() {
    let mut place = Place::with_hub();
    let started = Instant::now();
    let waiter = place.waiter("wait --timeout 60");
    place.kill();
    place.ctl("notify one");
    // Long enough to catch a client that gives up, or that does not count the outage for its timeout.
    std::thread::sleep(Duration::from_secs(5));
    place.ctl("notify two");
    place.start();
    assert_eq!(waiter.end().ok().messages(), ["one", "two"]);
    assert!(started.elapsed() >= Duration::from_secs(5));
    until("the batch is acknowledged", || {
        place.inbox("primary").pending == 0
    });
}

#[test]
fn the_time_before_an_outage_counts_for_the_timeout() {
    let place = Place::new();
    let hub = UnixListener::bind(place.path("fake.sock")).unwrap();
    let call = place.hubctl("wait --inbox primary --timeout 60");
    let _waiter = call.env("HUB_SOCKET", place.path("fake.sock")).spawn();
    // A hub that accepts the request and dies after a while.
    let asked = || {
        loop {
            let (connection, _) = hub.accept().unwrap();
            let line = first_line(&connection);
            // Earlier requests check the socket's owner and look up the caller's session.
            let Some((_, timeout)) = line.split_once("timeout=") else {
                continue;
            };
            let digits = timeout.split(|c: char| !c.is_ascii_digit()).next().unwrap();
            return (connection, digits.parse::<u64>().unwrap());
        }
    };
    let (connection, first) = asked();
    std::thread::sleep(Duration::from_millis(1100));
    drop(connection);
    let (_connection, second) = asked();
    assert!(first <= 60 && second < first, "{first} then {second}");
}

#[test]
fn a_waiter_ends_with_its_parent() {
    let place = Place::with_hub();
    let (mut shell, waiter) = waiter_of(&place, place.sh("hubctl wait & echo $!; read line"));
    test_kill_process(waiter).expect("it lives");
    shell.child().kill().unwrap();
    until_ended(&place, waiter);
}

#[test]
fn a_waiter_ends_with_its_agent_and_not_with_the_shell_between() {
    let place = Place::with_hub();
    let mut agent = place.sh("read line").spawn();
    let call = place.sh("hubctl wait >out & echo $!");
    let (shell, waiter) = waiter_of(
        &place,
        call.env("CLAUDE_PID", agent.child().id().to_string()),
    );
    drop(shell);
    place.ctl("status");
    agent.kill();
    until_ended(&place, waiter);
}

#[test]
fn a_waiter_does_not_end_with_the_thread_that_started_it() {
    let place = Place::with_hub();
    let waiter = std::thread::scope(|scope| {
        let starter = scope.spawn(|| place.hubctl("wait").spawn());
        starter.join().unwrap()
    });
    until("it is there", || !place.waiters().is_empty());
    place.ctl("notify x");
    assert_eq!(waiter.end().ok().messages(), ["x"]);
}

#[test]
fn a_waiter_detached_on_purpose_outlives_the_shell() {
    let place = Place::with_hub();
    let call = place.sh("setsid -f hubctl wait --timeout 60 > out 2> err");
    call.ok();
    until_woken(&place);
}

#[test]
fn a_waiter_does_not_end_with_a_launcher_that_ends_late() {
    let place = Place::with_hub();
    // This process simulates a launcher that starts its child and only then exits.
    let launcher = "exec ./setsid -c 'hubctl wait > out & read line'";
    let script = format!("ln -s \"$(command -v sh)\" setsid; {launcher}");
    let mut launcher = place.sh(&script).spawn();
    until("it is there", || !place.waiters().is_empty());
    launcher.kill();
    until_woken(&place);
}

#[test]
fn a_killed_waiter_frees_its_inbox_and_loses_no_notification() {
    let place = Place::with_hub();
    drop(place.waiter("wait"));
    until("its place is free", || place.waiters().is_empty());
    place.ctl("notify x");
    assert_eq!(place.ctl("wait").messages(), ["x"]);
}

#[test]
fn a_signal_ends_a_waiter() {
    let place = Place::with_hub();
    // SIGINT is left out, because a shell starts its background jobs with SIGINT ignored, and their children inherit
    // that.
    for signal in [Signal::TERM, Signal::ALARM] {
        let mut waiter = place.waiter("wait");
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
fn squatter(place: &Place, socket: &std::path::Path) -> std::process::Child {
    let heard = place.write("heard", "");
    std::os::unix::fs::chown(&heard, Some(65_534), None).unwrap();
    let script = "const [, socket, heard] = process.argv;
        const fs = require('fs');
        require('net').createServer((it) => it.on('data', (data) => fs.appendFileSync(heard, data)))
            .listen(socket, () => console.log('ready'))";
    let user = "--reuid=65534 --regid=65534 --clear-groups --pdeathsig KILL -- node -e";
    let mut child = std::process::Command::new("setpriv")
        .args(user.split(' ').chain([script]))
        .args([socket, &heard])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(first_line(child.stdout.take().unwrap()), "ready");
    child
}

#[cfg(target_os = "linux")]
#[test]
fn a_waiter_asks_no_socket_that_another_user_put_in_the_hubs_place() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let mut place = Place::with_hub();
    let waiter = place.waiter("wait --timeout 60");
    place.kill();
    // A socket that was forwarded into a directory where other users may write.
    place.chmod(".", 0o777);
    place.chmod("state", 0o777);
    let other = place.path("state/other.sock");
    let mut squatter = squatter(&place, &other);
    // The socket's file has this user's uid, so only the peer's credentials show who serves it.
    std::os::unix::fs::chown(&other, Some(0), Some(0)).unwrap();
    std::fs::rename(other, place.path("state/hub.sock")).unwrap();
    let done = waiter.end();
    squatter.kill().unwrap();
    squatter.wait().unwrap();
    done.exits(1).warns("is served by user 65534");
    assert_eq!(place.read("heard"), "");
}
