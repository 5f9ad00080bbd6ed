//! The source code: its files, and the modules that they use.

use std::fs;
use std::path::Path;

use super::map::{FOLDERS, Map};
use super::top;

/// A file that uses a module other than its own.
pub(crate) struct Import {
    pub(crate) file: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// The arrows of every file that belongs to a module of the map.
pub(crate) fn imports(map: &Map) -> Vec<Import> {
    let mut imports = Vec::new();
    for folder in FOLDERS {
        for file in files(folder) {
            let Some(from) = map.module_of(&file) else {
                continue;
            };
            let text = fs::read_to_string(top().join(&file)).unwrap();
            let used = match Path::new(&file).extension() {
                Some(it) if it == "rs" => rust_paths(folder, &file, &text),
                Some(it) if it == "js" => web_paths(&file, &text),
                _ => Vec::new(),
            };
            for to in used.iter().filter_map(|path| map.module_of(path)) {
                if from != to {
                    let (from, to) = (from.to_owned(), to.to_owned());
                    let file = file.clone();
                    imports.push(Import { file, from, to });
                }
            }
        }
    }
    imports
}

/// The names of the types that a crate defines, each with its file. Types in tests are left out.
pub(crate) fn rust_types(name: &str) -> Vec<(String, String)> {
    let mut types = Vec::new();
    for file in files(&format!("{name}/src")) {
        let text = fs::read_to_string(top().join(&file)).unwrap();
        let text = without_tests(&text);
        for line in text.lines() {
            // Types inside of functions and the types of traits are indented.
            let line = line
                .trim_start_matches("pub ")
                .trim_start_matches("pub(crate) ");
            let line = line.trim_start_matches("pub(super) ");
            let rest = ["struct ", "enum ", "trait ", "type "]
                .iter()
                .find_map(|it| line.strip_prefix(it));
            let word = |c: char| !(c.is_alphanumeric() || c == '_');
            if let Some(name) = rest.and_then(|rest| rest.split(word).next()) {
                types.push((name.to_owned(), file.clone()));
            }
        }
    }
    types
}

/// The source files of the crates that contain `word`.
pub(crate) fn files_with(word: &str) -> Vec<String> {
    let folders = super::CRATES
        .iter()
        .flat_map(|name| files(&format!("{name}/src")));
    let contains = |file: &String| {
        let text = fs::read(top().join(file)).unwrap();
        text.windows(word.len()).any(|it| it == word.as_bytes())
    };
    folders.filter(contains).collect()
}

/// The files below `folder` except tests, relative to the top directory.
fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(top().join(folder)).unwrap() {
        let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
        let path = format!("{folder}/{name}");
        if entry.unwrap().file_type().unwrap().is_dir() {
            found.extend(files(&path));
        } else if name != "tests.rs" && !folder.ends_with("/tests") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A file's code without its unit tests, which stand at its end and may use what they like.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text)
}

/// The paths of this crate that a Rust file names, as paths of files: `crate::a::b` and `super::b` become `FOLDER/a/b`.
fn rust_paths(folder: &str, file: &str, text: &str) -> Vec<String> {
    let code: String = without_tests(text)
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.chars().chain(['\n']))
        .collect();
    let mut paths = Vec::new();
    for (start, root) in [("crate::", folder.to_owned()), ("super::", parent(file, 1))] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == ':') {
                continue;
            }
            let mut rest = &code[at + start.len()..];
            let mut above = 1;
            while let Some(after) = rest.strip_prefix("super::") {
                rest = after;
                above += 1;
            }
            let root = if above > 1 {
                parent(file, above)
            } else {
                root.clone()
            };
            expand(&root, rest, &mut paths);
        }
    }
    paths
}

/// The module that contains a file's module, `above` levels up, as a path.
fn parent(file: &str, above: usize) -> String {
    let module = file.trim_end_matches(".rs");
    let folders = module.split('/').count().saturating_sub(above);
    module
        .split('/')
        .take(folders)
        .collect::<Vec<_>>()
        .join("/")
}

/// Adds the paths of a `use` tree that follows `root`.
fn expand(root: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim_start();
    let Some(group) = tree.strip_prefix('{') else {
        let end = tree
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(tree.len());
        let path = format!("{root}/{}", &tree[..end]);
        match tree[end..].strip_prefix("::") {
            Some(rest) => expand(&path, rest, paths),
            None => paths.push(path),
        }
        return;
    };
    let (mut depth, mut item) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            ',' | '}' if depth == 0 => {
                if !group[item..at].trim().is_empty() {
                    expand(root, &group[item..at], paths);
                }
                item = at + 1;
                if c == '}' {
                    return;
                }
            }
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// The files that a JavaScript module imports.
fn web_paths(file: &str, text: &str) -> Vec<String> {
    let quoted = text
        .split("from '")
        .skip(1)
        .filter_map(|rest| rest.split('\'').next());
    quoted
        .map(|path| {
            let mut parts: Vec<&str> = file.split('/').collect();
            parts.pop();
            for part in path.split('/') {
                match part {
                    "." => {}
                    ".." => drop(parts.pop()),
                    name => parts.push(name),
                }
            }
            parts.join("/")
        })
        .collect()
}
