//! Who is who: sessions and their names, roles and parents.

use hub_protocol::SessionInfo;
use hubd::command::{Happened, Hook};
use hubd::record::Beginner;

use super::agents::{process, prompt, stop, told};
use super::*;

pub(super) fn named(text: &str) -> SessionInfo {
    SessionInfo {
        name: Some(text.into()),
        ..SessionInfo::default()
    }
}

fn in_main() -> SessionInfo {
    SessionInfo {
        main_worktree: Some(true),
        ..SessionInfo::default()
    }
}

fn register(session: &str, info: SessionInfo) -> Command {
    Command::Register {
        project: project(),
        session: name(session),
        info,
    }
}

pub(super) fn take_primary(session: &str) -> Command {
    Command::TakePrimary {
        project: project(),
        session: name(session),
    }
}

/// The first id of the session that is found under a name.
pub(super) fn found(hub: &Hub, text: &str) -> Option<String> {
    let found = hub.state.find_session(&project(), &name(text));
    found.ok().map(|(_, key)| key.to_string())
}

pub(super) fn primary(hub: &Hub) -> Option<&str> {
    hub.state.primary(&project()).map(InboxName::as_str)
}

#[test]
fn the_same_words_again_are_no_news() {
    let mut hub = Hub::new();
    assert_eq!(hub.run(&register("w1", named("fix"))).len(), 1);
    assert_eq!(hub.run(&register("w1", named("fix"))), []);
    assert_eq!(hub.hook("w1", Happened::Started).len(), 1, "its hooks live");
    assert_eq!(hub.hook("w1", Happened::Started), []);
}

#[test]
fn what_is_absent_stays_as_it_is_known() {
    let mut hub = Hub::new();
    hub.run(&register("w1", in_main()));
    hub.run(&register("w1", process(7)));
    let session = hub.state.session(&project(), &name("w1")).unwrap();
    let info = session.info().unwrap();
    assert_eq!(
        (info.main_worktree, &info.process),
        (Some(true), &process(7).process)
    );
}

#[test]
fn short_names_are_unique_and_mean_no_inbox() {
    let mut hub = Hub::new();
    hub.say(sent("ci", "taken"));
    for (id, wish, given) in [
        ("s1", "fix", "fix"),
        ("s2", "fix", "fix-2"),
        ("s3", "person", "person-2"),
        ("s4", "s1", "s1-2"),
        ("s5", "taken", "taken-2"),
        ("s6", "feat/a b", "feat-a-b"),
    ] {
        hub.run(&register(id, named(wish)));
        let session = hub.state.session(&project(), &name(id)).unwrap();
        assert_eq!(session.name(), Some(given));
    }
    hub.restart();
    hub.say(sent("ci", "fix-2"));
    assert!(hub.reached().contains(&"s2!".into()));
}

#[test]
fn a_session_is_found_by_id_name_alias_or_a_prefix_of_its_own() {
    let mut hub = Hub::new();
    hub.hook_of(
        "abc-1",
        SessionInfo {
            name: Some("fix".into()),
            ..process(7)
        },
        Happened::Started,
    );
    hub.hook_of("new-9", process(7), Happened::Started);
    hub.run(&register("abd-2", named("test")));
    for text in ["abc-1", "fix", "new-9", "abc", "fi", "new"] {
        assert_eq!(found(&hub, text).as_deref(), Some("abc-1"), "{text}");
    }
    assert_eq!(found(&hub, "ab"), None, "two begin so");
    let refusal = hub
        .state
        .find_session(&project(), &name("tets"))
        .unwrap_err();
    let nearest = Some("test".to_owned());
    assert!(matches!(refusal, Refusal::UnknownSession { nearest: it, .. } if it == nearest));
}

