//! Series of wakes of an idle session, counted and timed where they matter: at the model.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use hub_agents::Agent;
use hub_harness::model::Request;
use hub_harness::{Model, within};
use hub_protocol::Timestamp;
use serde_json::{Value, json};

use super::{InstalledHub, installed};

/// The number of wakes; `HUB_TEST_WAKES` sets another one for a measurement.
const WAKES: usize = 5;

/// How long the model may be asked after the hub knows that the session has a notification.
const LATE: Duration = Duration::from_secs(30);

/// A series of wakes of an agent in a way. `tests/run wakes` keeps its result in the file `HUB_TEST_WAKES_FILE`.
pub(crate) struct Series {
    agent: Agent,
    /// The directory of the agent's package.
    package: PathBuf,
    way: &'static str,
    count: usize,
    file: Option<PathBuf>,
}

impl Series {
    /// The series, unless its result is in the file.
    pub(crate) fn of(agent: Agent, package: PathBuf, way: &'static str) -> Option<Self> {
        let count = std::env::var("HUB_TEST_WAKES");
        let count = count.map_or(WAKES, |it| it.parse().expect("a number"));
        let file = std::env::var_os("HUB_TEST_WAKES_FILE").map(PathBuf::from);
        let series = Self {
            agent,
            package,
            way,
            count,
            file,
        };
        (!series.is_kept()).then_some(series)
    }

    /// That of Claude Code.
    pub(crate) fn of_claude(way: &'static str) -> Option<Self> {
        let program = installed::claude();
        let package = program.parent().expect("a package").to_owned();
        Self::of(Agent::Claude, package, way)
    }

    /// Wakes a session, with random pauses up to `pause`. Panics unless each wake arrives once and in this way.
    pub(crate) fn run(&self, hub: &InstalledHub, model: &Model, (name, pause): (&str, &str)) {
        let load = load();
        let summary = self.wake(hub, name, pause);
        let arrivals = self.arrivals(model);
        self.keep(&arrivals, &summary, load);
        let (count, way) = (self.count, self.way);
        let wanted = format!("{count} wakes: 0 lost, 0 doubled; {count} by {way}; shown after ");
        assert!(summary.starts_with(&wanted), "{summary}{arrivals:?}");
        let once = arrivals.values().all(|it| it.len() == 1);
        assert!(once && arrivals.len() == count, "{arrivals:?}");
    }

    /// Runs `hubctl wake-test`; returns its summary. Prints the first wake that was lost or doubled.
    fn wake(&self, hub: &InstalledHub, name: &str, pause: &str) -> String {
        let count = self.count.to_string();
        let args = ["--count", &count, "--way", self.way, "--pause", pause];
        let output = hub.try_hubctl(&[&["wake-test", name][..], &args].concat());
        let summary = String::from_utf8_lossy(&output.stdout).into_owned();
        eprintln!("{summary}");
        if let Some((_, id)) = summary.split_once("hubctl trace ") {
            let id = id.split('`').next().expect("an id");
            eprintln!("{}", hub.hubctl(&["trace", id]));
        }
        summary
    }

    /// Waits until the model has received all, and returns after how many milliseconds it received each of them.
    fn arrivals(&self, model: &Model) -> BTreeMap<u64, Vec<i64>> {
        let found = || {
            let found = arrivals(&model.requests());
            (found.len() >= self.count).then_some(found)
        };
        within(LATE, found).unwrap_or_else(|| arrivals(&model.requests()))
    }

    /// The identity of the series.
    fn key(&self) -> Value {
        let version = installed::version(&self.package);
        json!({"agent": self.agent.as_str(), "version": version, "way": self.way, "n": self.count})
    }

    fn is_kept(&self) -> bool {
        let Some(file) = &self.file else { return false };
        let (text, key) = (std::fs::read_to_string(file), self.key());
        let own = key.as_object().expect("an object");
        let is_own = |line: &str| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            own.iter().all(|(name, value)| line[name] == *value)
        };
        text.unwrap_or_default().lines().any(is_own)
    }

    /// Appends the result to the file.
    fn keep(&self, arrivals: &BTreeMap<u64, Vec<i64>>, summary: &str, load: f64) {
        let Some(file) = &self.file else { return };
        let mut delays: Vec<i64> = arrivals.values().map(|it| it[0]).collect();
        delays.sort_unstable();
        let mut line = self.key();
        line["lost"] = (self.count - arrivals.len()).into();
        line["doubled"] = arrivals.values().filter(|it| it.len() > 1).count().into();
        line["arrived"] = summary.split("; ").nth(1).into();
        line["ms"] = json!(delays);
        line["load"] = json!(load);
        let file = OpenOptions::new().create(true).append(true).open(file);
        writeln!(file.expect("a file"), "{line}").expect("it is written");
    }
}

/// The wakes that the model received, by their ids: for each request how many milliseconds after the hub took the POST.
fn arrivals(requests: &[Request]) -> BTreeMap<u64, Vec<i64>> {
    let now = (Instant::now(), SystemTime::now());
    let mut all: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
    for request in requests.iter().filter(|it| converses(it)) {
        let at = now.1 - now.0.duration_since(request.at);
        let at = at.duration_since(SystemTime::UNIX_EPOCH);
        let at = i64::try_from(at.expect("a time after 1970").as_millis()).expect("a time");
        for (id, taken) in request.new_texts.iter().flat_map(|it| wakes(it)) {
            all.entry(id).or_default().push(at - taken.as_millis());
        }
    }
    all
}

/// Whether a request belongs to the conversation. Codex also asks for a title, with the prompt and with fewer tools.
fn converses(request: &Request) -> bool {
    request.body["tools"]
        .as_array()
        .is_some_and(|it| it.len() > 1)
}

/// The wake tests in a text, each with its id and the time at which the hub took it.
fn wakes(text: &str) -> impl Iterator<Item = (u64, Timestamp)> {
    let objects = text.match_indices("{\"id\":");
    let objects = objects.filter_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        values.next()?.ok()
    });
    objects.filter(|it| it["from"] == "wake-test").map(|it| {
        let id = it["id"].as_u64().expect("an id");
        let taken = it["ts"].as_str().and_then(|it| it.parse().ok());
        (id, taken.expect("a time"))
    })
}

/// The machine's load in the last minute, before the series adds its own.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg");
    let first = text.ok().and_then(|it| it.split(' ').next()?.parse().ok());
    first.unwrap_or_default()
}
