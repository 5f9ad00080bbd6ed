//! The manual page `hub-records(5)`: the records in the log. It follows from the source that defines them.

use roff::{Roff, bold, italic, roman};

/// The source of the records, in the order of the page.
pub(crate) const SOURCES: [&str; 6] = [
    include_str!("../../server/core/src/record.rs"),
    include_str!("../../server/core/src/record/notification.rs"),
    include_str!("../../server/core/src/record/delivery.rs"),
    include_str!("../../server/core/src/record/session.rs"),
    include_str!("../../server/core/src/record/question.rs"),
    include_str!("../../protocol/agents/src/turn_cause.rs"),
];

/// A kind of record: the number of its kind, and the type of its payload.
struct Kind {
    number: String,
    payload: String,
    doc: String,
}

/// A type: a structure, or an enumeration whose members are its variants.
struct Type {
    name: String,
    doc: String,
    members: Vec<Member>,
}

struct Member {
    name: String,
    of: String,
    doc: String,
}

/// The page. Each kind of record is a section with the fields of its payload.
pub(crate) fn render(sources: &[&str]) -> String {
    let mut kinds: Vec<_> = sources.iter().flat_map(|it| kinds(it)).collect();
    kinds.sort_by_key(|it| it.number.parse::<u8>().unwrap_or(u8::MAX));
    let mut types: Vec<_> = sources.iter().flat_map(|it| types(it)).collect();
    let mut page = Roff::new();
    page.control("TH", ["hub-records", "5"])
        .control("SH", ["NAME"])
        .text([roman("hub-records - the records in the log of hubd")])
        .control("SH", ["DESCRIPTION"])
        .text([roman(plain(&about(sources[0])))])
        .control("PP", [])
        .text([roman(
            "hubd export writes the records as lines of JSON, each with its number, its kind and its payload. Times \
             are in RFC 3339. A type that this page does not describe is in openapi.yaml, which hubd serves.",
        )])
        .control("SH", ["RECORDS"]);
    for kind in &kinds {
        let heading = format!("{} {}", kind.number, kind.payload);
        page.control("SS", [heading.as_str()])
            .text([roman(plain(&kind.doc))]);
        if let Some(at) = types.iter().position(|it| it.name == kind.payload) {
            members(&mut page, &types.remove(at));
        }
    }
    page.control("SH", ["TYPES"]);
    for it in &types {
        page.control("SS", [it.name.as_str()])
            .text([roman(plain(&it.doc))]);
        members(&mut page, it);
    }
    page.control("SH", ["SEE ALSO"])
        .text([bold("hubd"), roman("(1)")]);
    page.to_roff()
}

fn members(page: &mut Roff, of: &Type) {
    for member in &of.members {
        page.control("TP", [])
            .text([
                bold(member.name.as_str()),
                roman(" "),
                italic(member.of.as_str()),
            ])
            .text([roman(plain(&member.doc))]);
    }
}

/// The comment about the file without its first paragraph.
fn about(source: &str) -> String {
    let lines = source.lines().map_while(|it| it.strip_prefix("//!"));
    let lines: Vec<_> = lines
        .skip_while(|it| !it.is_empty())
        .map(str::trim)
        .collect();
    lines.join(" ").trim().to_owned()
}

/// The kinds: lines such as `SEEN = 3 => Seen,` in the macro `records!`.
fn kinds(source: &str) -> Vec<Kind> {
    let mut doc = String::new();
    let mut found = Vec::new();
    for line in source.lines().skip_while(|it| *it != "records! {") {
        if line == "}" {
            break;
        }
        let parts = line
            .split_once(" = ")
            .and_then(|it| it.1.split_once(" => "));
        if let Some((number, payload)) = parts {
            found.push(Kind {
                number: number.to_owned(),
                payload: payload.trim_end_matches(',').to_owned(),
                doc: std::mem::take(&mut doc),
            });
        }
        note(&mut doc, line);
    }
    found
}

