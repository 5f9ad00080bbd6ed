//! The number of inboxes is bounded.

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
    assert_eq!(hub.state.inboxes(None).count(), 0);
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
    assert_eq!(hub.state.inboxes(None).count(), 10_000);
}

#[test]
fn closing_an_inbox_frees_its_slot() {
    let mut hub = Hub::new();
    hub.run(&notify(to_new_inboxes(ProjectName::DEFAULT, 1000)));
    hub.close("inbox-7").unwrap();
    hub.say(sent("ci", "another"));
    assert_eq!(hub.state.inboxes(Some(&project())).count(), 1000);
}
