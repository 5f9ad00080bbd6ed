//! The registry: sessions with their names, roles and parents.

use super::listeners::listen;
use super::*;

fn in_main() -> SessionInfo {
    info(|it| it.main_worktree = Some(true))
}

impl Hub {
    pub(super) fn take_primary(&mut self, session: &str) -> Vec<Record> {
        let (project, session) = (project(), name(session));
        self.run(&Command::TakePrimary { project, session })
    }
}

#[test]
fn equal_session_info_records_nothing() {
    let mut hub = Hub::new();
    assert_eq!(hub.run(&register("w1", named("fix"))).len(), 1);
    assert_eq!(hub.run(&register("w1", named("fix"))), []);
    let hooks_live = hub.hook("w1", AgentEvent::Started);
    assert_eq!(hooks_live.len(), 1);
    assert_eq!(hub.hook("w1", AgentEvent::Started), []);
}

#[test]
fn a_command_of_hubctl_run_works_until_it_ends_or_an_agent_in_it_reports_its_turns() {
    let mut hub = Hub::new();
    hub.run(&register("plain", SessionInfo::default()));
    assert_eq!(hub.state_of("plain"), None);
    let works = Some(SessionState::Working);
    for job in ["job", "agent", "late"] {
        hub.run(&runs(job));
        hub.restart();
        assert_eq!(hub.state_of(job), works);
        assert_eq!(hub.run(&runs(job)), [], "its request is repeated");
    }
    hub.start("agent", SessionInfo::default());
    assert_eq!(hub.state_of("agent"), None, "it waits for its prompt");
    assert_eq!(hub.run(&runs("agent")), []);
    hub.hook("late", AgentEvent::Worked);
    hub.restart();
    assert_eq!(hub.state_of("late"), works);
    assert!(!hub.session("late").is_job());
    tells(&hub.end("job", true), "error primary!");
    hub.last_is("Agent job died unfinished: its process is gone");
    hub.run(&register("job", SessionInfo::default()));
    assert_eq!(hub.state_of("job"), None, "nobody says that it runs");
}

#[test]
fn absent_fields_keep_their_values() {
    let mut hub = Hub::new();
    hub.run(&register("w1", in_main()));
    hub.run(&register("w1", process(7)));
    let info = hub.session("w1").info().unwrap();
    let kept = (info.main_worktree, &info.process);
    assert_eq!(kept, (Some(true), &process(7).process));
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
        assert_eq!(hub.session(id).name(), Some(given));
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
        hub.start(&id, named("proj"));
        assert_eq!(hub.session(&id).name(), Some("proj"), "run {run}");
        hub.say(sent("ci", "proj"));
        assert_eq!(hub.pending(&id).len(), 1, "run {run}");
        hub.end(&id, false);
    }
    hub.start("uuid-live", named("proj"));
    hub.restart();
    hub.finds("proj", Some("uuid-live"));
    hub.finds("pro", Some("uuid-live"));
    let dead = hub.session("uuid-3");
    assert_eq!((dead.name(), dead.shown_name()), (None, Some("proj")));
    hub.start("uuid-3", named("proj"));
    let resumed = hub.session("uuid-3");
    assert_eq!(resumed.name(), Some("proj-2"), "the live one keeps it");
    hub.restart();
    hub.finds("proj", Some("uuid-live"));
}

#[test]
fn an_agents_title_wins_and_the_previous_name_still_resolves() {
    let mut hub = Hub::new();
    hub.start("uuid", named("f8-w"));
    let titled = |title: &str| SessionInfo {
        title: Some(title.into()),
        ..named("f8-w")
    };
    let called = |hub: &Hub| {
        let session = hub.session("uuid");
        session.name().unwrap().to_owned()
    };
    hub.hook_of("uuid", titled("Fix the login… now"), AgentEvent::Seen);
    assert_eq!(called(&hub), "Fix-the-login-now");
    hub.hook_of("uuid", titled("a ... b"), AgentEvent::Seen);
    assert_eq!(called(&hub), "a-.-b", "a name has no two dots");
    assert_eq!(hub.hook_of("uuid", titled("a ... b"), AgentEvent::Seen), []);
    hub.restart();
    for text in ["f8-w", "Fix-the-login-now", "a-.-b"] {
        hub.finds(text, Some("uuid"));
    }
}

