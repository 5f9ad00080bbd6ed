//! A bare TCP connection, for bytes that no HTTP client would send.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::{Answer, Contract, DEADLINE};

/// A connection that sends exactly the bytes it is given.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    port: u16,
    token: String,
    contract: Contract,
    /// Method and path of the request as the test intends it.
    asked: (String, String),
}

impl Raw {
    pub(crate) fn connect(port: u16, token: &str, contract: &Contract) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        Self {
            stream,
            port,
            token: token.into(),
            contract: contract.clone(),
            asked: Default::default(),
        }
    }

    /// Returns the head of a request that the guard accepts, without the empty line at its end.
    pub fn head(&mut self, method: &str, path: &str) -> String {
        let plain = path.split('?').next().unwrap_or(path);
        self.asked = (method.into(), plain.into());
        let Self { port, token, .. } = self;
        format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        )
    }

    /// Sends bytes. It is no error if the hub has closed the connection: its response can still be read by
    /// [`Self::answer`].
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Shuts down the sending side.
    pub fn finish(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Returns the next response; `None` if the hub closes the connection without one. Panics if it breaks the
    /// contract.
    pub fn answer(&mut self) -> Option<Answer> {
        let head = self.read_to(b"\r\n\r\n")?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: HeaderMap = lines.filter_map(header).collect();
        let length = headers.get("content-length");
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).expect("the whole body");
        let answer = Answer {
            status,
            headers,
            body,
        };
        if status >= 400 {
            answer.validate(&self.contract, &self.asked.0, &self.asked.1);
        }
        Some(answer)
    }

    /// Returns the next line of an endless response; `None` if the hub closes the connection.
    pub fn line(&mut self) -> Option<String> {
        let line = self.read_to(b"\n")?;
        Some(line.trim_end_matches('\n').to_owned())
    }

    /// Returns whether the hub closes the connection without sending anything.
    pub fn is_hung_up(&mut self) -> bool {
        self.byte().is_none()
    }

    fn read_to(&mut self, end: &[u8]) -> Option<String> {
        let mut text = Vec::new();
        while !text.ends_with(end) {
            text.push(self.byte()?);
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns the next byte; `None` if the hub closes the connection. Panics at the timeout.
    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(0) => None,
            Ok(_) => Some(byte[0]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the hub was silent for {DEADLINE:?}")
            }
            Err(_) => None,
        }
    }
}

fn header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(": ")?;
    Some((name.parse().ok()?, value.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the hub was silent")]
    fn silence_does_not_count_as_a_closed_connection() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let mut raw = Raw::connect(port, "", &Contract::new());
        let soon = std::time::Duration::from_millis(1);
        raw.stream.set_read_timeout(Some(soon)).unwrap();
        raw.is_hung_up();
    }
}
