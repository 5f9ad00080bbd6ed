//! Fake hubs on a Unix socket in a [`Place`]: they respond as a test says, or not at all.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::support::{Place, until};

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Method and target, such as `GET /healthz`.
    pub(crate) line: String,
    /// The headers, in lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: String,
}

/// A fake hub that records its requests. It ends with the test's process.
pub(crate) struct Fake(Arc<Mutex<Vec<Asked>>>);

impl Fake {
    /// Starts a hub that responds with the raw HTTP that `answer` returns. For an empty text it keeps the connection
    /// open without a response.
    pub(crate) fn new(
        place: &Place,
        answer: impl Fn(&Asked) -> String + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let answer = Arc::new(answer);
        let socket = place.dir("state").join("hub.sock");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(socket).expect("a socket");
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || serve(&connection, &log, answer.as_ref()));
            }
        });
        Self(asked)
    }

    /// Starts a hub that answers a wait with what `wait` returns, a question for the caller's sessions with none, and
    /// accepts acknowledgements.
    pub(crate) fn waited(
        place: &Place,
        wait: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        Self::new(place, move |asked| match asked.line.as_str() {
            line if line.starts_with("GET /wait") => wait(line),
            "GET /sessions" => ok(r#"{"sessions":[]}"#),
            _ => ok(r#"{"acked":[1]}"#),
        })
    }

    /// Starts a hub that accepts connections and never responds.
    pub(crate) fn silent(place: &Place) -> Self {
        Self::new(place, |_| String::new())
    }

    /// Returns the requests so far, without those that look up the caller's session.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let asked = self.0.lock().expect("the log");
        let tested = asked.iter().filter(|it| it.line != "GET /sessions");
        tested.cloned().collect()
    }

    /// Returns the lines of the requests so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|it| it.line).collect()
    }

    /// Waits for the first request whose line begins with `line`, and returns it.
    pub(crate) fn first(&self, line: &str) -> Asked {
        let mut found = None;
        until(line, || {
            found = { self.asked() }
                .into_iter()
                .find(|it| it.line.starts_with(line));
            found.is_some()
        });
        found.expect("it came")
    }
}

fn serve(
    mut connection: &UnixStream,
    log: &Mutex<Vec<Asked>>,
    answer: &(dyn Fn(&Asked) -> String + Send + Sync),
) {
    let mut reader = BufReader::new(connection);
    while let Some(asked) = read(&mut reader) {
        // As a hub from before this request: the client asks git itself.
        if asked.line.starts_with("GET /directory") {
            if connection
                .write_all(http("404 Not Found", "", "{}").as_bytes())
                .is_err()
            {
                return;
            }
            continue;
        }
        log.lock().expect("the log").push(asked.clone());
        if connection.write_all(answer(&asked).as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut impl BufRead) -> Option<Asked> {
    let mut line = String::new();
    (reader.read_line(&mut line).ok()? > 0).then_some(())?;
    let mut head = String::new();
    while reader.read_line(&mut head).ok()? > 2 {}
    let head = head.to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    let length = length.map_or(0, |length| length.trim().parse().expect("a length"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let line = line.trim_end().strip_suffix(" HTTP/1.1")?;
    Some(Asked {
        line: line.to_owned(),
        head,
        body: String::from_utf8(body).ok()?,
    })
}

/// Returns a response with these additional headers, each with its line end.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> String {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}");
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// Returns a response of status `200 OK`.
pub(crate) fn ok(body: &str) -> String {
    http("200 OK", "", body)
}

/// Returns the response to a wait, with these messages under a lease.
pub(crate) fn batch(messages: &[&str], lease: &str, reason: &str) -> String {
    let numbered = (1..).zip(messages);
    let notifications = numbered.map(|(id, msg)| json!({"id": id, "msg": msg}));
    let notifications: Vec<_> = notifications.collect();
    let reply = json!({"notifications": notifications, "lease": lease, "remaining": 0,
        "why_woken": {"reason": reason}});
    ok(&reply.to_string())
}
