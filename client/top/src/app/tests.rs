use hub_protocol::{Choice, Chosen, Control, Decision, Offer};
use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use super::*;
use crate::store::fixture::{at, store};

/// The state after the first view has rested on the screen for a second.
pub(crate) fn app() -> App {
    let store = store();
    let mut app = App {
        store,
        link: Link::Live,
        ..App::default()
    };
    app.tick(at(99));
    app
}

/// Presses the keys of a text, in which a line feed is Enter.
fn press(app: &mut App, keys: &str, now: Timestamp) -> Vec<Request> {
    let codes = keys.chars().map(|c| match c {
        '\n' => KeyCode::Enter,
        '\u{1b}' => KeyCode::Esc,
        c => KeyCode::Char(c),
    });
    let events = codes.map(|code| KeyEvent::new(code, KeyModifiers::NONE));
    let drawn = |it| {
        let requests = app.press(it, now);
        // The next frame shows the whole request.
        app.drawn();
        requests
    };
    events.flat_map(drawn).collect()
}

/// The answers that are sent at `now`, as `ID answer`.
fn answers(app: &mut App, now: Timestamp) -> Vec<String> {
    let requests = app.tick(now).into_iter();
    let answers = requests.filter_map(|it| match it {
        Request::Answer { id, answer, .. } => Some(format!("{id} {answer}")),
        _ => None,
    });
    answers.collect()
}

fn needs(app: &App, without: &str) -> Update {
    let needs = app.store.needs.iter();
    Update::Needs(needs.filter(|it| it.id != without).cloned().collect())
}

/// The controls of the need at this place of the list.
fn controls(app: &mut App, at: usize) -> &mut Vec<Control> {
    let whole = app.store.needs[at].whole.as_mut();
    &mut whole.expect("all of it").controls
}

#[test]
fn an_option_is_chosen_by_its_digit_and_sent_after_five_seconds() {
    let mut app = app();
    assert_eq!(press(&mut app, "92", at(100)), []);
    assert_eq!(answers(&mut app, at(104)), [""; 0]);
    assert_eq!(answers(&mut app, at(105)), ["10 sqlite"]);
}

#[test]
fn an_answer_that_is_undone_is_not_sent() {
    let mut app = app();
    press(&mut app, "1u", at(100));
    assert_eq!(app.note, "Not sent: postgres");
    assert_eq!(answers(&mut app, at(100)), [""; 0]);
    app.tick(at(114));
    assert_eq!(app.note, "Not sent: postgres");
    app.tick(at(115));
    assert_eq!(app.note, "", "it has been read");
    assert_eq!(answers(&mut app, at(200)), [""; 0]);
}

#[test]
fn a_permission_is_approved_or_denied_with_a_reason() {
    let mut app = app();
    press(&mut app, "jjad", at(100));
    assert_eq!(answers(&mut app, at(105)), ["25 allow"]);
    app.apply(
        Update::Answered("25".into(), Err("refused".into())),
        at(105),
    );
    press(&mut app, "dnot on main\n", at(106));
    let sent = Request::Answer {
        id: "25".into(),
        revision: 25,
        answer: Answer::Verdict(Decision::Deny, Some("not on main".into())),
    };
    assert_eq!(press(&mut app, "\n", at(107)), [sent]);
    app.apply(
        Update::Answered("25".into(), Err("refused".into())),
        at(107),
    );
    press(&mut app, "d\n", at(108));
    assert_eq!(answers(&mut app, at(113)), ["25 deny"]);
    app.apply(
        Update::Answered("25".into(), Err("refused".into())),
        at(113),
    );
    press(&mut app, "A", at(114));
    assert_eq!(answers(&mut app, at(119)), ["25 allow always"]);
}

#[test]
fn a_request_is_approved_only_if_the_hub_has_all_of_it_and_it_was_drawn_to_its_end() {
    let mut app = app();
    press(&mut app, "j", at(100));
    app.press(KeyCode::Char('j').into(), at(100));
    for key in ['a', 'A'] {
        app.press(KeyCode::Char(key).into(), at(100));
        assert_eq!(app.note, "Read it to its end first: PgDn");
    }
    let Some(Control::Verdict { allow, .. }) = controls(&mut app, 2).first_mut() else {
        panic!("a permission");
    };
    *allow = false;
    for key in ["a", "A"] {
        press(&mut app, key, at(100));
        assert!(
            app.note.contains("only the agent's own terminal"),
            "{}",
            app.note
        );
    }
    assert_eq!(answers(&mut app, at(200)), [""; 0]);
    press(&mut app, "d\n", at(201));
    assert_eq!(answers(&mut app, at(206)), ["25 deny"]);
}

#[test]
fn a_key_that_fits_no_question_answers_nothing() {
    let mut app = app();
    press(&mut app, "aAd", at(100));
    press(&mut app, "jjjjj1a2", at(100));
    assert_eq!(answers(&mut app, at(200)), [""; 0]);
}

