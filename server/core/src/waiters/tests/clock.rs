//! The wall clock is set.

use hub_protocol::ToolCall;

use super::*;

#[test]
fn every_time_moves_with_the_wall_clock() {
    let mut place = Place::new();
    let (began, session) = (place.now.wall, (ProjectName::default(), name("w1")));
    let woken = place.wait(spec(&["primary"]));
    place.say(&DONE);
    place.presence.read(&name("primary"), &[1], place.now);
    drop(woken);
    let _waiter = place.wait(spec(&["w1"]));
    let (until, delays) = (began, false);
    let _held = place.presence.hold(1, HeldTime { until, delays });
    let activity = place.presence.activity();
    activity.note(session.clone(), began);
    let call = ToolCall {
        name: "Bash".into(),
        on: String::new(),
        since: began,
    };
    activity.note_tool(session.clone(), "1", ToolReport::Began(call));
    let hour_ms = 3_600_000;
    place.presence.shift(hour_ms);
    let presence = &place.presence;
    let holder = presence.holder(&session.0, &session.1);
    let (wakes, _) = presence.wakes_since(Timestamp::default());
    let times = [
        holder.expect("a waiter").since,
        presence.tool(&session).expect("a tool call").since,
        presence
            .activity
            .seen(&session.0, &session.1)
            .expect("a time"),
        presence.held_time(1).expect("a held request").until,
        wakes[0].at,
    ];
    assert_eq!(times, [began.plus_millis(hour_ms); 5]);
}
