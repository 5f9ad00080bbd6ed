//! The drawing. It decides where things are and how they look, and nothing else.

use hub_protocol::{Alert, Counted, Timestamp};
use hubctl::age;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use crate::app::{App, Link, Mode};
use crate::board::{BoardRow, activity, checkout};
use crate::details::Tone;
use crate::keys::KEYS;
use crate::needs::NeedRow;
use crate::rows::Row;
use crate::text::{cut, fit, line, width, wrap};

/// From this width on, the details are beside the list.
const WIDE: u16 = 110;
/// From this width on, a row has the columns of project and branch.
const ROOMY: usize = 70;
/// The columns of the kind of a need.
const KIND: usize = 11;
/// The keys in the last line, as many as fit, and the last two of them always.
const HINTS: [&str; 9] = [
    "j k move",
    "Enter answer",
    "a approve",
    "d deny",
    "u undo",
    "/ search",
    "r message",
    "g go",
    "e done",
];
const LAST_HINTS: &str = "? help · q quit";

/// Whether colours are used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) colours: bool,
}

impl Look {
    /// Colours, unless `NO_COLOR` is set (<https://no-color.org>).
    pub(crate) fn of_environment() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty());
        Self { colours: !unwanted }
    }

    fn style(self, tone: Tone) -> Style {
        let (colour, modifier) = match tone {
            Tone::Plain => return Style::new(),
            Tone::Strong => return Style::new().add_modifier(Modifier::BOLD),
            Tone::Dim => return Style::new().add_modifier(Modifier::DIM),
            Tone::Alert => (Color::Yellow, Modifier::BOLD),
            Tone::Code => (Color::Cyan, Modifier::empty()),
            Tone::Added => (Color::Green, Modifier::empty()),
            Tone::Removed => (Color::Red, Modifier::empty()),
        };
        let style = Style::new().add_modifier(modifier);
        if self.colours {
            style.fg(colour)
        } else {
            style
        }
    }
}

/// Draws everything at `now` of this machine's clock.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App, now: Timestamp, look: Look) {
    let away = u16::from(matches!(app.link, Link::Away(..)));
    let parts = [
        Constraint::Length(1),
        Constraint::Length(away),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [head, link, body, foot] = Layout::vertical(parts).areas(frame.area());
    let hub_now = app.store.hub_time(now);
    draw_head(frame, head, app, look);
    if let Link::Away(reason, retry_at) = &app.link {
        let left = (retry_at.as_millis() - now.as_millis()).max(0) / 1000;
        let text = format!("The hub is away, next try in {left} s: {}", line(reason));
        let text = cut(&text, link.width.into());
        frame.render_widget(Line::styled(text, look.style(Tone::Alert)), link);
    }
    let (list, details, border) = split(body, app.zoomed);
    draw_list(frame, list, app, hub_now, look);
    draw_details(frame, details, border, app, hub_now, look);
    draw_foot(frame, foot, app, look);
    if app.mode == Mode::Help {
        draw_help(frame, body, look);
    }
}

/// The places of the list and the details, and the border between them.
fn split(body: Rect, zoomed: bool) -> (Rect, Rect, Borders) {
    if zoomed {
        return (Rect::default(), body, Borders::TOP);
    }
    if body.width >= WIDE {
        let parts = [Constraint::Percentage(58), Constraint::Fill(1)];
        let [list, details] = Layout::horizontal(parts).areas(body);
        return (list, details, Borders::LEFT);
    }
    let parts = [Constraint::Percentage(50), Constraint::Fill(1)];
    let [list, details] = Layout::vertical(parts).areas(body);
    (list, details, Borders::TOP)
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, app: &App, look: Look) {
    let waiting = match app.count() {
        0 => "no need is open".into(),
        1 => "1 needs you".into(),
        many => format!("{many} need you"),
    };
    let state = if app.link == Link::Connecting {
        " · connecting …"
    } else {
        ""
    };
    let filter = match app.filter.as_str() {
        "" => String::new(),
        text => format!(" · only with {}", line(text)),
    };
    let text = format!(
        "hub top · {waiting} · {}{state}{filter}",
        Counted(app.store.sessions.len(), "session")
    );
    let text = cut(&text, area.width.into());
    frame.render_widget(Line::styled(text, look.style(Tone::Strong)), area);
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, app: &App, now: Timestamp, look: Look) {
    let (rows, selected) = app.rows();
    let height = usize::from(area.height);
    // The selected row is in the middle, except near the ends.
    let last = rows.len().saturating_sub(height);
    let top = selected.unwrap_or(0).saturating_sub(height / 2).min(last);
    let shown = rows.iter().enumerate().skip(top).take(height);
    for ((at, row), y) in shown.zip(area.y..) {
        let place = Rect {
            y,
            height: 1,
            ..area
        };
        let mut text = row_line(row, app, now, area.width.into(), look);
        if Some(at) == selected {
            text = text.style(Style::new().add_modifier(Modifier::REVERSED));
        }
        frame.render_widget(text, place);
    }
}

