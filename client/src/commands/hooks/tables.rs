//! Tables of our own in a TOML file that others share. Comments, order and the text of everything else stay.

use hub_agents::{Agent, Shape};
use serde_json::Value;
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value as Toml};

use super::json::BOM;
use super::merge;
use super::own::OwnCommand;

/// The comments between which an earlier version put its tables. They go with the tables.
const MARKS: [&str; 2] = [
    "# The hooks of hubctl begin here; `hubctl hooks uninstall` removes them.\n",
    "# The hooks of hubctl end here.\n",
];

/// The name of the agent's list of hooks, or of its table with a list for each event.
const HOOKS: &str = "hooks";

/// A TOML file.
struct TomlFile {
    begins_with_bom: bool,
    has_crlf: bool,
    toml: DocumentMut,
}

impl TomlFile {
    /// Parses a file. An error says why it is not TOML.
    fn parse(text: &str) -> Result<Self, String> {
        let body = text.strip_prefix(BOM).unwrap_or(text);
        // The parser keeps no CRLF.
        let lines = body.replace("\r\n", "\n");
        let toml = lines.parse();
        Ok(Self {
            begins_with_bom: body.len() < text.len(),
            has_crlf: lines.len() < body.len(),
            toml: toml.map_err(|error: toml_edit::TomlError| {
                format!("is not TOML: {}", error.message().trim())
            })?,
        })
    }

    fn text(&self) -> String {
        let mut text = self.with_line_ends(self.toml.to_string());
        if self.begins_with_bom {
            text.insert(0, BOM);
        }
        text
    }

    /// The text of `file`, in which only the list of hooks is replaced by this one; `None` if that is not one value.
    fn with_value(&self, file: &str) -> Option<String> {
        let list = |toml: &Table| toml.get(HOOKS).and_then(Item::as_array).cloned();
        let place = list(toml_edit::Document::parse(file).ok()?.as_table())?.span()?;
        let mut list = list(self.toml.as_table())?;
        list.decor_mut().clear();
        let list = self.with_line_ends(list.to_string());
        Some([&file[..place.start], &list, &file[place.end..]].concat())
    }

    /// Removes our tables, and the lists and groups that are empty without them.
    fn clean(&mut self, agent: Agent) {
        let mut gone = Vec::new();
        let hooks = self.toml.get_mut(HOOKS);
        let is_empty = hooks.is_some_and(|it| clean(it, agent, &mut gone));
        if is_empty && self.toml.contains_array_of_tables(HOOKS) {
            self.toml.remove(HOOKS);
        }
        gone.sort_by_key(Table::position);
        for (n, table) in gone.iter().enumerate().rev() {
            // Blank lines between two of ours are not the person's.
            if n == 0 || prefix(table).contains('#') {
                self.keep_comment(table);
            }
        }
        each(&mut self.toml, &mut |table| {
            let text = without_marks(prefix(table));
            if let Some(text) = text {
                table.decor_mut().set_prefix(text);
            }
        });
        let end = without_marks(self.toml.trailing().as_str().unwrap_or_default());
        if let Some(end) = end {
            self.toml.set_trailing(end);
        }
    }

    /// Moves the text before a removed table, such as a comment of the person, to the table that followed it.
    fn keep_comment(&mut self, gone: &Table) {
        let mut next: Option<isize> = None;
        each(&mut self.toml, &mut |table| {
            let place = table.position().filter(|it| Some(*it) > gone.position());
            let place = place.filter(|_| !table.is_implicit() && !table.is_dotted());
            next = [next, place].into_iter().flatten().min();
        });
        let text = prefix(gone);
        if next.is_none() {
            let end = self.toml.trailing().as_str().unwrap_or_default();
            self.toml.set_trailing(format!("{text}{end}"));
            return;
        }
        each(&mut self.toml, &mut |table| {
            if table.position() == next {
                let text = format!("{text}{}", prefix(table));
                table.decor_mut().set_prefix(text);
            }
        });
    }

