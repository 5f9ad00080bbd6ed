//! The registry: sessions with their names, roles and parents.

use hubd::core::command::{AgentEvent, Hook};

use super::*;

fn in_main() -> SessionInfo {
    info(|it| it.main_worktree = Some(true))
}

pub(super) fn take_primary(session: &str) -> Command {
    Command::TakePrimary {
        project: project(),
        session: name(session),
    }
}

/// Returns the first id of the session that is found under a name.
pub(super) fn found(hub: &Hub, text: &str) -> Option<String> {
    let found = hub.state.find_session(&project(), &name(text));
    found.ok().map(|(_, key)| key.to_string())
}

pub(super) fn primary(hub: &Hub) -> Option<&str> {
    hub.state.primary(&project()).map(InboxName::as_str)
}

#[test]
fn equal_session_info_records_nothing() {
    let mut hub = Hub::new();
    assert_eq!(hub.run(&register("w1", named("fix"))).len(), 1);
    assert_eq!(hub.run(&register("w1", named("fix"))), []);
    assert_eq!(
        hub.hook("w1", AgentEvent::Started).len(),
        1,
        "its hooks live"
    );
    assert_eq!(hub.hook("w1", AgentEvent::Started), []);
}

#[test]
fn absent_fields_keep_their_values() {
    let mut hub = Hub::new();
    hub.run(&register("w1", in_main()));
    hub.run(&register("w1", process(7)));
    let session = hub.session("w1");
    let info = session.info().unwrap();
    assert_eq!(
        (info.main_worktree, &info.process),
        (Some(true), &process(7).process)
    );
}

#[test]
fn short_names_are_unique_and_name_no_inbox() {
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
fn an_ended_session_gives_its_name_to_the_next_and_is_still_shown_with_it() {
    let mut hub = Hub::new();
    for run in 0..16 {
        let id = format!("uuid-{run}");
        hub.hook_of(&id, named("proj"), AgentEvent::Started);
        let session = hub.state.session(&project(), &name(&id)).unwrap();
        assert_eq!(session.name(), Some("proj"), "run {run}");
        hub.say(sent("ci", "proj"));
        assert_eq!(hub.pending(&id).len(), 1, "run {run}");
        hub.end(&id, false);
    }
    hub.hook_of("uuid-live", named("proj"), AgentEvent::Started);
    hub.restart();
    assert_eq!(found(&hub, "proj").as_deref(), Some("uuid-live"));
    assert_eq!(found(&hub, "pro").as_deref(), Some("uuid-live"));
    let dead = hub.state.session(&project(), &name("uuid-3")).unwrap();
    assert_eq!((dead.name(), dead.shown_name()), (None, Some("proj")));
    hub.hook_of("uuid-3", named("proj"), AgentEvent::Started);
    let resumed = hub.state.session(&project(), &name("uuid-3")).unwrap();
    assert_eq!(resumed.name(), Some("proj-2"), "the live one keeps it");
    hub.restart();
    assert_eq!(found(&hub, "proj").as_deref(), Some("uuid-live"));
}

#[test]
fn an_agents_title_wins_and_the_previous_name_still_resolves() {
    let mut hub = Hub::new();
    hub.hook_of("uuid", named("f8-w"), AgentEvent::Started);
    let titled = |title: &str| SessionInfo {
        title: Some(title.into()),
        ..named("f8-w")
    };
    let called = |hub: &Hub| {
        let session = hub.session("uuid");
        session.name().unwrap().to_owned()
    };
    hub.hook_of("uuid", titled("Fix the login… now"), AgentEvent::Seen);
    assert_eq!(called(&hub), "Fix-the-login--now");
    hub.hook_of("uuid", titled("a ... b"), AgentEvent::Seen);
    assert_eq!(called(&hub), "a-.-b", "a name has no two dots");
    assert_eq!(hub.hook_of("uuid", titled("a ... b"), AgentEvent::Seen), []);
    hub.restart();
    for text in ["f8-w", "Fix-the-login--now", "a-.-b"] {
        assert_eq!(found(&hub, text).as_deref(), Some("uuid"), "{text}");
    }
}

#[test]
fn a_notification_shows_the_name_of_a_session_beside_its_opaque_id() {
    let mut hub = Hub::new();
    hub.hook_of("uuid", named("f8-w"), AgentEvent::Started);
    let json = |records: &[Record]| {
        let said = records.iter().find_map(|record| match record {
            Record::Notified(it) => Some(serde_json::from_slice::<serde_json::Value>(&it.json)),
            _ => None,
        });
        said.expect("a notification").expect("JSON")
    };
    let said_as =
        |hub: &mut Hub, from: &str| json(&hub.run(&notify(vec![said(from, Kind::Complete)])));
    assert_eq!(said_as(&mut hub, "uuid")["from_name"], "f8-w");
    assert_eq!(said_as(&mut hub, "f8-w").get("from_name"), None);
    assert_eq!(said_as(&mut hub, "ci").get("from_name"), None);
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
        AgentEvent::Started,
    );
    hub.hook_of("new-9", process(7), AgentEvent::Started);
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
    hub.hook_of("old", process(7), AgentEvent::Started);
    let waiting = hub.say(sent("ci", "old"));
    let question = hub.say(said("old", Kind::Question));
    hub.run(&Command::Listen {
        project: project(),
        target: name("old"),
        caller: name("a"),
        within_ms: None,
        fresh: true,
    });
    hub.hook_of("new", process(7), AgentEvent::Started);
    hub.restart();
    assert_eq!(hub.state.resolve(&project(), &name("new")), &name("old"));
    let after = hub.say(sent("ci", "new"));
    assert_eq!(hub.pending("old"), [waiting, after]);
    let own = said("new", Kind::Answer).reply_to(question);
    assert!(matches!(
        hub.try_notify(vec![own]),
        Err(Refusal::NotAllowed(_))
    ));
    tells(
        &hub.run(&notify(vec![said("new", Kind::Complete)])),
        "complete primary!, complete a!",
    );
    assert_eq!(hub.state.sessions(None).count(), 1);
}

