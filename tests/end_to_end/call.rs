//! Commands, their processes and their results.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Longer than any command of a test runs.
const FOREVER: Duration = Duration::from_secs(120);

/// A command before it runs.
pub(crate) struct Call {
    command: Command,
    stdin: Option<Vec<u8>>,
}

impl Call {
    pub(crate) fn new(command: Command) -> Self {
        Self {
            command,
            stdin: None,
        }
    }

    /// Adds the words of a line.
    pub(crate) fn line(self, line: &str) -> Self {
        self.args(&words(line))
    }

    /// Adds arguments.
    pub(crate) fn args(mut self, args: &[impl AsRef<OsStr>]) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Removes an environment variable.
    pub(crate) fn unset(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Sets the working directory.
    pub(crate) fn within(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Sets the content of stdin.
    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(text.into());
        self
    }

    /// Runs the command to its end.
    pub(crate) fn run(self) -> Done {
        self.spawn().end()
    }

    /// Runs the command, which must succeed.
    pub(crate) fn ok(self) -> Done {
        self.run().exits(0)
    }

    /// Runs the command, which must fail with this exit code.
    pub(crate) fn fails(self, code: i32) -> Done {
        self.run().exits(code)
    }

    /// Runs the command, which must succeed and print one JSON value.
    pub(crate) fn json(self) -> Value {
        self.run().json()
    }

    /// Starts the command, with pipes for stdin, stdout and stderr.
    pub(crate) fn spawn(mut self) -> Running {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        if let Some(text) = self.stdin {
            let mut stdin = child.stdin.take().expect("a pipe");
            // A program that refuses its arguments may end before it reads.
            if let Err(error) = stdin.write_all(&text) {
                assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
            }
        }
        Running(Some(child))
    }
}

/// A running command; killed when dropped.
pub(crate) struct Running(Option<Child>);

impl Running {
    /// Returns the process.
    pub(crate) fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it runs")
    }

    /// Returns a reader of its stdout.
    pub(crate) fn stdout(&mut self) -> BufReader<ChildStdout> {
        BufReader::new(self.child().stdout.take().expect("a pipe"))
    }

    /// Returns the JSON values that it prints, one a line.
    pub(crate) fn printed(&mut self) -> impl Iterator<Item = Value> + use<> {
        let lines = self.stdout().lines();
        lines.map(|line| json(&line.expect("a line")))
    }

    /// Whether it has not ended yet.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child().try_wait().expect("its state").is_none()
    }

    /// Kills it, and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.child().kill().expect("it runs");
        self.child().wait().expect("its end");
    }

    /// Waits for its end; panics with its output if it runs longer than [`FOREVER`].
    pub(crate) fn end(mut self) -> Done {
        let child = self.0.take().expect("it runs");
        let pid = Pid::from_child(&child);
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || ended.send(child.wait_with_output()));
        let output = end.recv_timeout(FOREVER).unwrap_or_else(|_| {
            let _ = kill_process(pid, Signal::KILL);
            // The output is missing if a child of the command keeps the pipes open.
            let output = end.recv_timeout(Duration::from_secs(5));
            panic!("it did not end within {FOREVER:?}: {output:?}")
        });
        Done::new(&output.expect("its end"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Done {
    /// The exit code; `None` if a signal ended the command.
    pub code: Option<i32>,
    /// The output on stdout.
    pub stdout: String,
    /// The output on stderr.
    pub stderr: String,
}

impl Done {
    fn new(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout.clone()).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr.clone()).expect("UTF-8"),
        }
    }

    /// Returns the result; panics unless the exit code is 0.
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    /// Returns the result; panics unless the exit code is `code`.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Returns the result; panics unless stdout contains `part`.
    pub(crate) fn prints(self, part: &str) -> Self {
        assert!(self.stdout.contains(part), "{part}: {self:?}");
        self
    }

    /// Returns the result; panics unless stderr contains `part`.
    pub(crate) fn warns(self, part: &str) -> Self {
        assert!(self.stderr.contains(part), "{part}: {self:?}");
        self
    }

    /// Returns the result; panics if stderr contains `part`.
    pub(crate) fn hides(self, part: &str) -> Self {
        assert!(!self.stderr.contains(part), "{part}: {self:?}");
        self
    }

    /// Returns the result; panics if there is anything on stdout.
    pub(crate) fn prints_nothing(self) -> Self {
        assert_eq!(self.stdout, "", "{self:?}");
        self
    }

    /// Returns the result; panics if there is anything on stderr.
    pub(crate) fn warns_of_nothing(self) -> Self {
        assert_eq!(self.stderr, "", "{self:?}");
        self
    }

    /// Returns the printed word, such as the id of a question.
    pub(crate) fn word(self) -> String {
        self.stdout.trim().to_owned()
    }

    /// Parses stdout as one JSON value.
    pub(crate) fn json(self) -> Value {
        json(&self.ok().stdout)
    }

    /// Parses stdout as one JSON value per line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(json).collect()
    }

    /// Returns the texts of the printed notifications, framed or not.
    pub(crate) fn messages(&self) -> Vec<String> {
        let lines = self.stdout.lines().filter(|it| it.starts_with('{'));
        // A long notification is shown in part.
        let texts = lines.map(|it| json(it)["msg"].as_str().map(str::to_owned));
        texts.map(|msg| msg.expect("msg")).collect()
    }
}

/// Splits a line at blanks. Single quotes group words with blanks.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// Returns the first line, without its end.
pub(crate) fn first_line(from: impl Read) -> String {
    let mut line = String::new();
    let read = BufReader::new(from).read_line(&mut line);
    read.expect("a line");
    line.trim_end().to_owned()
}

/// Parses a JSON value.
pub(crate) fn json(text: &str) -> Value {
    read(text)
}

/// Parses an answer of the hub.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
