//! Makes the dashboard as `hubd` embeds it from the files of `web/`: one script, one style sheet, the page that refers
//! to them by a name with their hash, and each of them compressed.
//!
//! The page's style sheets become one in the order of its links. Every other script in the root folder, such as a
//! service worker, is linked on its own. Files of other kinds stay as they are.

mod linker;
mod module;
mod tokens;

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::read::GzEncoder;
use sha2::{Digest, Sha256};

/// Bytes of the hash in a name or an entity tag: they only distinguish versions of a file.
const HASH_BYTES: usize = 8;

/// The page, below the root folder.
const PAGE: &str = "index.html";

/// The folder in the hub's URLs.
const URLS: &str = "/assets/";

/// A file as it is served.
#[derive(Debug)]
pub struct Asset {
    /// The path below `/assets/`.
    pub path: String,
    /// Whether the name has the hash, so that the content under this name never changes.
    pub is_hashed: bool,
    /// A part of the SHA-256, in hexadecimal digits.
    pub hash: String,
    /// The content without a content encoding.
    pub content: Vec<u8>,
    /// The encoded contents with the names of the encodings, the smallest first. Empty if encoding saves nothing.
    pub encoded: Vec<(&'static str, Vec<u8>)>,
}

/// Makes the assets from the files in `root`.
pub fn bundle(root: &Path) -> Result<Vec<Asset>> {
    let page =
        fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let sheets = attributes(&page, "<link rel=\"stylesheet\" href=\"");
    let scripts = attributes(&page, "<script type=\"module\" src=\"");
    ensure!(
        !sheets.is_empty(),
        "{PAGE} has no <link rel=\"stylesheet\" href=\"…\">"
    );
    ensure!(
        scripts.len() == 1,
        "{PAGE} must have one <script type=\"module\" src=\"…\">"
    );
    let script = linker::link(root, path_of(scripts[0])?)?;
    let script = Asset::hashed("main", "js", script)?;
    let mut style = String::new();
    for sheet in &sheets {
        let path = path_of(sheet)?;
        let text =
            fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        ensure!(
            !text.contains("@import"),
            "{path}: the bundler does not know @import"
        );
        style += &text;
    }
    let style = Asset::hashed("main", "css", style)?;
    let page = page_with(&page, &sheets, &style.path)
        .replace(scripts[0], &format!("{URLS}{}", script.path));
    let mut assets = vec![
        Asset::new(PAGE.to_owned(), page.into_bytes())?,
        script,
        style,
    ];
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|it| it.to_str())
            .context("a file's name is not UTF-8")?;
        if path.is_dir() || name == PAGE || scripts[0].ends_with(&format!("/{name}")) {
            continue;
        }
        let is_script = path.extension().is_some_and(|it| it == "js");
        let content = if is_script {
            linker::link(root, name)?.into_bytes()
        } else {
            fs::read(&path)?
        };
        assets.push(Asset::new(name.to_owned(), content)?);
    }
    Ok(assets)
}

/// Writes the assets to `out`, with a Rust expression `assets.rs`: a slice of `Asset`s.
pub fn write(assets: &[Asset], out: &Path) -> Result<()> {
    let mut table = "&[\n".to_owned();
    for Asset {
        path,
        is_hashed,
        hash,
        content,
        encoded,
    } in assets
    {
        let save = |suffix: &str, content: &[u8]| -> Result<String> {
            let file = out.join(format!("{path}{suffix}"));
            fs::write(&file, content)
                .with_context(|| format!("cannot write {}", file.display()))?;
            Ok(format!(
                "include_bytes!({:?})",
                file.to_str().context("the path is not UTF-8")?
            ))
        };
        let content = save("", content)?;
        let mut variants = String::new();
        for (encoding, content) in encoded {
            let file = save(&format!(".{encoding}"), content)?;
            write!(variants, "({encoding:?}, {file}), ")?;
        }
        writeln!(
            table,
            "Asset {{ path: {path:?}, is_hashed: {is_hashed}, hash: {hash:?}, content: {content}, encoded: &[{variants}] }},"
        )?;
    }
    table.push(']');
    fs::write(out.join("assets.rs"), table)?;
    Ok(())
}

impl Asset {
    fn new(path: String, content: Vec<u8>) -> Result<Self> {
        let mut encoded = vec![("br", brotli_of(&content)?), ("gzip", gzip_of(&content)?)];
        encoded.retain(|(_, it)| it.len() < content.len());
        let mut hash = String::new();
        for byte in &Sha256::digest(&content)[..HASH_BYTES] {
            write!(hash, "{byte:02x}")?;
        }
        Ok(Self {
            path,
            is_hashed: false,
            hash,
            content,
            encoded,
        })
    }

    fn hashed(name: &str, extension: &str, text: String) -> Result<Self> {
        let mut asset = Self::new(String::new(), text.into_bytes())?;
        asset.path = format!("{name}-{}.{extension}", asset.hash);
        asset.is_hashed = true;
        Ok(asset)
    }
}

/// The values of the attribute at which `tag` ends, of every such tag of the page.
fn attributes<'a>(page: &'a str, tag: &str) -> Vec<&'a str> {
    let found = page.split(tag).skip(1);
    found.filter_map(|rest| rest.split('"').next()).collect()
}

/// The path of a file, from its URL in the page.
fn path_of(url: &str) -> Result<&str> {
    url.strip_prefix(URLS)
        .with_context(|| format!("{PAGE}: {url} is not below {URLS}"))
}

