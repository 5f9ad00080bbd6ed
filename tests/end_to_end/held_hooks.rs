//! A hook that waits for an answer outlives the hub, and the next hub takes its question again.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hub_harness::pause;
use hub_protocol::{AnswerDelivery, Question, QuestionState};
use serde_json::{Value, json};

use crate::call::{Done, Running, read};
use crate::fake::{Fake, http, ok};
use crate::support::{Place, until};

fn permission() -> Value {
    json!({ "hook_event_name": "PermissionRequest", "session_id": "s1", "cwd": "/",
        "tool_name": "Bash", "tool_input": { "command": "make" } })
}

/// Starts an agent that waits for its hook. The hook's process id is in the file `hook`.
fn agent(place: &Place, agent: &str, event: &Value) -> Running {
    place.write("work/event", event.to_string());
    let hook = format!("hubctl hook {agent} <event & echo $! >hook");
    place
        .sh(&format!("export CLAUDE_PID=$$; {hook}; wait"))
        .spawn()
}

fn hook_of(place: &Place) -> u32 {
    place
        .read("work/hook")
        .trim()
        .parse()
        .expect("a process id")
}

/// Returns the questions of every state.
fn asked(place: &Place) -> Vec<Question> {
    let all = place.json("questions --all --all-projects --json")["questions"].take();
    serde_json::from_value(all).expect("questions")
}

/// Returns the only question.
fn question(place: &Place) -> Question {
    let [only] = asked(place).try_into().expect("one question");
    only
}

/// Waits until the hub holds the hook of the only question, and returns the question's number.
fn until_held(place: &Place) -> u64 {
    until("it is held", || {
        asked(place)
            .first()
            .is_some_and(|it| it.held_until.is_some())
    });
    question(place).id
}

fn answer(place: &Place, id: u64) {
    place.by("lead", format!("answer {id} allow")).ok();
}

/// Checks that the agent was told once that the person has allowed it.
fn assert_allowed(done: Done) {
    let told: Value = read(&done.ok().warns_of_nothing().stdout);
    let decision = &told["hookSpecificOutput"]["decision"];
    assert_eq!(*decision, json!({ "behavior": "allow" }));
}

#[test]
fn the_answer_given_to_the_next_hub_reaches_the_agent() {
    for how in [Place::kill, Place::stop] {
        let mut place = Place::with_hub();
        let agent = agent(&place, "claude", &permission());
        let id = until_held(&place);
        let held_until = question(&place).held_until;
        how(&mut place);
        place.start();
        assert_eq!(until_held(&place), id, "the same question");
        assert_eq!(question(&place).held_until, held_until, "and no more time");
        answer(&place, id);
        assert_allowed(agent.end());
        let question = question(&place);
        let settled = (question.state, question.delivery);
        assert_eq!(
            settled,
            (QuestionState::Answered, Some(AnswerDelivery::Delivered))
        );
    }
}

#[test]
fn until_its_hook_is_back_a_question_says_that_it_waits_for_it_and_takes_no_answer() {
    let mut place = Place::with_hub();
    let agent = agent(&place, "claude", &permission());
    let id = until_held(&place);
    pause(hook_of(&place), true);
    place.restart();
    let between = question(&place);
    let shown = (between.delivery, between.deliverable, between.state);
    assert_eq!(
        shown,
        (
            Some(AnswerDelivery::Reconnecting),
            false,
            QuestionState::Open
        )
    );
    place.by("lead", format!("answer {id} allow")).fails(1);
    pause(hook_of(&place), false);
    until_held(&place);
    assert_eq!(question(&place).delivery, Some(AnswerDelivery::Waiting));
    answer(&place, id);
    assert_allowed(agent.end());
}

/// A socket that passes everything on to the hub's, and nothing back while it is `cut`.
struct Relay {
    socket: PathBuf,
    cut: Arc<AtomicBool>,
}

