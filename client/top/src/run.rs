//! The life of the program: the terminal, keys, signals, and the end that leaves the terminal as it was.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use hub_protocol::Timestamp;
use hubctl::Connection;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind,
};
use ratatui::crossterm::execute;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

use crate::app::{App, Update};
use crate::draw::{Look, draw};
use crate::live::Live;
use crate::outbox::Held;
use crate::text::line;

/// How often times and held answers are looked at.
const TICK: Duration = Duration::from_millis(250);
/// How long the end waits for the hub to take the last answers.
const FAREWELL: Duration = Duration::from_secs(2);

/// Shows the hub until the person or a signal ends it.
pub(crate) fn run(connection: Connection) -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let terminal = ratatui::try_init()?;
    end_on_panic();
    let pasting = execute!(io::stdout(), EnableBracketedPaste);
    let ended = pasting.and_then(|()| runtime.block_on(show(terminal, connection)));
    let _ = execute!(io::stdout(), DisableBracketedPaste);
    let restored = ratatui::try_restore();
    let code = ended?.tell();
    restored.map(|()| code)
}

/// How the program ended.
struct End {
    /// The exit code for a signal.
    signal: Option<u8>,
    /// The answers that the hub has not taken, in words.
    lost: Vec<String>,
}

impl End {
    /// Prints the lost answers. Returns the exit code.
    fn tell(self) -> ExitCode {
        for answer in &self.lost {
            // The terminal may be gone.
            let _ = writeln!(io::stderr(), "hub-top: {answer}");
        }
        let own = u8::from(!self.lost.is_empty());
        self.signal.unwrap_or(own).into()
    }
}

/// Makes a panic in any task the end of the program, after ratatui has restored the terminal.
fn end_on_panic() {
    let restore = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let _ = execute!(io::stdout(), DisableBracketedPaste);
        restore(panic);
        std::process::exit(101);
    }));
}

async fn show(mut terminal: DefaultTerminal, connection: Connection) -> io::Result<End> {
    let (news, mut updates) = unbounded_channel();
    let live = Live::new(connection, news);
    tokio::spawn(live.clone().follow());
    let mut keys = keys();
    let mut signals = [
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::hangup())?,
    ];
    let mut ticks = interval(TICK);
    let mut requests = JoinSet::new();
    let mut app = App::default();
    let look = Look::of_environment();
    let mut ended_by = None;
    while !app.quit {
        terminal.draw(|frame| draw(frame, &mut app, Timestamp::now(), look))?;
        let caused = tokio::select! {
            event = keys.recv() => match event {
                Some(event) => on_event(&mut app, &event),
                // The terminal is gone.
                None => break,
            },
            Some(update) = updates.recv() => {
                app.apply(update, Timestamp::now());
                Vec::new()
            }
            _ = ticks.tick() => app.tick(app.store.hub_time(Timestamp::now())),
            code = any(&mut signals) => {
                ended_by = Some(code);
                break;
            }
        };
        for request in caused {
            requests.spawn(live.clone().perform(request));
        }
        while requests.try_join_next().is_some() {}
    }
    for request in app.flush() {
        requests.spawn(live.clone().perform(request));
    }
    let _ = timeout(FAREWELL, requests.join_all()).await;
    Ok(End {
        signal: ended_by,
        lost: lost(app.sending(), &mut updates),
    })
}

/// Those of the `last` answers that were refused or not confirmed, in words.
fn lost(last: &[Held], updates: &mut UnboundedReceiver<Update>) -> Vec<String> {
    let mut results = HashMap::new();
    while let Ok(update) = updates.try_recv() {
        if let Update::Answered(id, result) = update {
            results.insert(id, result.map(drop));
        }
    }
    let fate = |it: &Held| match results.get(&it.id) {
        Some(Ok(())) => None,
        Some(Err(problem)) => Some(format!("not answered: {}: {}", named(it), line(problem))),
        None => Some(format!(
            "not confirmed by the hub: {}: `hubctl needs` shows whether it still waits",
            named(it)
        )),
    };
    last.iter().filter_map(fate).collect()
}

/// An answer with the need that it is to.
fn named(it: &Held) -> String {
    format!("{} – {}", it.id, line(&it.answer.to_string()))
}

fn on_event(app: &mut App, event: &Event) -> Vec<crate::app::Request> {
    let now = app.store.hub_time(Timestamp::now());
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => return app.press(*key, now),
        Event::Paste(text) => app.paste(text),
        // Any other event, such as a new size, only draws again.
        _ => {}
    }
    Vec::new()
}

/// The events of the terminal. A thread reads them, because reading blocks; it ends with the process.
fn keys() -> UnboundedReceiver<Event> {
    let (pressed, keys) = unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if pressed.send(event).is_err() {
                break;
            }
        }
    });
    keys
}

/// Waits for a signal that ends the program; returns the exit code that a shell reports for it.
async fn any([terminate, interrupt, hangup]: &mut [Signal; 3]) -> u8 {
    tokio::select! {
        _ = terminate.recv() => 128 + 15,
        _ = interrupt.recv() => 128 + 2,
        _ = hangup.recv() => 128 + 1,
    }
}

#[cfg(test)]
mod tests {
    use hub_protocol::Answer;

    use super::*;
    use crate::app::Answered;
    use crate::store::fixture::at;

    #[test]
    fn each_last_answer_that_the_hub_has_not_taken_is_named() {
        let held = |id: &str, answer: &str| Held {
            id: id.into(),
            revision: 1,
            answer: Answer::Reply(answer.into()),
            due: at(100),
        };
        let last = [
            held("1", "yes"),
            held("2", "no\u{1b}[2J"),
            held("s3", "go on"),
        ];
        let (news, mut updates) = unbounded_channel();
        let taken = Ok(Answered::Replied(Box::default()));
        for result in [
            Update::Answered("1".into(), taken),
            Update::Answered("2".into(), Err("it says something else now".into())),
        ] {
            news.send(result).unwrap();
        }
        assert_eq!(
            lost(&last, &mut updates),
            [
                "not answered: 2 – no\\u001b[2J: it says something else now",
                "not confirmed by the hub: s3 – go on: `hubctl needs` shows whether it still waits",
            ]
        );
    }
}
