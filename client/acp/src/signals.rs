//! The signals by which a person or the system ends this program.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

/// Sends what `interrupt` makes at each Ctrl-C, and what `quit` makes at SIGTERM, and at SIGHUP when the terminal closes.
pub(crate) fn pass_on<T: Send + 'static>(
    to: &UnboundedSender<T>,
    interrupt: fn() -> T,
    quit: fn() -> T,
) -> std::io::Result<()> {
    for (kind, make) in [
        (SignalKind::interrupt(), interrupt),
        (SignalKind::terminate(), quit),
        (SignalKind::hangup(), quit),
    ] {
        let (mut signals, to) = (signal(kind)?, to.clone());
        tokio::spawn(
            async move { while signals.recv().await.is_some() && to.send(make()).is_ok() {} },
        );
    }
    Ok(())
}
