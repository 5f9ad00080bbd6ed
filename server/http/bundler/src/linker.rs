//! The linker: the modules that an entry module needs become one script.
//!
//! Each module becomes a function that runs once and returns its exports, in the order in which a browser runs the
//! modules. So the names of a module stay its own, and functions keep their names in stack traces.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::module::{Import, Module, parse};

/// The linked modules of one entry module.
struct Linker<'a> {
    root: &'a Path,
    /// The modules so far, by their paths below the root; `None` while the modules that it imports are linked.
    linked: BTreeMap<PathBuf, Option<Linked>>,
    script: String,
    count: usize,
}

/// A module in the script.
struct Linked {
    /// The constant that has its exports.
    constant: String,
    exports: Vec<String>,
}

/// Returns the script of the module `entry` below `root` and of all modules that it imports.
pub(crate) fn link(root: &Path, entry: &str) -> Result<String> {
    Ok(linked(root, entry)?.script)
}

fn linked<'a>(root: &'a Path, entry: &str) -> Result<Linker<'a>> {
    let mut linker = Linker {
        root,
        linked: BTreeMap::new(),
        script: "'use strict';\n".to_owned(),
        count: 0,
    };
    linker.add(Path::new(entry))?;
    Ok(linker)
}

impl Linker<'_> {
    /// Adds a module to the script, after the modules that it imports.
    fn add(&mut self, path: &Path) -> Result<()> {
        match self.linked.get(path) {
            Some(Some(_)) => return Ok(()),
            Some(None) => bail!("{} imports itself through other modules", path.display()),
            None => self.linked.insert(path.to_owned(), None),
        };
        let text = fs::read_to_string(self.root.join(path))
            .with_context(|| format!("cannot read {}", path.display()))?;
        let module = parse(&text).with_context(|| path.display().to_string())?;
        let linked = self
            .append(path, module)
            .with_context(|| path.display().to_string())?;
        self.linked.insert(path.to_owned(), Some(linked));
        Ok(())
    }

    fn append(&mut self, path: &Path, module: Module) -> Result<Linked> {
        let mut head = String::new();
        for import in &module.imports {
            let target = resolve(path, &import.from)?;
            self.add(&target)?;
            head += &self.names_of(&target, import)?;
        }
        // No name of the dashboard's own code begins with a dollar sign.
        self.count += 1;
        let constant = format!("${}", self.count);
        let Module { exports, code, .. } = module;
        let exported = exports.join(",");
        writeln!(
            self.script,
            "const {constant}=(()=>{{\n{head}{code}\nreturn{{{exported}}};\n}})();"
        )?;
        Ok(Linked { constant, exports })
    }

    /// The declaration of the imported names.
    fn names_of(&self, target: &Path, Import { from, names }: &Import) -> Result<String> {
        let Some(Some(linked)) = self.linked.get(target) else {
            bail!("{from} is not linked");
        };
        for (name, _) in names {
            ensure!(
                linked.exports.contains(name),
                "{from} does not export {name}"
            );
        }
        if names.is_empty() {
            return Ok(String::new());
        }
        let names = names.iter().map(|(name, local)| {
            if name == local {
                name.clone()
            } else {
                format!("{name}:{local}")
            }
        });
        let names: Vec<_> = names.collect();
        Ok(format!(
            "const{{{}}}={};\n",
            names.join(","),
            linked.constant
        ))
    }
}

/// The path below the root of a module that the module `importer` imports as `from`.
fn resolve(importer: &Path, from: &str) -> Result<PathBuf> {
    ensure!(
        from.starts_with("./") || from.starts_with("../"),
        "'{from}' is no relative path"
    );
    let mut path = importer.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(from).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => ensure!(path.pop(), "'{from}' is outside of the dashboard"),
            _ => {}
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links `main.js` of these files.
    fn link_files(files: &[(&str, &str)]) -> Result<String> {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        link(dir.path(), "main.js")
    }

    #[test]
    fn modules_run_once_and_after_those_that_they_import() {
        let script = link_files(&[
            (
                "main.js",
                "import './a/b.js';\nimport { c as d } from './c.js';\nd();\n",
            ),
            ("a/b.js", "import { c } from '../c.js';\nc();\n"),
            ("c.js", "export function c() {}\n"),
        ]);
        let expected = "'use strict';\n\
            const $1=(()=>{\nfunction c() {}\nreturn{c};\n})();\n\
            const $2=(()=>{\nconst{c}=$1;\nc();\nreturn{};\n})();\n\
            const $3=(()=>{\nconst{c:d}=$1;\nd();\nreturn{};\n})();\n";
        assert_eq!(script.unwrap(), expected);
    }

    #[test]
    fn a_mistake_is_reported_with_its_file() {
        for (files, expected) in [
            (
                vec![
                    ("main.js", "import './b.js';"),
                    ("b.js", "import './main.js';"),
                ],
                "main.js: b.js: main.js imports itself through other modules",
            ),
            (
                vec![("main.js", "import { a } from './b.js';"), ("b.js", "")],
                "main.js: ./b.js does not export a",
            ),
            (
                vec![("main.js", "import 'react';")],
                "main.js: 'react' is no relative path",
            ),
            (
                vec![("main.js", "import '../b.js';")],
                "main.js: '../b.js' is outside of the dashboard",
            ),
            (
                vec![("main.js", "\n(")],
                "main.js: line 2: a bracket is not closed",
            ),
        ] {
            let error = link_files(&files).expect_err(expected);
            assert_eq!(format!("{error:#}"), expected);
        }
        let missing = link_files(&[("main.js", "import './b.js';")]).unwrap_err();
        assert!(format!("{missing:#}").starts_with("main.js: cannot read b.js: "));
    }

    /// The scripts below a folder, relative to `root`.
    fn scripts(root: &Path, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        let scripts = entries.flat_map(|path| {
            if path.is_dir() {
                scripts(root, &path)
            } else {
                vec![path.strip_prefix(root).unwrap().to_owned()]
            }
        });
        scripts
            .filter(|it| it.extension().is_some_and(|it| it == "js"))
            .collect()
    }

    #[test]
    fn every_module_of_the_dashboard_is_in_a_script() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../web"));
        let all = scripts(root, root);
        let entries = all.iter().filter(|it| it.components().count() == 1);
        let linked: Vec<_> = entries
            .map(|it| linked(root, it.to_str().unwrap()).unwrap())
            .collect();
        let is_left_out = |path: &&PathBuf| linked.iter().all(|it| !it.linked.contains_key(*path));
        let left_out: Vec<_> = all.iter().filter(is_left_out).collect();
        assert_eq!(left_out, Vec::<&PathBuf>::new(), "no module imports these");
    }
}