#[test]
fn a_notification_shows_the_name_of_a_session_beside_its_opaque_id() {
    let mut hub = Hub::new();
    hub.start("uuid", named("f8-w"));
    for (from, shown) in [("uuid", true), ("f8-w", false), ("ci", false)] {
        hub.say(said(from, Kind::Complete));
        let json = hub.json(hub.state.head());
        assert_eq!(json.contains(r#""from_name":"f8-w""#), shown, "{json}");
    }
}

#[test]
fn a_session_is_found_by_id_name_alias_or_a_prefix_of_its_own() {
    let mut hub = Hub::new();
    let called = Some("fix".into());
    hub.start(
        "abc-1",
        SessionInfo {
            name: called,
            ..process(7)
        },
    );
    hub.start("new-9", process(7));
    hub.run(&register("abd-2", named("test")));
    for text in ["abc-1", "fix", "new-9", "abc", "fi", "new"] {
        hub.finds(text, Some("abc-1"));
    }
    hub.finds("ab", None);
    let refusal = hub.state.sessions.find(&project(), &name("tets"));
    let nearest = Some("test".to_owned());
    assert!(matches!(refusal, Err(Refusal::UnknownSession { nearest: it, .. }) if it == nearest));
}

#[test]
fn another_id_of_the_same_process_is_the_same_session() {
    let mut hub = Hub::new();
    hub.start("old", process(7));
    let waiting = hub.say(sent("ci", "old"));
    let question = hub.say(said("old", Kind::Question));
    hub.run(&listen("a", "old", None, true));
    hub.start("new", process(7));
    hub.restart();
    let (old, new) = (name("old"), name("new"));
    assert_eq!(hub.state.sessions.resolve(&project(), &new), &old);
    let after = hub.say(sent("ci", "new"));
    assert_eq!(hub.pending("old"), [waiting, after]);
    let own = said("new", Kind::Answer).reply_to(question);
    let refused = hub.try_notify(vec![own]);
    assert!(matches!(refused, Err(Refusal::NotAllowed(_))));
    hub.posts(
        said("new", Kind::Complete),
        "complete primary!, complete a!",
    );
    assert_eq!(hub.state.sessions.iter(None).count(), 1);
}

#[test]
fn another_process_is_another_session() {
    let mut hub = Hub::new();
    hub.start("old", process(7));
    hub.start("new", process(8));
    assert_eq!(hub.state.sessions.iter(None).count(), 2);
    hub.start("old", process(8));
    hub.start("cleared", process(8));
    hub.finds("cleared", Some("old"));
}

#[test]
fn sessions_that_share_a_process_are_several() {
    let mut hub = Hub::new();
    for id in ["one", "other"] {
        hub.changed_hook(id, AgentEvent::Started, |it| {
            (it.info, it.shares_process) = (process(7), true);
        });
    }
    assert_eq!(hub.state.sessions.iter(None).count(), 2);
}

#[test]
fn an_agents_id_resolves_to_the_session_that_had_it_last() {
    let mut hub = Hub::new();
    let mut given = |given: &str| {
        hub.changed_hook("uuid", AgentEvent::Started, |it| {
            it.given = Some(name(given));
        });
    };
    given("z");
    given("a");
    hub.restart();
    hub.finds("uuid", Some("a"));
    hub.end("a", false);
    hub.pass(DAY);
    hub.run(&Command::Tick);
    hub.restart();
    hub.finds("uuid", None);
}

#[test]
fn the_primary_is_the_first_in_the_main_worktree_until_one_has_the_role() {
    let mut hub = Hub::new();
    hub.hook("aside", AgentEvent::Started);
    assert_eq!(hub.primary(), None);
    let parent = Some(name("aside"));
    hub.start(
        "child",
        SessionInfo {
            parent,
            ..in_main()
        },
    );
    assert_eq!(hub.primary(), None, "it is a worker");
    hub.start("second", in_main());
    hub.start("a-third", in_main());
    assert_eq!(hub.primary(), Some("second"));
    hub.chosen("chosen");
    assert_eq!(hub.primary(), Some("chosen"));
    hub.take_primary("aside");
    assert_eq!(hub.take_primary("aside"), []);
    hub.restart();
    assert_eq!(hub.primary(), Some("aside"));
    hub.end("aside", false);
    assert_eq!(hub.primary(), Some("chosen"));
}

#[test]
fn the_primarys_own_notifications_never_reach_it() {
    let mut hub = Hub::new();
    hub.chosen("boss");
    hub.hook("boss", prompt(Wake));
    hub.tells("boss", stop("done"), "complete");
    hub.posts(sent("boss", "primary"), "message");
    hub.posts(sent("boss", "all"), "message person!");
}

#[test]
fn a_reader_that_is_parent_and_primary_is_notified_once() {
    let mut hub = Hub::new();
    hub.chosen("boss");
    hub.worker("w1", "boss");
    hub.posts(said("w1", Kind::Complete), "complete primary!");
    hub.start("lead", SessionInfo::default());
    hub.take_primary("lead");
    hub.posts(said("w1", Kind::Complete), "complete boss! primary!");
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
    hub.start("uuid", titled("main"));
    hub.hook_of("uuid", titled("login"), AgentEvent::Seen);
    hub.restart();
    hub.finds("main", Some("uuid"));
    let elsewhere: ProjectName = "elsewhere".parse().unwrap();
    let sessions = &hub.state.sessions;
    let place = |text| sessions.resolve_key(elsewhere.clone(), name(text));
    assert_eq!(place("main"), (elsewhere.clone(), name("main")));
    assert_eq!(place("uuid"), (project(), name("uuid")), "an agent's id");
    let mut hook = hook("another", AgentEvent::Started);
    (hook.project, hook.given) = (elsewhere.clone(), Some(name("main")));
    let (place, _) = hub.state.sessions.key_of_hook(&hook);
    assert_eq!(place, (elsewhere, name("main")));
}

#[test]
fn a_former_name_is_kept_when_the_agent_has_another_id() {
    let mut hub = Hub::new();
    hub.start("old", titled("first"));
    hub.start("cleared", titled("first"));
    hub.hook_of("cleared", titled("second"), AgentEvent::Seen);
    hub.start("again", titled("third"));
    hub.restart();
    for text in ["first", "second", "third", "cleared", "again"] {
        hub.finds(text, Some("old"));
    }
}

#[test]
fn a_former_name_passes_to_the_session_that_had_it_last() {
    let mut hub = Hub::new();
    hub.start("uuid", titled("first"));
    hub.hook_of("uuid", titled("second"), AgentEvent::Seen);
    hub.end("uuid", false);
    hub.start("next", named("first"));
    hub.restart();
    hub.finds("first", Some("next"));
    hub.start("uuid", titled("second"));
    hub.restart();
    hub.finds("first", Some("next"));
    hub.finds("second", Some("uuid"));
}
