//! The least that a waiting process can do: connect, send the request, print the response, exit. It runs before any
//! other set-up, as `hub-bench raw-wait SOCKET|ADDRESS REQUEST-FILE`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result, ensure};

use crate::http;

/// Waits if the command line says `raw-wait`; returns whether it did.
pub(crate) fn run() -> Result<bool> {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some("raw-wait") {
        return Ok(false);
    }
    let address = args.next().context("no address")?;
    let request = std::fs::read(args.next().context("no request file")?)?;
    if address.starts_with('/') {
        wait(UnixStream::connect(address)?, &request)?;
    } else {
        wait(TcpStream::connect(address)?, &request)?;
    }
    Ok(true)
}

fn wait(mut stream: impl Read + Write, request: &[u8]) -> Result<()> {
    stream.write_all(request)?;
    let mut received = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer)?;
        ensure!(count > 0, "the server closed the connection");
        received.extend_from_slice(&buffer[..count]);
        if let Some(message) = http::message(&received)? {
            std::io::stdout().write_all(message.body)?;
            return Ok(());
        }
    }
}
