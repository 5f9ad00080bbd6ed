//! Waiters outlive the hub, and nobody else.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use crate::support::{Call, Place, Running, until};

/// The number of the waiter that `call`, a shell that prints it, has started.
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
fn a_hub_that_was_away_for_five_seconds_is_one_batch_and_the_same_deadline() {
    let mut place = Place::with_hub();
    let started = Instant::now();
    let waiter = place.waiter(place.hubctl(&["wait", "--timeout", "60"]));
    place.kill();
    place.hubctl(&["notify", "one"]).run().ok();
    // The outage itself, long enough for a client that would give up or count it out of its time.
    std::thread::sleep(Duration::from_secs(5));
    place.hubctl(&["notify", "two"]).run().ok();
    place.start();
    let woken = waiter.end().ok();
    assert_eq!(woken.messages(), ["one", "two"]);
    assert!(started.elapsed() >= Duration::from_secs(5));
    until("the batch is acknowledged", || {
        place.inbox("primary")["pending"] == 0
    });
}

#[test]
fn the_time_before_an_outage_counts() {
    let place = Place::new();
    let socket = place.path("fake.sock");
    let hub = UnixListener::bind(&socket).unwrap();
    let _waiter = place
        .hubctl(&[
            "wait",
            "--timeout",
            "60",
            "--socket",
            socket.to_str().unwrap(),
        ])
        .spawn();
    // A hub that takes the question and dies after a while.
    let asked = || {
        let (connection, _) = hub.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&connection).read_line(&mut line).unwrap();
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
fn a_waiter_keeps_its_place_through_a_restart() {
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
        place.sh("hubctl wait & echo $!").env("CLAUDE_PID", &pid),
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
    // It stands for the one that starts its child before it has ended itself.
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
fn a_killed_waiter_frees_its_inbox_and_loses_nothing() {
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
    // Not SIGINT: a shell starts its background jobs with that one ignored, and whoever they start inherits it.
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