#[test]
fn a_decision_just_after_the_list_moved_is_ignored() {
    let mut app = app();
    press(&mut app, "jjj", at(100));
    press(&mut app, "k", at(100));
    let update = needs(&app, "25");
    app.apply(update, at(110));
    let soon = at(110).plus_millis(MISPRESS - 1);
    press(&mut app, "s", soon);
    assert_eq!(app.note, "The list has just moved: press the key again");
    assert_eq!(
        press(&mut app, "s", at(111)),
        [Request::Mark {
            ids: vec![78],
            seen: true
        }]
    );
    assert_eq!(
        press(&mut app, "u", at(111)),
        [Request::Mark {
            ids: vec![78],
            seen: false
        }]
    );
}

#[test]
fn the_selection_stays_on_its_row_when_rows_come_and_go() {
    let mut app = app();
    press(&mut app, "jj", at(100));
    let update = needs(&app, "10");
    app.apply(update, at(101));
    press(&mut app, "a", at(101));
    assert_eq!(answers(&mut app, at(106)), ["25 allow"]);
}

#[test]
fn the_first_need_is_selected_once_there_is_one() {
    let mut app = app();
    let store = std::mem::take(&mut app.store);
    app.tick(at(100));
    app.store.sessions = vec![crate::store::fixture::session("w1", "working", 1)];
    app.tick(at(101));
    app.store = store;
    app.tick(at(102));
    press(&mut app, "2", at(103));
    assert_eq!(answers(&mut app, at(108)), ["10 sqlite"]);
}

#[test]
fn the_answer_to_a_question_that_was_settled_elsewhere_is_not_sent() {
    let mut app = app();
    press(&mut app, "1", at(100));
    let update = needs(&app, "10");
    app.apply(update, at(101));
    assert!(app.note.contains("settled elsewhere"), "{}", app.note);
    assert_eq!(answers(&mut app, at(200)), [""; 0]);
}

#[test]
fn a_reply_answers_the_need_of_a_session_that_has_stopped_and_can_be_undone() {
    let mut app = app();
    press(&mut app, "jjjrgo on\nu", at(100));
    assert_eq!(answers(&mut app, at(200)), [""; 0]);
    press(&mut app, "rgo on\n", at(201));
    let sent = Request::Answer {
        id: "s28".into(),
        revision: 78,
        answer: Answer::Reply("go on".into()),
    };
    assert_eq!(press(&mut app, "\n", at(202)), [sent]);
    assert!(!app.zoomed);
    press(&mut app, "kkrretry\n", at(203));
    assert_eq!(answers(&mut app, at(208)), ["s20 retry"]);
}

#[test]
fn a_session_that_has_died_gets_no_message() {
    let mut app = app();
    app.store.needs[3].kind = hub_protocol::NeedKind::Died;
    app.store.needs[3].answerable = false;
    press(&mut app, "jjjr", at(100));
    assert_eq!(app.note, "Its session has ended");
    assert_eq!(press(&mut app, "\n", at(100)), []);
}

#[test]
fn only_a_pane_is_offered_as_the_terminal_of_a_question() {
    let mut app = app();
    app.store.needs[0].answerable = false;
    press(&mut app, "1", at(100));
    assert_eq!(app.note, "The hub cannot deliver an answer there");
    app.store.sessions[0].info.pane = Some("%7".into());
    press(&mut app, "1", at(100));
    assert!(app.note.ends_with("g goes to its terminal"), "{}", app.note);
}

#[test]
fn a_message_to_a_session_that_works_is_a_reply_to_its_last_words() {
    let mut app = app();
    let message = |to: &str, reply_to| Request::Message {
        to: to.into(),
        project: ProjectName::default(),
        msg: "go on".into(),
        reply_to,
    };
    assert_eq!(
        press(&mut app, "jjjjjrgo on\n", at(100)),
        [message("build", Some(90))]
    );
    assert_eq!(
        press(&mut app, "kkkrgo on\n", at(100)),
        [message("web", None)]
    );
    assert_eq!(press(&mut app, "r\u{1b}r\n", at(100)), [], "no text");
}

#[test]
fn a_text_answers_a_question_and_going_names_the_session() {
    let mut app = app();
    press(&mut app, "\nneither\n", at(100));
    assert_eq!(answers(&mut app, at(105)), ["10 neither"]);
    let go = Request::Go {
        id: "db".into(),
        project: ProjectName::default(),
    };
    assert_eq!(press(&mut app, "g", at(106)), [go]);
}

#[test]
fn a_plan_is_approved_with_its_edits() {
    let mut app = app();
    press(&mut app, "jjjjA", at(100));
    assert_eq!(answers(&mut app, at(105)), ["30 approve: accept edits"]);
}

/// A question of a dialog with these options.
fn choice(many: bool, options: &[&str]) -> Control {
    let offer = |label: &&str| Offer {
        label: (*label).to_owned(),
        ..Offer::default()
    };
    Control::Choice(Choice {
        many,
        options: options.iter().map(offer).collect(),
        ..Choice::default()
    })
}