#[test]
fn another_id_of_the_same_process_is_the_same_session() {
    let mut hub = Hub::new();
    hub.hook_of("old", process(7), Happened::Started);
    let waiting = hub.say(sent("ci", "old"));
    let question = hub.say(said("old", Kind::Question));
    hub.run(&Command::Listen {
        project: project(),
        target: name("old"),
        caller: name("a"),
        within_ms: None,
        fresh: true,
    });
    hub.hook_of("new", process(7), Happened::Started);
    hub.restart();
    assert_eq!(hub.state.called(&project(), &name("new")), &name("old"));
    let after = hub.say(sent("ci", "new"));
    assert_eq!(hub.pending("old"), [waiting, after]);
    let own = Draft {
        reply_to: Some(question),
        ..said("new", Kind::Answer)
    };
    assert!(matches!(
        hub.ask(&notify(vec![own])),
        Err(Refusal::NotYours(_))
    ));
    let records = hub.run(&notify(vec![said("new", Kind::Complete)]));
    assert_eq!(told(&records), ["complete primary!", "complete a!"]);
    assert_eq!(hub.state.sessions(None).count(), 1);
}

#[test]
fn another_process_is_another_session() {
    let mut hub = Hub::new();
    hub.hook_of("old", process(7), Happened::Started);
    hub.hook_of("new", process(8), Happened::Started);
    assert_eq!(hub.state.sessions(None).count(), 2);
    hub.hook_of("old", process(8), Happened::Started);
    hub.hook_of("cleared", process(8), Happened::Started);
    assert_eq!(
        found(&hub, "cleared").as_deref(),
        Some("old"),
        "it was resumed there"
    );
}

#[test]
fn an_agents_id_means_the_session_that_had_it_last() {
    let mut hub = Hub::new();
    let mut given = |given: &str| {
        hub.run(&Command::Hook(Box::new(Hook {
            project: project(),
            given: Some(name(given)),
            id: name("uuid"),
            info: SessionInfo::default(),
            happened: Happened::Started,
            once: None,
            event: "Test".into(),
        })))
    };
    given("z");
    given("a");
    hub.restart();
    assert_eq!(found(&hub, "uuid").as_deref(), Some("a"));
    hub.end("a", false);
    hub.pass(DAY);
    hub.run(&Command::Tick);
    hub.restart();
    assert_eq!(found(&hub, "uuid"), None);
}

#[test]
fn the_primary_is_the_first_in_the_main_worktree_until_one_has_the_role() {
    let mut hub = Hub::new();
    hub.hook("aside", Happened::Started);
    assert_eq!(primary(&hub), None);
    let parent = Some(name("aside"));
    hub.hook_of(
        "child",
        SessionInfo {
            parent,
            ..in_main()
        },
        Happened::Started,
    );
    assert_eq!(primary(&hub), None, "it is a worker");
    hub.hook_of("second", in_main(), Happened::Started);
    hub.hook_of("a-third", in_main(), Happened::Started);
    assert_eq!(primary(&hub), Some("second"));
    hub.chosen("chosen");
    assert_eq!(primary(&hub), Some("chosen"));
    hub.run(&take_primary("aside"));
    assert_eq!(hub.run(&take_primary("aside")), []);
    hub.restart();
    assert_eq!(primary(&hub), Some("aside"));
    hub.end("aside", false);
    assert_eq!(primary(&hub), Some("chosen"));
}

#[test]
fn what_the_primary_says_never_comes_to_itself() {
    let mut hub = Hub::new();
    hub.chosen("boss");
    hub.hook("boss", prompt(Beginner::Wake));
    assert_eq!(told(&hub.hook("boss", stop("done"))), ["complete"]);
    assert_eq!(
        told(&hub.run(&notify(vec![sent("boss", "primary")]))),
        ["message"]
    );
    assert_eq!(
        told(&hub.run(&notify(vec![sent("boss", "all")]))),
        ["message person!"]
    );
}

#[test]
fn a_reader_who_is_parent_and_primary_is_told_once() {
    let mut hub = Hub::new();
    hub.chosen("boss");
    hub.worker("w1", "boss");
    let complete = || notify(vec![said("w1", Kind::Complete)]);
    assert_eq!(told(&hub.run(&complete())), ["complete primary!"]);
    hub.hook("lead", Happened::Started);
    hub.run(&take_primary("lead"));
    assert_eq!(told(&hub.run(&complete())), ["complete boss! primary!"]);
}