impl Relay {
    fn new(place: &Place) -> Self {
        let (socket, hub) = (place.path("relay.sock"), place.path("state/hub.sock"));
        let cut = Arc::new(AtomicBool::new(false));
        let (listener, is_cut) = (
            UnixListener::bind(&socket).expect("a socket"),
            Arc::clone(&cut),
        );
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Without a hub, the client finds its connection closed.
                let Ok(hub) = UnixStream::connect(&hub) else {
                    continue;
                };
                let ends = || {
                    (
                        client.try_clone().expect("a socket"),
                        hub.try_clone().expect("a socket"),
                    )
                };
                let ((client_in, hub_in), (client_out, hub_out), is_cut) =
                    (ends(), ends(), Arc::clone(&is_cut));
                std::thread::spawn(move || pass(client_in, hub_in, &AtomicBool::new(false)));
                std::thread::spawn(move || pass(hub_out, client_out, &is_cut));
            }
        });
        Self { socket, cut }
    }

    fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, is_cut: &AtomicBool) {
    let mut part = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut part) {
        if !is_cut.load(Ordering::SeqCst) && to.write_all(&part[..read]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn an_answer_that_was_stored_and_did_not_arrive_is_given_by_the_next_hub() {
    let mut place = Place::with_hub();
    let relay = Relay::new(&place);
    place.write("work/event", permission().to_string());
    let hook = "export CLAUDE_PID=$$; hubctl hook claude <event & wait";
    let agent = place.sh(hook).env("HUB_SOCKET", &relay.socket).spawn();
    let id = until_held(&place);
    relay.cut(true);
    answer(&place, id);
    place.kill();
    relay.cut(false);
    place.start();
    assert_allowed(agent.end());
    assert_eq!(question(&place).answer.as_deref(), Some("allow"));
}

#[test]
fn a_hook_whose_dialog_was_answered_in_the_terminal_meanwhile_ends_without_a_word() {
    let mut place = Place::with_hub();
    let agent = agent(&place, "claude", &permission());
    until_held(&place);
    place.kill();
    // Its stop, which the hub reads when it starts, shows that the dialog is gone.
    let stop = json!({ "hook_event_name": "Stop", "session_id": "s1", "cwd": "/" });
    place.hubctl("hook claude").stdin(stop.to_string()).ok();
    place.start();
    agent.end().ok().prints_nothing().warns_of_nothing();
    assert_eq!(question(&place).state, QuestionState::Withdrawn);
    place.ctl("history").prints("(settled in its terminal)");
}

#[test]
fn while_the_hub_stays_down_a_hook_waits_for_it_and_ends_with_its_agent() {
    let mut place = Place::with_hub();
    let mut agent = agent(&place, "claude", &permission());
    until_held(&place);
    place.kill();
    let hook = format!("/proc/{}", hook_of(&place));
    agent.kill();
    until("it has ended", || !std::path::Path::new(&hook).exists());
    // The next hub asks no second question because of it.
    assert_eq!(place.files("state/spool"), 1);
    place.start();
    until("the spool is empty", || place.files("state/spool") == 0);
    assert_eq!(asked(&place).len(), 1);
}

#[test]
fn a_hook_that_delays_its_agent_ends_soon_after_the_hub_and_another_one_does_not() {
    for delays in [false, true] {
        let mut event = permission();
        if delays {
            // The dialog of a subagent in the background is shown after the hook.
            event["agent_id"] = json!("a1");
        }
        let place = Place::new();
        let socket = place.path("state/hub.sock");
        // A hub that stops.
        let fake = Fake::new(&place, move |asked| {
            if asked.line == "GET /healthz" {
                return ok("{}");
            }
            let _ = std::fs::remove_file(&socket);
            http("503 Service Unavailable", "", "{}")
        });
        let mut agent = agent(&place, "claude", &event);
        fake.first("POST /hooks/claude");
        if delays {
            agent.end().ok().prints_nothing().warns_of_nothing();
            assert_eq!(place.files("state/spool"), 1);
        } else {
            // Longer than the other one looks for the hub.
            std::thread::sleep(std::time::Duration::from_secs(6));
            assert!(agent.is_running());
            agent.kill();
        }
    }
}