#[test]
fn a_dialog_of_several_questions_is_answered_by_labels_and_texts() {
    let mut app = app();
    let db = choice(false, &["postgres; 16", "sqlite"]);
    let checks = choice(true, &["unit", "fuzz"]);
    *controls(&mut app, 0) = vec![db.clone(), checks, db];
    press(&mut app, "1", at(100));
    press(&mut app, "12\n", at(101));
    assert_eq!(answers(&mut app, at(200)), [""; 0], "a question is left");
    press(&mut app, "\nneither\n", at(201));
    let labels = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    let chosen = |all: &[&str]| Chosen {
        labels: labels(all),
        text: None,
    };
    let neither = Chosen {
        labels: Vec::new(),
        text: Some("neither".into()),
    };
    let sent = vec![
        chosen(&["postgres; 16"]),
        chosen(&["unit", "fuzz"]),
        neither,
    ];
    let request = Request::Answer {
        id: "10".into(),
        revision: 10,
        answer: Answer::Choices(sent),
    };
    assert_eq!(app.tick(at(206)).first(), Some(&request));
    app.apply(
        Update::Answered("10".into(), Err("refused".into())),
        at(206),
    );
    press(&mut app, "2", at(207));
    assert_eq!(app.note, "", "it begins again");
}

#[test]
fn a_form_is_filled_in_as_json_or_declined() {
    let mut app = app();
    let fields = serde_json::from_str(r#"[{"name": "n", "label": "n", "type": "integer"}]"#);
    let fields = fields.expect("fields");
    *controls(&mut app, 0) = vec![Control::Form { fields }];
    press(&mut app, "\n!\n", at(100));
    assert_eq!(app.note, "The form is not a JSON object");
    app.press(KeyCode::Backspace.into(), at(100));
    press(&mut app, "\n", at(100));
    assert_eq!(answers(&mut app, at(105)), [r#"10 {"n":0}"#]);
    app.apply(
        Update::Answered("10".into(), Err("refused".into())),
        at(105),
    );
    press(&mut app, "d", at(106));
    assert_eq!(answers(&mut app, at(111)), ["10 deny"]);
}

#[test]
fn a_search_leaves_the_rows_that_have_its_text_until_escape() {
    let mut app = app();
    press(&mut app, "/PUSH", at(100));
    let keys = |app: &App| app.keys().join(" ");
    assert_eq!((keys(&app), app.count()), ("25".into(), 5));
    press(&mut app, "\n", at(100));
    press(&mut app, "a", at(101));
    assert_eq!(answers(&mut app, at(106)), ["25 allow"]);
    press(&mut app, "\u{1b}", at(107));
    assert_eq!(app.keys().len(), 6);
    press(&mut app, "/nothing\n\u{1b}", at(108));
    assert_eq!(app.keys().len(), 6);
}

#[test]
fn a_pasted_text_is_no_keys() {
    let mut app = app();
    app.paste("2\n2");
    assert_eq!(answers(&mut app, at(200)), [""; 0]);
    press(&mut app, "\n", at(200));
    app.paste("a\nb");
    press(&mut app, "\n", at(200));
    assert_eq!(answers(&mut app, at(205)), ["10 a\nb"]);
}

#[test]
fn a_thread_is_requested_once_the_selection_rests() {
    let mut app = app();
    assert_eq!(app.tick(at(100)), [Request::Thread(10)]);
    assert_eq!(app.tick(at(101)), []);
    press(&mut app, "j", at(102));
    assert_eq!(app.tick(at(102)), []);
    assert_eq!(app.tick(at(103)), [Request::Thread(70)]);
}

#[test]
fn a_need_is_loaded_when_it_is_selected_and_approved_only_once_all_of_it_was_drawn() {
    let mut app = app();
    let whole = app.store.needs[2].clone();
    let mut brief = app.store.needs.clone();
    brief[2].whole = None;
    app.store.needs.clone_from(&brief);
    press(&mut app, "jj", at(100));
    let load = [Request::Whole("25".into())];
    assert_eq!(app.tick(at(100)), load);
    press(&mut app, "a", at(100));
    assert_eq!(app.note, "It is not loaded yet: press the key again");
    app.apply(Update::Whole("25".into(), None), at(100));
    assert_eq!(app.tick(at(100)), load, "the hub did not give it");
    app.apply(Update::Whole("25".into(), Some(Box::new(whole))), at(100));
    app.press(KeyCode::Char('a').into(), at(100));
    assert_eq!(app.note, "Read it to its end first: PgDn");
    app.drawn();
    app.apply(Update::Needs(brief.clone()), at(100));
    press(&mut app, "a", at(100));
    assert_eq!(answers(&mut app, at(105)), ["25 allow"]);
    brief[2].revision += 1;
    app.apply(Update::Needs(brief), at(106));
    assert_eq!(app.tick(at(106)), load, "it says something else");
}
