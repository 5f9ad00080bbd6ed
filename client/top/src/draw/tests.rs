use hub_protocol::Control;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::*;
use crate::app::tests::app;
use crate::store::fixture::at;

fn buffer(app: &mut App, columns: u16, rows: u16, look: Look) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal
        .draw(|frame| draw(frame, app, at(100), look))
        .expect("a drawing");
    terminal.backend().buffer().clone()
}

/// The rows of the screen without colours.
fn screen(app: &mut App, columns: u16, rows: u16) -> Vec<String> {
    let buffer = buffer(app, columns, rows, Look { colours: false });
    let cells = buffer.content.chunks(columns.into());
    let rows = cells.map(|row| {
        row.iter()
            .map(ratatui::buffer::Cell::symbol)
            .collect::<String>()
    });
    rows.map(|row| row.trim_end().to_owned()).collect()
}

#[test]
fn a_common_terminal_shows_who_needs_the_person_the_board_and_the_details() {
    let rows = screen(&mut app(), 80, 24);
    let expected = [
        "hub top · 5 need you · 6 sessions",
        "For you (5)",
        "question   db                 1 min  default          Which db?",
        "error      ci                 1 min  default          main is red",
        "permission web                1 min  default          git push",
        "your turn  docs               1 min  default          The page is written.",
        "plan       api                1 min  default          A plan",
        "Working (1)",
    ];
    assert_eq!(rows[..8], expected);
    let details = rows[12..].join("\n");
    assert!(
        details.contains("Which db?\n1 postgres\n2 sqlite"),
        "{details}"
    );
    let hints = "j k move · Enter answer · a approve · d deny · u undo · ? help · q quit";
    assert_eq!(rows[23], hints);
}

#[test]
fn forty_columns_show_name_age_and_text() {
    let rows = screen(&mut app(), 40, 24);
    assert_eq!(rows[4], "permission web          1 min  git push");
}

#[test]
fn a_wide_terminal_has_the_details_beside_the_list() {
    let rows = screen(&mut app(), 140, 20);
    assert!(
        rows.iter()
            .any(|row| row.contains("For you (5)") || row.contains("db · question"))
    );
    let beside = rows
        .iter()
        .any(|row| row.starts_with("permission") && row.contains('│'));
    assert!(beside, "{rows:#?}");
}

#[test]
fn no_size_is_too_small() {
    for (columns, rows) in [(1, 1), (2, 3), (9, 2), (20, 5), (300, 80)] {
        for key in ['?', 'r', 'j'] {
            let mut app = app();
            app.press(KeyEvent::from(KeyCode::Char(key)), at(100));
            screen(&mut app, columns, rows);
        }
    }
}

#[test]
fn an_absent_hub_is_shown_with_its_reason_and_the_next_try() {
    let mut app = app();
    app.link = Link::Away("nothing listens\u{1b}[2J".into(), at(103));
    let rows = screen(&mut app, 80, 24);
    assert_eq!(
        rows[1],
        "The hub is away, next try in 3 s: nothing listens\\u001b[2J"
    );
}

#[test]
fn a_held_answer_counts_down_in_its_row() {
    let mut app = app();
    app.press(KeyEvent::from(KeyCode::Char('2')), at(100));
    let rows = screen(&mut app, 80, 24);
    assert!(rows[2].ends_with("→ sqlite in 5 s · u undo"), "{}", rows[2]);
}

#[test]
fn the_input_line_shows_the_end_of_a_long_text() {
    let mut app = app();
    app.press(KeyEvent::from(KeyCode::Char('r')), at(100));
    app.paste(&"long ".repeat(30));
    app.paste("end\u{202e}");
    let rows = screen(&mut app, 40, 24);
    assert!(
        rows[23].starts_with("To db: ") && rows[23].ends_with("end\\u202e"),
        "{}",
        rows[23]
    );
}

#[test]
fn no_cell_is_coloured_where_colours_are_unwanted() {
    let is_plain = |colours| {
        let buffer = buffer(&mut app(), 80, 24, Look { colours });
        buffer
            .content
            .iter()
            .all(|it| it.fg == Color::Reset && it.bg == Color::Reset)
    };
    assert!(is_plain(false));
    assert!(!is_plain(true));
}

#[test]
fn a_long_text_is_scrolled_to_its_end_and_no_further() {
    let mut app = app();
    let lines: Vec<String> = (0..60).map(|n| format!("line {n}\n")).collect();
    let [Control::Choice(choice)] = &mut app.store.needs[0].whole.as_mut().unwrap().controls[..]
    else {
        panic!("options");
    };
    choice.question = lines.concat();
    assert!(screen(&mut app, 80, 24)[22].contains("more, PgDn"));
    for _ in 0..40 {
        app.press(KeyEvent::from(KeyCode::PageDown), at(100));
        screen(&mut app, 80, 24);
    }
    let rows = screen(&mut app, 80, 24);
    assert_eq!(rows[22], "2 sqlite");
    app.press(KeyEvent::from(KeyCode::Enter), at(100));
}
