//! The map: the table of ARCHITECTURE.md whose rows are `| module | content | may use |`.

use std::collections::BTreeMap;
use std::fs;

use super::{Arrows, top};

/// The folders whose entries are modules, each of which needs a row.
pub(crate) const FOLDERS: [&str; 5] = [
    "server/src",
    "client/src",
    "client/desktop/src",
    "client/top/src",
    "web",
];

/// Entries of these folders that are no modules: they use any of them, or contain no code.
const ROOTS: [&str; 12] = [
    "lib.rs",
    "main.rs",
    "main.js",
    "index.html",
    "icon.svg",
    "icon-192.png",
    "icon-512.png",
    "manifest.webmanifest",
    "register-worker.html",
    "register-worker.js",
    "service-worker.js",
    "style",
];

/// The modules, and for each the modules that it may use.
pub(crate) struct Map(BTreeMap<String, Vec<String>>);

impl Map {
    /// Reads the table. A module is a path without `.rs`; its last cell has names of modules in the same folder or in
    /// a folder above.
    pub(crate) fn read() -> Self {
        let page = fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
        let rows = page.lines().filter_map(|line| {
            let cells: Vec<&str> = line
                .strip_prefix("| `")?
                .split('|')
                .map(str::trim)
                .collect();
            let [module, _, uses, ""] = cells[..] else {
                return None;
            };
            let module = module.trim_end_matches('`').trim_end_matches('/');
            FOLDERS
                .iter()
                .any(|it| module.starts_with(it))
                .then_some((module.to_owned(), uses.to_owned()))
        });
        let rows: BTreeMap<String, String> = rows.collect();
        assert!(!rows.is_empty(), "ARCHITECTURE.md has no map");
        let uses = |(module, uses): (&String, &String)| {
            let names = uses.split('`').skip(1).step_by(2);
            let uses = names.map(|name| resolve(&rows, module, name)).collect();
            (module.clone(), uses)
        };
        Self(rows.iter().map(uses).collect())
    }

    /// The module of a file or of a path in the code: the longest one in the map that contains it.
    pub(crate) fn module_of(&self, path: &str) -> Option<&str> {
        let path = path.trim_end_matches(".rs");
        let inside = |module: &&String| {
            let rest = path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.keys().rfind(inside).map(String::as_str)
    }

    pub(crate) fn allows(&self, from: &str, to: &str) -> bool {
        from == to || self.0[from].iter().any(|it| it == to)
    }

    pub(crate) fn arrows(&self) -> Arrows {
        let all = self.0.iter();
        all.flat_map(|(from, uses)| uses.iter().map(move |to| (from.clone(), to.clone())))
            .collect()
    }

    /// The modules that have no row.
    pub(crate) fn missing(&self) -> Vec<String> {
        let entries = FOLDERS.iter().flat_map(|folder| {
            let entries = fs::read_dir(top().join(folder)).unwrap();
            entries.map(move |it| (folder, it.unwrap().file_name().into_string().unwrap()))
        });
        entries
            .filter(|(_, name)| !ROOTS.contains(&name.as_str()))
            .map(|(folder, name)| format!("{folder}/{name}"))
            .filter(|path| self.module_of(path).is_none())
            .collect()
    }
}

fn resolve(rows: &BTreeMap<String, String>, module: &str, name: &str) -> String {
    let mut folder = module;
    while let Some((above, _)) = folder.rsplit_once('/') {
        let path = format!("{above}/{name}");
        if rows.contains_key(&path) {
            return path;
        }
        folder = above;
    }
    panic!("the map says that {module} may use `{name}`, which has no row");
}
