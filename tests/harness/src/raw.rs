//! A bare TCP connection, for what no client would send.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::contract::{Contract, Exchange};
use crate::{Answer, DEADLINE};

/// A connection that sends exactly the bytes it is given.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    port: u16,
    token: String,
    contract: Contract,
    /// Method and path of the request that is meant to be one.
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

    /// The head of a request that the guard lets pass, without the empty line at its end.
    pub fn head(&mut self, method: &str, path: &str) -> String {
        let plain = path.split('?').next().unwrap_or(path);
        self.asked = (method.into(), plain.into());
        let Self { port, token, .. } = self;
        format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        )
    }

    /// Sends bytes. That the hub has hung up already is no error: what it said is read with [`Self::answer`].
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Says that nothing more will be sent.
    pub fn finish(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The next answer; `None` if the hub hangs up without one. Panics if it breaks the contract.
    pub fn answer(&mut self) -> Option<Answer> {
        let head = self.read_to(b"\r\n\r\n")?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: HeaderMap = lines.filter_map(header).collect();
        let length = headers
            .get("content-length")
            .and_then(|length| length.to_str().ok()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).expect("the whole body");
        if status >= 400 {
            let checked = self.contract.check(Exchange {
                method: &self.asked.0,
                path: &self.asked.1,
                status,
                content_type: headers
                    .get(CONTENT_TYPE)
                    .and_then(|kind| kind.to_str().ok()),
                body: Some(&body),
            });
            checked.unwrap_or_else(|broken| panic!("the contract is broken: {broken}"));
        }
        Some(Answer {
            status,
            headers,
            body,
        })
    }

    /// The next line, of what has no end; `None` if the hub hangs up.
    pub fn line(&mut self) -> Option<String> {
        let line = self.read_to(b"\n")?;
        Some(line.trim_end_matches('\n').to_owned())
    }

    /// Whether the hub hangs up without another word.
    pub fn is_hung_up(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0) | Err(_))
    }

    fn read_to(&mut self, end: &[u8]) -> Option<String> {
        let mut text = Vec::new();
        let mut byte = [0];
        while !text.ends_with(end) {
            match self.stream.read(&mut byte) {
                Ok(1) => text.push(byte[0]),
                _ => return None,
            }
        }
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

fn header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(": ")?;
    Some((name.parse().ok()?, value.parse().ok()?))
}
