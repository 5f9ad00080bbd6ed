//! A program whose input the test types and whose output it reads.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};

use crate::until;

/// What a program has written.
type Text = Arc<Mutex<String>>;

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Text,
    complaints: Text,
}

impl Program {
    /// Starts it with pipes.
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        Self {
            input: child.stdin.take(),
            output: collect(child.stdout.take().expect("a pipe")),
            complaints: collect(child.stderr.take().expect("a pipe")),
            child,
        }
    }

    /// Returns what it has written to stdout.
    pub fn printed(&self) -> String {
        self.output.lock().expect("a lock").clone()
    }

    /// Waits until stdout contains this text.
    pub fn until(&self, text: &str) {
        until(&format!("{text:?} is printed"), || {
            self.printed().contains(text).then_some(())
        });
    }

    /// Waits until stderr contains this text.
    pub fn complains(&self, text: &str) {
        until(&format!("it complains of {text:?}"), || {
            self.complaints
                .lock()
                .expect("a lock")
                .contains(text)
                .then_some(())
        });
    }

    /// Types a line.
    pub fn types(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{line}").expect("it reads");
    }

    /// Sends it SIGINT.
    pub fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
    }

    /// Returns its exit code, if it has ended by itself.
    pub fn exit_code(&mut self) -> Option<i32> {
        self.child.try_wait().expect("a child")?.code()
    }

    /// Ends its input, and waits for its end; returns the exit code.
    pub fn ends(&mut self) -> i32 {
        self.input = None;
        until("it has ended", || self.exit_code())
    }
}

/// Collects what a program writes.
fn collect(from: impl Read + Send + 'static) -> Text {
    let text = Text::default();
    let seen = Arc::clone(&text);
    std::thread::spawn(move || {
        let (mut from, mut part) = (BufReader::new(from), Vec::new());
        while let Ok(bytes) = from.fill_buf() {
            let count = bytes.len();
            if count == 0 {
                return;
            }
            part.extend_from_slice(bytes);
            from.consume(count);
            // A character may come in two parts.
            if let Ok(text) = std::str::from_utf8(&part) {
                seen.lock().expect("a lock").push_str(text);
                part.clear();
            }
        }
    });
    text
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let complaints = self.complaints.lock().expect("a lock");
            eprintln!("--- what it printed:\n{}\n{complaints}", self.printed());
        }
    }
}
