//! The number of inboxes is bounded, and so are the number and the size of sessions. What is over makes room.

use super::listeners::listen;
use super::*;

fn to_new_inboxes(project: &str, count: usize) -> Vec<Draft> {
    (0..count)
        .map(|n| sent("ci", &format!("inbox-{n}")).project(project))
        .collect()
}

fn too_many(scope: &'static str, cap: usize) -> Refusal {
    Refusal::TooManyInboxes { scope, cap }
}

#[test]
fn a_project_has_a_thousand_inboxes_at_most() {
    let mut hub = Hub::new();
    hub.run(&notify(to_new_inboxes("p", 1000)));
    let refused = hub.try_notify(vec![sent("ci", "one-more").project("p")]);
    assert_eq!(refused, Err(too_many("the project", 1000)));
    hub.run(&notify(to_new_inboxes("p", 1000)));
    hub.say(sent("ci", "elsewhere"));
}

#[test]
fn a_batch_cannot_pass_the_cap_either() {
    let mut hub = Hub::new();
    let batch = to_new_inboxes("p", 1001);
    assert_eq!(hub.try_notify(batch), Err(too_many("the project", 1000)));
    assert_eq!(hub.state.inboxes.iter(None).count(), 0);
}

#[test]
fn all_projects_have_ten_thousand_inboxes_at_most() {
    let mut hub = Hub::new();
    for n in 0..9 {
        hub.run(&notify(to_new_inboxes(&format!("p{n}"), 1000)));
    }
    hub.run(&notify(to_new_inboxes("q", 999)));
    let two_more = [to_new_inboxes("r", 1), to_new_inboxes("s", 1)].concat();
    assert_eq!(hub.try_notify(two_more), Err(too_many("the hub", 10_000)));
    hub.run(&notify(to_new_inboxes("r", 1)));
    assert_eq!(hub.state.inboxes.iter(None).count(), 10_000);
}

#[test]
fn closing_an_inbox_frees_its_slot() {
    let mut hub = Hub::new();
    hub.run(&notify(to_new_inboxes(ProjectName::DEFAULT, 1000)));
    hub.close("inbox-7").unwrap();
    hub.say(sent("ci", "another"));
    assert_eq!(hub.state.inboxes.iter(Some(&project())).count(), 1000);
}

#[test]
fn the_empty_inboxes_of_ended_sessions_make_room_for_the_next_session() {
    let mut hub = Hub::new();
    hub.hook("lives", AgentEvent::Started);
    let id = hub.say(sent("ci", "lives"));
    hub.ack("lives", &[id]);
    let mut kept = Vec::new();
    for n in 0..1200 {
        let session = format!("s{n}");
        hub.hook(&session, AgentEvent::Started);
        let id = hub.say(sent("ci", &session));
        if n == 500 {
            kept.push(id);
        } else {
            hub.ack(&session, &[id]);
        }
        hub.hook(&session, AgentEvent::Ended);
    }
    hub.restart();
    assert_eq!(hub.state.inboxes.iter(Some(&project())).count(), 1000);
    for (session, exists) in [
        ("s0", false),
        ("s199", false),
        ("s1199", true),
        ("lives", true),
    ] {
        assert_eq!(hub.inbox(session).is_some(), exists, "{session}");
    }
    assert_eq!(hub.pending("s500"), kept);
}

#[test]
fn empty_inboxes_of_all_projects_make_room_at_the_cap_of_the_hub() {
    let mut hub = Hub::new();
    for n in 0..10 {
        hub.run(&notify(to_new_inboxes(&format!("p{n}"), 1000)));
    }
    let another = || vec![sent("ci", "one-more").project("q")];
    assert_eq!(hub.try_notify(another()), Err(too_many("the hub", 10_000)));
    let emptied = name("inbox-7");
    let p3 = "p3".parse().unwrap();
    let pending = hub.state.inboxes.get(&p3, &emptied).unwrap();
    let ids = pending.pending().map(|it| it.seq).collect();
    hub.run(&Command::Withdraw { ids });
    hub.run(&notify(another()));
    assert_eq!(hub.state.inboxes.iter(None).count(), 10_000);
    assert!(hub.state.inboxes.get(&p3, &emptied).is_none());
}

#[test]
fn an_inbox_that_a_batch_fills_makes_no_room_for_the_batch() {
    let full = || {
        let mut hub = Hub::new();
        hub.run(&notify(to_new_inboxes(ProjectName::DEFAULT, 1000)));
        hub.withdraw(1);
        hub
    };
    for batch in [["inbox-0", "new"], ["new", "inbox-0"]] {
        let mut hub = full();
        let drafts = || batch.map(|to| sent("ci", to)).to_vec();
        assert_eq!(
            hub.try_notify(drafts()),
            Err(too_many("the project", 1000)),
            "{batch:?}"
        );
        hub.withdraw(2);
        hub.run(&notify(drafts()));
        assert_eq!(hub.pending("inbox-0").len(), 1, "{batch:?}");
        assert_eq!(hub.pending("new").len(), 1, "{batch:?}");
        assert!(hub.inbox("inbox-1").is_none(), "{batch:?}");
        hub.restart();
    }
}