    /// Adds tables to the list of hooks, if it is written in one value.
    fn add_to_value(&mut self, tables: &[Value]) -> Result<(), String> {
        let list = self.toml.get_mut(HOOKS).and_then(Item::as_array_mut);
        let list = list.filter(|it| it.iter().all(Toml::is_inline_table));
        let list = list.ok_or_else(|| {
            format!("has `{HOOKS}` that is no list of tables: remove or rename that key")
        })?;
        // A comment at the list's end goes before our first table.
        let mut end = list
            .trailing()
            .as_str()
            .unwrap_or_default()
            .trim_end()
            .to_owned();
        for table in tables {
            let start = format!("{}\n  ", std::mem::take(&mut end));
            list.push_formatted(Toml::from(inline(table)).decorated(start, ""));
        }
        list.set_trailing("\n");
        Ok(())
    }

    /// The text that adds `tables` at the end of this file.
    fn lines(&self, tables: &[Value]) -> String {
        let mut list = ArrayOfTables::new();
        for table in tables {
            let mut table = inline(table).into_table();
            table.decor_mut().set_prefix("");
            list.push(table);
        }
        let mut toml = DocumentMut::new();
        toml.insert(HOOKS, Item::ArrayOfTables(list));
        self.with_line_ends(toml.to_string())
    }

    fn with_line_ends(&self, text: String) -> String {
        if self.has_crlf {
            text.replace('\n', "\r\n")
        } else {
            text
        }
    }
}

/// The file with `tables` as our only ones. An error says why they cannot be added.
pub(super) fn install(file: &str, agent: Agent, tables: &[Value]) -> Result<String, String> {
    let found = list(&TomlFile::parse(file)?.toml, agent);
    if found == tables && !has_marks(file) {
        return Ok(file.to_owned());
    }
    let mut text = uninstall(file, agent)?;
    let mut document = TomlFile::parse(&text)?;
    if document
        .toml
        .get(HOOKS)
        .is_some_and(|it| !it.is_array_of_tables())
    {
        document.add_to_value(tables)?;
        return Ok(document
            .with_value(&text)
            .unwrap_or_else(|| document.text()));
    }
    if !document.toml.to_string().is_empty() && !text.ends_with('\n') {
        text.push_str(&document.with_line_ends("\n".into()));
    }
    Ok(text + &document.lines(tables))
}

/// The file without our tables.
pub(super) fn uninstall(file: &str, agent: Agent) -> Result<String, String> {
    let is_clean = |text: &str| -> Result<bool, String> {
        Ok(find(text, agent)?.is_empty() && !has_marks(text))
    };
    let mut document = TomlFile::parse(file)?;
    // The parser puts members with dotted names together, so our own lines are cut off as they were added, if they are so
    // still.
    let ours = document.lines(&list(&document.toml, agent));
    let rest = file.strip_suffix(&ours).unwrap_or(file);
    if is_clean(rest)? {
        return Ok(rest.to_owned());
    }
    document.clean(agent);
    Ok(document.with_value(file).unwrap_or_else(|| document.text()))
}

/// Our commands in the file's hooks, each with its event.
pub(super) fn find(file: &str, agent: Agent) -> Result<Vec<(String, OwnCommand)>, String> {
    let hooks = hooks(file)?;
    if hooks.as_ref().is_some_and(Value::is_object) {
        return merge::find(hooks.as_ref(), agent, Shape::Grouped);
    }
    let tables = hooks.as_ref().and_then(Value::as_array);
    let own = |table: &Value| {
        let event = table["event"].as_str().unwrap_or_default();
        Some((event.to_owned(), OwnCommand::of(table, "command", agent)?))
    };
    Ok(tables.into_iter().flatten().filter_map(own).collect())
}

/// The hooks in the file, of whatever form.
pub(super) fn hooks(file: &str) -> Result<Option<Value>, String> {
    Ok(value(file)?.get_mut(HOOKS).map(Value::take))
}

/// The content of the file.
pub(super) fn value(file: &str) -> Result<Value, String> {
    TomlFile::parse(file).map(|it| object(it.toml.as_table()))
}

/// Our tables in a list of hooks.
fn list(toml: &DocumentMut, agent: Agent) -> Vec<Value> {
    let hooks = toml.get(HOOKS).map(json).unwrap_or_default();
    let tables = hooks.as_array().into_iter().flatten();
    tables.filter(|it| is_ours(it, agent)).cloned().collect()
}

