//! The arrows between modules: each module uses only the modules that the map in ARCHITECTURE.md allows it.

use std::collections::{BTreeMap, BTreeSet};

mod map;
mod source;

use map::Map;
use source::{Import, imports, rust_types};

const CRATES: [&str; 5] = [
    "protocol",
    "server",
    "client",
    "client/desktop",
    "client/top",
];

/// The repository's top directory.
fn top() -> &'static std::path::Path {
    std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Arrows, as pairs of modules: the first uses the second.
type Arrows = BTreeSet<(String, String)>;

/// Returns a module that reaches itself, if there is one.
fn cycle(arrows: &Arrows) -> Option<Vec<&str>> {
    let mut left: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in arrows.iter().filter(|(from, to)| from != to) {
        left.entry(from).or_default().insert(to);
    }
    // Removes modules that use no module that is left. Modules that remain are part of a cycle, or reach one.
    loop {
        let used: BTreeSet<&str> = left.keys().copied().collect();
        let before = left.len();
        left.retain(|_, to| to.iter().any(|it| used.contains(it)));
        if left.len() == before {
            return (before > 0).then(|| left.into_keys().collect());
        }
    }
}

#[test]
fn each_module_uses_only_the_modules_that_the_map_allows() {
    let map = Map::read();
    let forbidden: Vec<String> = imports(&map)
        .into_iter()
        .filter(|it| !map.allows(&it.from, &it.to))
        .map(|Import { file, from, to }| format!("{file}: {from} must not use {to}"))
        .collect();
    assert!(
        forbidden.is_empty(),
        "arrows that the map in ARCHITECTURE.md does not have:\n{}",
        forbidden.join("\n")
    );
}

#[test]
fn the_map_has_every_module_and_no_cycle() {
    let map = Map::read();
    assert_eq!(map.missing(), Vec::<String>::new(), "modules without a row");
    assert_eq!(cycle(&map.arrows()), None, "modules that use each other");
}

#[test]
fn the_map_names_no_arrow_that_nothing_needs() {
    let map = Map::read();
    let used: Arrows = imports(&map)
        .into_iter()
        .map(|it| (it.from, it.to))
        .collect();
    let unused: Vec<_> = map.arrows().difference(&used).cloned().collect();
    assert_eq!(unused, [], "arrows that can be deleted from the map");
}

#[test]
fn no_two_types_of_a_crate_share_a_name() {
    for name in CRATES {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, file) in rust_types(name) {
            places.entry(name).or_default().push(file);
        }
        places.retain(|_, files| files.len() > 1);
        assert_eq!(places, BTreeMap::new(), "types of {name} that share a name");
    }
}

#[test]
fn only_the_cluster_and_its_journal_use_nats() {
    let allowed = ["server/src/cluster", "server/src/log/journal/jetstream"];
    let found = source::files_with("async_nats");
    let foreign = |file: &&String| !allowed.iter().any(|it| file.starts_with(it));
    assert!(!found.is_empty());
    assert_eq!(found.iter().find(foreign), None);
}

#[test]
fn a_cycle_is_found() {
    let arrows = |pairs: &[(&str, &str)]| -> Arrows {
        let owned = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
        pairs.iter().map(owned).collect()
    };
    assert_eq!(cycle(&arrows(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    let round = arrows(&[("a", "b"), ("b", "c"), ("c", "b")]);
    assert_eq!(cycle(&round), Some(vec!["a", "b", "c"]));
}