#[test]
fn another_process_is_another_session() {
    let mut hub = Hub::new();
    hub.hook_of("old", process(7), AgentEvent::Started);
    hub.hook_of("new", process(8), AgentEvent::Started);
    assert_eq!(hub.state.sessions(None).count(), 2);
    hub.hook_of("old", process(8), AgentEvent::Started);
    hub.hook_of("cleared", process(8), AgentEvent::Started);
    assert_eq!(
        found(&hub, "cleared").as_deref(),
        Some("old"),
        "it was resumed there"
    );
}

#[test]
fn an_agents_id_resolves_to_the_session_that_had_it_last() {
    let mut hub = Hub::new();
    let mut given = |given: &str| {
        hub.run(&Command::Hook(Box::new(Hook {
            project: project(),
            given: Some(name(given)),
            id: name("uuid"),
            info: SessionInfo::default(),
            happened: AgentEvent::Started,
            watched: false,
            held: false,
            once: None,
            derived_at: None,
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
    hub.hook("aside", AgentEvent::Started);
    assert_eq!(primary(&hub), None);
    let parent = Some(name("aside"));
    hub.hook_of(
        "child",
        SessionInfo {
            parent,
            ..in_main()
        },
        AgentEvent::Started,
    );
    assert_eq!(primary(&hub), None, "it is a worker");
    hub.hook_of("second", in_main(), AgentEvent::Started);
    hub.hook_of("a-third", in_main(), AgentEvent::Started);
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
fn the_primarys_own_notifications_never_reach_it() {
    let mut hub = Hub::new();
    hub.chosen("boss");
    hub.hook("boss", prompt(Wake));
    hub.tells("boss", stop("done"), "complete");
    tells(&hub.run(&notify(vec![sent("boss", "primary")])), "message");
    tells(
        &hub.run(&notify(vec![sent("boss", "all")])),
        "message person!",
    );
}

#[test]
fn a_reader_that_is_parent_and_primary_is_notified_once() {
    let mut hub = Hub::new();
    hub.chosen("boss");
    hub.worker("w1", "boss");
    let complete = || notify(vec![said("w1", Kind::Complete)]);
    tells(&hub.run(&complete()), "complete primary!");
    hub.hook("lead", AgentEvent::Started);
    hub.run(&take_primary("lead"));
    tells(&hub.run(&complete()), "complete boss! primary!");
}

/// Info of a session of process 7 with the agent's title `title`.
fn titled(title: &str) -> SessionInfo {
    SessionInfo {
        title: Some(title.into()),
        name: Some("main".into()),
        ..process(7)
    }
}

#[test]
fn a_former_name_does_not_resolve_in_another_project() {
    let mut hub = Hub::new();
    hub.hook_of("uuid", titled("main"), AgentEvent::Started);
    hub.hook_of("uuid", titled("login"), AgentEvent::Seen);
    hub.restart();
    assert_eq!(found(&hub, "main").as_deref(), Some("uuid"));
    let elsewhere: ProjectName = "elsewhere".parse().unwrap();
    let place = |text| hub.state.resolve_key(elsewhere.clone(), name(text));
    assert_eq!(place("main"), (elsewhere.clone(), name("main")));
    assert_eq!(place("uuid"), (project(), name("uuid")), "an agent's id");
    let hook = Hook {
        project: elsewhere.clone(),
        given: Some(name("main")),
        id: name("another"),
        info: SessionInfo::default(),
        happened: AgentEvent::Started,
        event: "Test".into(),
        watched: false,
        held: false,
        once: None,
        derived_at: None,
    };
    let (place, _) = hub.state.key_of_hook(&hook);
    assert_eq!(place, (elsewhere, name("main")));
}

#[test]
fn a_former_name_is_kept_when_the_agent_has_another_id() {
    let mut hub = Hub::new();
    hub.hook_of("old", titled("first"), AgentEvent::Started);
    hub.hook_of("cleared", titled("first"), AgentEvent::Started);
    hub.hook_of("cleared", titled("second"), AgentEvent::Seen);
    hub.hook_of("again", titled("third"), AgentEvent::Started);
    hub.restart();
    for text in ["first", "second", "third", "cleared", "again"] {
        assert_eq!(found(&hub, text).as_deref(), Some("old"), "{text}");
    }
}

#[test]
fn a_former_name_passes_to_the_session_that_had_it_last() {
    let mut hub = Hub::new();
    hub.hook_of("uuid", titled("first"), AgentEvent::Started);
    hub.hook_of("uuid", titled("second"), AgentEvent::Seen);
    hub.end("uuid", false);
    hub.hook_of("next", named("first"), AgentEvent::Started);
    hub.restart();
    assert_eq!(found(&hub, "first").as_deref(), Some("next"));
    hub.hook_of("uuid", titled("second"), AgentEvent::Started);
    hub.restart();
    assert_eq!(found(&hub, "first").as_deref(), Some("next"));
    assert_eq!(found(&hub, "second").as_deref(), Some("uuid"));
}
