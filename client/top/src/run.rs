//! The life of the program: the terminal, keys, signals, and the end that leaves the terminal as it was.

use std::io;
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
    ratatui::try_restore()?;
    ended
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

async fn show(mut terminal: DefaultTerminal, connection: Connection) -> io::Result<ExitCode> {
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
    let mut exit = ExitCode::SUCCESS;
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
                exit = code.into();
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
    let _ = timeout(FAREWELL, finish(&mut app, requests, &mut updates)).await;
    Ok(exit)
}

/// Waits until the hub has taken the last answers.
async fn finish(app: &mut App, requests: JoinSet<()>, updates: &mut UnboundedReceiver<Update>) {
    requests.join_all().await;
    while let Ok(update) = updates.try_recv() {
        app.apply(update, Timestamp::now());
    }
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