#[test]
fn an_inbox_that_a_rule_fills_makes_no_room_for_its_notification() {
    let mut hub = Hub::new();
    let rule = "[[on]]\nname = 'r'\ntype = ['error']\nnotify = { to = 'inbox-0', msg = 'm' }\n";
    hub.rules = hub_core::rule::parse(rule).unwrap();
    hub.run(&notify(to_new_inboxes(ProjectName::DEFAULT, 1000)));
    hub.withdraw(1);
    hub.withdraw(2);
    hub.run(&notify(vec![said("ci", Kind::Error).to("new")]));
    assert_eq!(hub.pending("inbox-0").len(), 1);
    assert_eq!(hub.pending("new").len(), 1);
    assert!(hub.inbox("inbox-1").is_none());
}

#[test]
fn a_thousand_questions_are_open_at_most_besides_those_of_hooks() {
    let mut hub = Hub::new();
    for _ in 0..1000 {
        hub.say(said("w1", Kind::Question));
    }
    let refused = hub.try_notify(vec![said("w1", Kind::Approval)]);
    assert_eq!(refused, Err(Refusal::TooManyQuestions { cap: 1000 }));
    let key = "hook:permission";
    hub.say(said("w1", Kind::Approval).key(key));
    hub.withdraw(1);
    hub.say(said("w1", Kind::Question));
}

fn titled(bytes: usize) -> SessionInfo {
    SessionInfo {
        title: Some("t".repeat(bytes)),
        ..SessionInfo::default()
    }
}

#[test]
fn a_thousand_registered_sessions_live_at_most() {
    let mut hub = Hub::new();
    for n in 0..1000 {
        hub.run(&register(&format!("s{n}"), SessionInfo::default()));
    }
    let refused = Err(Refusal::TooManySessions { cap: 1000 });
    let another = register("one-more", SessionInfo::default());
    assert_eq!(hub.ask(&another), refused);
    let hook = hook("one-more", AgentEvent::Started);
    assert_eq!(hub.ask(&Command::Hook(Box::new(hook))), refused);
    hub.run(&register("s7", titled(10)));
    hub.hook("s7", AgentEvent::Ended);
    hub.run(&another);
    assert_eq!(hub.ask(&register("s7", titled(20))), refused, "it resumes");
}

#[test]
fn a_live_session_that_was_silent_for_a_week_makes_room_and_lives_again_when_it_goes_on() {
    let mut hub = Hub::new();
    hub.run(&register("asks", SessionInfo::default()));
    hub.say(said("asks", Kind::Question));
    for n in 1..1000 {
        hub.run(&register(&format!("s{n}"), SessionInfo::default()));
    }
    hub.run(&listen("s1", "later", Some(30 * DAY), true));
    let another = register("one-more", SessionInfo::default());
    hub.pass(7 * DAY);
    assert!(hub.ask(&another).is_err());
    hub.pass(1);
    hub.hook("s2", AgentEvent::Started);
    hub.hook("s2", prompt(Wake));
    hub.run(&another);
    let alive = |hub: &Hub, id: &str| hub.session(id).is_alive();
    assert!(!alive(&hub, "s1"));
    assert_eq!(hub.state.listeners(&project(), &name("later")).count(), 0);
    hub.run(&register("s1", SessionInfo::default()));
    let over: Vec<bool> = ["asks", "s1", "s2", "s3", "s4", "one-more"]
        .map(|id| alive(&hub, id))
        .to_vec();
    assert_eq!(over, [true, true, true, false, true, true]);
}

#[test]
fn one_registration_has_32_kib_in_all() {
    let mut hub = Hub::new();
    hub.run(&register("s", titled(20_000)));
    let branch = SessionInfo {
        branch: Some("b".repeat(20_000)),
        ..SessionInfo::default()
    };
    let refused = hub.ask(&register("s", branch));
    assert_eq!(refused, Err(Refusal::SessionTooLarge { cap: 32 * 1024 }));
    hub.run(&register("s", titled(30_000)));
}

#[test]
fn all_registrations_have_16_mib_and_ended_sessions_make_room() {
    let mut hub = Hub::new();
    for n in 0..523 {
        hub.run(&register(&format!("s{n}"), titled(32_000)));
    }
    let another = |n: u32| register(&format!("more{n}"), titled(32_000));
    let refused = hub.ask(&another(1));
    assert_eq!(refused, Err(Refusal::SessionsTooLarge { cap: 16 << 20 }));
    hub.say(sent("ci", "s5"));
    for ended in ["s5", "s7", "s3"] {
        hub.hook(ended, AgentEvent::Ended);
    }
    hub.restart();
    hub.run(&another(1));
    assert!(hub.state.sessions.get(&project(), &name("s7")).is_none());
    assert!(hub.state.sessions.get(&project(), &name("s3")).is_some());
    hub.run(&another(2));
    assert!(hub.ask(&another(3)).is_err());
    assert_eq!(hub.pending("s5").len(), 1, "it was not read yet");
}

#[test]
fn the_last_64_ids_and_former_names_mean_a_session() {
    let mut hub = Hub::new();
    for n in 0..70 {
        hub.changed_hook(&format!("id{n}"), AgentEvent::Started, |hook| {
            hook.given = Some(name("w1"));
            hook.info.title = Some(format!("title{n}"));
        });
    }
    let find = |hub: &Hub, text: &str| hub.state.sessions.find_key(&project(), &name(text));
    let finds = |hub: &Hub, text: &str| find(hub, text).is_some();
    for (text, known) in [
        ("id5", false),
        ("id6", true),
        ("id69", true),
        ("title4", false),
        ("title5", true),
        ("title69", true),
    ] {
        assert_eq!(finds(&hub, text), known, "{text}");
    }
    hub.restart();
}