fn row_line(row: &Row<'_>, app: &App, now: Timestamp, columns: usize, look: Look) -> Line<'static> {
    match row {
        Row::Title(title, count) => {
            let text = format!("{title} ({count})");
            Line::styled(cut(&text, columns), look.style(Tone::Dim))
        }
        Row::Need(row) => need_line(row, app, now, columns, look),
        Row::Session(row) => session_line(row, now, columns),
    }
}

fn need_line(
    row: &NeedRow<'_>,
    app: &App,
    now: Timestamp,
    columns: usize,
    look: Look,
) -> Line<'static> {
    let NeedRow {
        need, name, text, ..
    } = row;
    let tone = match need.alert {
        Some(Alert::Blocked) => Tone::Removed,
        Some(Alert::YourTurn) => Tone::Plain,
        Some(Alert::NeedsYou) | None => Tone::Alert,
    };
    let text = match app.held(&need.id) {
        Some(held) => {
            let left = (held.due.as_millis() - now.as_millis()).max(0) / 1000;
            format!("→ {} in {left} s · u undo", line(&held.answer.to_string()))
        }
        None => text.clone(),
    };
    let place = last_part(need.project.as_str());
    let mut cells = vec![Span::styled(fit(need.kind.words(), KIND), look.style(tone))];
    cells.extend(cells_after_kind(
        name,
        &age(need.since, now),
        &place,
        columns,
    ));
    finish(cells, &text, columns)
}

fn session_line(row: &BoardRow<'_>, now: Timestamp, columns: usize) -> Line<'static> {
    let BoardRow { session, depth } = row;
    let name = format!("{}{}", "  ".repeat(*depth), line(&session.name));
    let agent = line(session.info.agent.as_deref().unwrap_or_default());
    let place = format!(
        "{} {}",
        last_part(session.project.as_str()),
        checkout(session)
    );
    let mut cells = vec![Span::raw(fit(&agent, KIND))];
    cells.extend(cells_after_kind(
        &name,
        &age(session.phase.since, now),
        &place,
        columns,
    ));
    finish(cells, &activity(session), columns)
}

/// The columns after the first: name, age, and in a wide list the place.
fn cells_after_kind(name: &str, age: &str, place: &str, columns: usize) -> Vec<Span<'static>> {
    let name_width = if columns < ROOMY {
        columns.saturating_sub(20).min(12)
    } else {
        18
    };
    let mut cells = vec![
        Span::raw(fit(name, name_width) + " "),
        Span::raw(fit(age, 7)),
    ];
    if columns >= ROOMY {
        cells.push(Span::raw(fit(place, 16) + " "));
    }
    cells
}