/// The page with the style sheet `path` in the place of these.
fn page_with(page: &str, sheets: &[&str], path: &str) -> String {
    let mut lines = String::new();
    for line in page.lines() {
        match sheets
            .iter()
            .position(|sheet| line.contains(&format!("\"{sheet}\"")))
        {
            Some(0) => lines += &line.replace(sheets[0], &format!("{URLS}{path}")),
            Some(_) => continue,
            None => lines += line,
        }
        lines.push('\n');
    }
    lines
}

fn brotli_of(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoded = Vec::new();
    let (quality, window) = (11, 22);
    brotli::CompressorWriter::new(&mut encoded, 4096, quality, window).write_all(content)?;
    Ok(encoded)
}

fn gzip_of(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoded = Vec::new();
    GzEncoder::new(content, Compression::best()).read_to_end(&mut encoded)?;
    Ok(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = "<html>\n<link rel=\"icon\" href=\"/assets/icon.svg\">\n\
        <link rel=\"stylesheet\" href=\"/assets/style/b.css\">\n<link rel=\"stylesheet\" href=\"/assets/style/a.css\">\n\
        <script type=\"module\" src=\"/assets/main.js\"></script>\n</html>\n";

    /// A folder with a dashboard: a page, two style sheets, a script, a service worker and an icon.
    fn folder(page: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("style")).unwrap();
        for (path, text) in [
            ("index.html", page),
            ("style/a.css", "a { color: red }\n"),
            ("style/b.css", "b { color: blue }\n"),
            ("core.js", "export const A = 1;\n"),
            (
                "main.js",
                "import { A } from './core.js';\ndocument.title = A;\n",
            ),
            ("sw.js", "import { A } from './core.js';\nself.a = A;\n"),
            ("icon.svg", "<svg/>"),
        ] {
            fs::write(dir.path().join(path), text).unwrap();
        }
        dir
    }

    fn text<'a>(assets: &'a [Asset], path: &str) -> &'a str {
        let asset = assets.iter().find(|it| it.path == path).expect(path);
        std::str::from_utf8(&asset.content).unwrap()
    }

    #[test]
    fn the_page_refers_to_one_script_and_one_style_sheet_by_their_hashes() {
        let assets = bundle(folder(PAGE_TEXT).path()).unwrap();
        let hashed: Vec<_> = assets
            .iter()
            .filter(|it| it.is_hashed)
            .map(|it| it.path.as_str())
            .collect();
        let [script, style] = hashed[..] else {
            panic!("{hashed:?}")
        };
        let expected = format!(
            "<html>\n<link rel=\"icon\" href=\"/assets/icon.svg\">\n\
             <link rel=\"stylesheet\" href=\"/assets/{style}\">\n\
             <script type=\"module\" src=\"/assets/{script}\"></script>\n</html>\n"
        );
        assert_eq!(text(&assets, "index.html"), expected);
        assert_eq!(
            text(&assets, style),
            "b { color: blue }\na { color: red }\n"
        );
        assert!(text(&assets, script).contains("document.title = A;"));
        assert!(text(&assets, "sw.js").contains("self.a = A;"));
        assert_eq!(text(&assets, "icon.svg"), "<svg/>");
    }

    #[test]
    fn a_hash_changes_with_the_content_only() {
        let dir = folder(PAGE_TEXT);
        let hashes = || -> Vec<String> {
            let assets = bundle(dir.path()).unwrap();
            ["main-", "index"]
                .map(|name| {
                    assets
                        .iter()
                        .find(|it| it.path.starts_with(name))
                        .unwrap()
                        .hash
                        .clone()
                })
                .into()
        };
        let first = hashes();
        assert_eq!(hashes(), first);
        fs::write(dir.path().join("core.js"), "export const A = 2;\n").unwrap();
        let second = hashes();
        assert!(first[0] != second[0] && first[1] != second[1]);
    }

    #[test]
    fn each_encoding_decodes_to_the_content() {
        let assets = bundle(folder(PAGE_TEXT).path()).unwrap();
        let page = assets.iter().find(|it| it.path == "index.html").unwrap();
        let names: Vec<_> = page.encoded.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["br", "gzip"]);
        let mut decoded = [Vec::new(), Vec::new()];
        brotli::Decompressor::new(&*page.encoded[0].1, 4096)
            .read_to_end(&mut decoded[0])
            .unwrap();
        flate2::read::GzDecoder::new(&*page.encoded[1].1)
            .read_to_end(&mut decoded[1])
            .unwrap();
        assert_eq!(decoded, [page.content.clone(), page.content.clone()]);
        let icon = assets.iter().find(|it| it.path == "icon.svg").unwrap();
        assert_eq!(icon.encoded, [], "too small to gain from an encoding");
    }

    #[test]
    fn a_page_that_the_bundler_cannot_read_is_refused() {
        for (from, to, expected) in [
            (
                "type=\"module\"",
                "defer",
                "index.html must have one <script",
            ),
            ("stylesheet", "style", "index.html has no <link"),
            (
                "/assets/main.js",
                "/main.js",
                "index.html: /main.js is not below /assets/",
            ),
            ("style/a.css", "style/c.css", "cannot read style/c.css"),
        ] {
            let error = bundle(folder(&PAGE_TEXT.replace(from, to)).path()).expect_err(expected);
            assert!(format!("{error:#}").starts_with(expected), "{error:#}");
        }
    }
}