/// The public structures and enumerations that serde writes, in the layout of rustfmt.
fn types(source: &str) -> Vec<Type> {
    let mut doc = String::new();
    let mut found: Vec<Type> = Vec::new();
    let mut tag = None;
    let mut inside = false;
    for line in source.lines() {
        let item = line
            .strip_prefix("pub struct ")
            .or(line.strip_prefix("pub enum "));
        if let Some(name) = item.and_then(|it| it.strip_suffix(" {")) {
            let (name, doc) = (name.to_owned(), std::mem::take(&mut doc));
            let members = Vec::new();
            found.push(Type { name, doc, members });
            inside = true;
        } else if line == "}" {
            (inside, tag) = (false, None);
        } else if line.starts_with("#[serde(tag") {
            tag = line.split('"').nth(1);
        } else if inside && let Some((name, of)) = member(line, tag) {
            let doc = std::mem::take(&mut doc);
            found
                .last_mut()
                .expect("a type began")
                .members
                .push(Member { name, of, doc });
        }
        note(&mut doc, line);
    }
    // Errors are never stored.
    found.retain(|it| !it.name.ends_with("Error"));
    found
}

/// A field or a variant of a type, if the line has one; of a variant, the name is the one that is stored.
fn member(line: &str, tag: Option<&str>) -> Option<(String, String)> {
    let text = line.trim().trim_start_matches("pub ");
    if !text.starts_with(char::is_alphabetic) {
        return None;
    }
    if let Some((name, of)) = text.split_once(": ") {
        return Some((name.to_owned(), readable(of.trim_end_matches(','))));
    }
    let name = snake_case(text.trim_end_matches([',', '{', ' ']));
    Some((
        tag.map_or(name.clone(), |it| format!("{it} = {name}")),
        String::new(),
    ))
}

/// Adds a line of a doc comment; any other line than an attribute ends the comment.
fn note(doc: &mut String, line: &str) {
    let line = line.trim();
    if let Some(text) = line.strip_prefix("///") {
        doc.push_str(text);
    } else if !line.starts_with("#[") {
        doc.clear();
    }
}

/// A type of Rust in words.
fn readable(of: &str) -> String {
    let inner = |outer: &str| of.strip_prefix(outer)?.strip_suffix('>').map(readable);
    if let Some(of) = inner("Option<") {
        return format!("{of}, optional");
    }
    if let Some(of) = inner("Vec<") {
        return format!("list of {of}");
    }
    if let Some(pair) = of.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
        let parts: Vec<_> = pair.split(", ").map(readable).collect();
        return format!("[{}]", parts.join(", "));
    }
    match of {
        "Seq" | "i64" | "u32" => "number".into(),
        "String" | "InboxName" | "ProjectName" => "string".into(),
        "Timestamp" => "time".into(),
        "bool" => "true or false".into(),
        "Bytes" => "JSON".into(),
        other => other.to_owned(),
    }
}

/// A comment without the marks of code and links.
fn plain(doc: &str) -> String {
    let text = doc.trim().replace("[`", "").replace("`]", "");
    text.replace('`', "")
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use hub_core::record::{DecodeError, Record};

    use super::*;

    #[test]
    fn every_kind_and_every_field_has_an_entry() {
        let page = render(&SOURCES);
        for kind in 0..=u8::MAX {
            let decoded = Record::decode(kind, &Vec::new().into());
            let known = !matches!(decoded, Err(DecodeError::UnknownKind(_)));
            assert_eq!(page.contains(&format!(".SS \"{kind} ")), known, "{kind}");
        }
        let fields = SOURCES.iter().flat_map(|it| it.lines());
        for line in fields.filter(|it| it.starts_with("    pub ") && it.ends_with(',')) {
            let name = line.trim().trim_start_matches("pub ").split(':').next();
            let name = name.unwrap_or_default();
            assert!(page.contains(&format!("\n\\fB{name}\\fR ")), "{name}");
        }
    }
}