/// Adds the text in the columns that are left.
fn finish(mut cells: Vec<Span<'static>>, text: &str, columns: usize) -> Line<'static> {
    let used: usize = cells.iter().map(Span::width).sum();
    cells.push(Span::raw(fit(text, columns.saturating_sub(used))));
    Line::from(cells)
}

fn last_part(path: &str) -> String {
    let path = path.trim_end_matches('/');
    line(path.rsplit('/').next().unwrap_or(path))
}

fn draw_details(
    frame: &mut Frame<'_>,
    area: Rect,
    border: Borders,
    app: &mut App,
    now: Timestamp,
    look: Look,
) {
    let block = Block::new()
        .borders(border)
        .border_style(look.style(Tone::Dim));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let details = app.details(now);
    let columns = usize::from(inner.width);
    let request = details.to_the_end_of_the_request().iter();
    let request: usize = request.map(|(_, text)| wrap(text, columns).len()).sum();
    let rows: Vec<Line<'_>> = details
        .lines()
        .iter()
        .flat_map(|(tone, text)| {
            let rows = wrap(text, columns);
            rows.into_iter()
                .map(|row| Line::styled(row.to_owned(), look.style(*tone)))
        })
        .collect();
    let beyond = rows.len().saturating_sub(inner.height.into());
    app.scroll = app.scroll.min(beyond);
    if app.scroll + usize::from(inner.height) >= request {
        app.drawn();
    }
    let shown: Vec<_> = rows.into_iter().skip(app.scroll).collect();
    frame.render_widget(Paragraph::new(shown), inner);
    if app.scroll < beyond {
        let more = format!(" {} more, PgDn ", beyond - app.scroll);
        let more = cut(&more, columns);
        let x = inner
            .right()
            .saturating_sub(u16::try_from(width(&more)).unwrap_or(0));
        let place = Rect {
            x,
            y: inner.bottom().saturating_sub(1),
            width: inner.right() - x,
            height: 1,
        };
        frame.render_widget(
            Line::styled(more, Style::new().add_modifier(Modifier::REVERSED)),
            place,
        );
    }
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, app: &App, look: Look) {
    let columns = usize::from(area.width);
    let Mode::Input(input) = &app.mode else {
        let (text, tone) = if app.note.is_empty() {
            (hints(columns), Tone::Dim)
        } else {
            (app.note.clone(), Tone::Alert)
        };
        frame.render_widget(Line::styled(cut(&text, columns), look.style(tone)), area);
        return;
    };
    let prompt = cut(&format!("{}: ", input.prompt), columns / 2);
    let before = input_text(&input.before_cursor());
    let all = input_text(&input.text());
    // A long text is shown from where its cursor is still visible.
    let room = columns.saturating_sub(width(&prompt) + 1);
    let mut hidden = 0;
    while width(&before[hidden..]) > room {
        hidden += before[hidden..].chars().next().map_or(1, char::len_utf8);
    }
    let text = format!("{prompt}{}", &all[hidden..]);
    frame.render_widget(Line::styled(text, look.style(Tone::Strong)), area);
    let at = width(&prompt) + width(&before[hidden..]);
    let x = area.x.saturating_add(u16::try_from(at).unwrap_or(u16::MAX));
    frame.set_cursor_position(Position {
        x: x.min(area.right().saturating_sub(1)),
        y: area.y,
    });
}

/// The hints that fit.
fn hints(columns: usize) -> String {
    let fits = |it: &String| width(it) <= columns;
    let with = |count| {
        let first = HINTS[..count].iter().copied();
        first.chain([LAST_HINTS]).collect::<Vec<_>>().join(" · ")
    };
    let longest = (0..=HINTS.len()).rev().map(with).find(fits);
    longest.unwrap_or_else(|| LAST_HINTS.into())
}

/// A typed or pasted text on one line, with its blanks.
fn input_text(text: &str) -> String {
    crate::text::lines(text).collect::<Vec<_>>().join(" ")
}

fn draw_help(frame: &mut Frame<'_>, body: Rect, look: Look) {
    let columns = usize::from(body.width).saturating_sub(2);
    let rows = KEYS.iter().flat_map(|(keys, what)| {
        let cells = wrap(what, columns.saturating_sub(12).max(8));
        let first = std::iter::once(*keys).chain(std::iter::repeat(""));
        let rows: Vec<_> = first
            .zip(cells)
            .map(|(key, row)| format!("{}{row}", fit(key, 12)))
            .collect();
        rows
    });
    let rows: Vec<Line<'_>> = rows.map(Line::raw).collect();
    let height = u16::try_from(rows.len() + 2)
        .unwrap_or(u16::MAX)
        .min(body.height);
    let place = Rect { height, ..body };
    let block = Block::bordered()
        .title("Keys (any key closes this)")
        .style(look.style(Tone::Plain));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(rows).block(block), place);
}

#[cfg(test)]
mod tests;
