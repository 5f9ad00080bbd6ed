//! Runs asynchronous code on the thread that calls.

use std::io;
use std::pin::Pin;

/// Runs `future` to its end. It is passed by reference, so that all callers share the code of one runtime.
pub(crate) fn block_on<T>(future: Pin<&mut dyn Future<Output = T>>) -> io::Result<T> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_io().enable_time().build()?;
    Ok(runtime.block_on(future))
}
