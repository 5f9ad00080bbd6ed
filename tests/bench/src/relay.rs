//! B, the least that a durable relay can do: one thread that appends each line to a file, syncs each one alone,
//! answers, and writes it to every subscriber. It reads the same requests as the hub, and validates nothing in them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use anyhow::Result;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use crate::http;

const LISTENER: Token = Token(0);
const SUBSCRIBED: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n\r\n";

struct Relay {
    file: File,
    lines: u64,
    connections: HashMap<Token, Connection>,
    subscribers: Vec<Token>,
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

/// Serves on a free port of the loopback until the process ends.
pub(crate) fn serve(state_dir: &Path) -> Result<()> {
    let mut listener = TcpListener::bind("127.0.0.1:0".parse()?)?;
    let mut poll = Poll::new()?;
    poll.registry()
        .register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut relay = Relay {
        file: File::create(state_dir.join("lines"))?,
        lines: 0,
        connections: HashMap::new(),
        subscribers: Vec::new(),
    };
    println!("relay listening on http://{}", listener.local_addr()?);

    let mut events = Events::with_capacity(1024);
    let mut next = LISTENER.0;
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() != LISTENER {
                relay.readable(event.token())?;
                continue;
            }
            while let Ok((mut stream, _)) = listener.accept() {
                next += 1;
                stream.set_nodelay(true)?;
                poll.registry()
                    .register(&mut stream, Token(next), Interest::READABLE)?;
                relay
                    .connections
                    .insert(Token(next), Connection::new(stream));
            }
        }
    }
}

impl Relay {
    fn readable(&mut self, token: Token) -> Result<()> {
        let Some(mut connection) = self.connections.remove(&token) else {
            return Ok(());
        };
        let open = connection.fill();
        while let Some(message) = http::message(&connection.received)? {
            if message.start.starts_with("GET /events") {
                connection.stream.write_all(SUBSCRIBED)?;
                self.subscribers.push(token);
            } else {
                let line = message.body.to_vec();
                self.publish(&line, &mut connection.stream)?;
            }
            let length = message.length;
            connection.received.drain(..length);
        }
        if open {
            self.connections.insert(token, connection);
        } else {
            self.subscribers.retain(|&subscriber| subscriber != token);
        }
        Ok(())
    }

    fn publish(&mut self, line: &[u8], publisher: &mut TcpStream) -> Result<()> {
        self.file.write_all(&[line, b"\n"].concat())?;
        self.file.sync_data()?;
        self.lines += 1;
        let answer = format!(r#"{{"id":{}}}"#, self.lines);
        let length = answer.len();
        // If the publisher has disconnected, its next read reports it.
        let _ = publisher.write_all(
            format!("HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{answer}")
                .as_bytes(),
        );
        let event = [
            format!("id: {}\ndata: ", self.lines).as_bytes(),
            line,
            b"\n\n",
        ]
        .concat();
        self.subscribers.retain(|token| {
            // A subscriber that cannot take a whole event at once is dropped.
            let taken = self.connections.get_mut(token);
            taken.is_some_and(|reader| reader.stream.write(&event).ok() == Some(event.len()))
        });
        Ok(())
    }
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            received: Vec::new(),
        }
    }

    /// Reads the available bytes; returns false when the peer has closed.
    fn fill(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }
}