fn is_ours(table: &Value, agent: Agent) -> bool {
    OwnCommand::of(table, "command", agent).is_some()
}

/// Removes our tables from `item` and all that it contains, and puts those with a header into `gone`. Returns whether a
/// list became empty.
fn clean(item: &mut Item, agent: Agent, gone: &mut Vec<Table>) -> bool {
    match item {
        Item::ArrayOfTables(list) => {
            let before = list.len();
            for n in (0..before).rev() {
                let is_empty = list.get_mut(n).is_some_and(|table| {
                    is_ours(&object(table), agent) || clean_members(table, agent, gone)
                });
                if is_empty {
                    gone.push(list.remove(n));
                }
            }
            list.len() < before && list.is_empty()
        }
        Item::Value(Toml::Array(list)) => {
            let before = list.len();
            let ours = list.iter().filter(|it| is_ours(&json_of(it), agent));
            let comments: String = ours.map(start).filter(|it| it.contains('#')).collect();
            list.retain(|it| !is_ours(&json_of(it), agent));
            if list.len() == before {
                return false;
            }
            if !comments.is_empty() {
                list.set_trailing(format!("{}\n", comments.trim_end()));
            } else if !list.iter().any(|it| start(it).contains('\n')) {
                list.set_trailing("");
            }
            if list.is_empty() {
                list.set_trailing_comma(false);
            }
            list.is_empty()
        }
        Item::Table(table) => clean_members(table, agent, gone),
        _ => false,
    }
}

/// Cleans each member, and removes those that became empty. Returns whether there was one.
fn clean_members(table: &mut dyn TableLike, agent: Agent, gone: &mut Vec<Table>) -> bool {
    let mut empty = Vec::new();
    for (name, item) in table.iter_mut() {
        if clean(item, agent, gone) {
            empty.push(name.to_string());
        }
    }
    for name in &empty {
        table.remove(name);
    }
    !empty.is_empty()
}

/// Calls `visit` with the table and each table below it that may have a header.
fn each(table: &mut Table, visit: &mut dyn FnMut(&mut Table)) {
    visit(table);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => each(table, visit),
            Item::ArrayOfTables(list) => list.iter_mut().for_each(|it| each(it, visit)),
            _ => {}
        }
    }
}

/// The text before a value in a list.
fn start(value: &Toml) -> &str {
    let start = value.decor().prefix();
    start.and_then(|it| it.as_str()).unwrap_or_default()
}

/// The text before a table's header.
fn prefix(table: &Table) -> &str {
    let prefix = table.decor().prefix();
    prefix.and_then(|it| it.as_str()).unwrap_or_default()
}

fn has_marks(text: &str) -> bool {
    MARKS.iter().any(|mark| text.contains(mark))
}

/// The text without our marks; `None` if it has none.
fn without_marks(text: &str) -> Option<String> {
    let [begin, end] = MARKS;
    let left = text.replace(begin, "").replace(end, "");
    (left.len() < text.len()).then_some(left)
}

/// A table of ours: its members are strings and small numbers.
fn inline(table: &Value) -> InlineTable {
    let toml = |it: &Value| match it {
        Value::String(text) => Toml::from(text),
        other => Toml::from(other.as_i64().unwrap_or_default()),
    };
    let members = table.as_object().into_iter().flatten();
    members.map(|(name, it)| (name, toml(it))).collect()
}

fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_of(value),
        Item::Table(table) => object(table),
        Item::ArrayOfTables(list) => list.iter().map(|it| object(it)).collect(),
    }
}

fn json_of(value: &Toml) -> Value {
    match value {
        Toml::String(it) => it.value().as_str().into(),
        Toml::Integer(it) => (*it.value()).into(),
        Toml::Float(it) => (*it.value()).into(),
        Toml::Boolean(it) => (*it.value()).into(),
        Toml::Datetime(it) => it.value().to_string().into(),
        Toml::Array(list) => list.iter().map(json_of).collect(),
        Toml::InlineTable(table) => object(table),
    }
}

fn object(table: &dyn TableLike) -> Value {
    let members = table.iter();
    Value::Object(
        members
            .map(|(name, it)| (name.to_owned(), json(it)))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
