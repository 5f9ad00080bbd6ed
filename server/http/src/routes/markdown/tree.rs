//! The tree of a Markdown text, with the node types of mdast (<https://github.com/syntax-tree/mdast>).
//!
//! The tree has only these types, links only to the web and to mail addresses, and raw HTML only as text.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde::Serialize;

/// Deepest nesting. Deeper nodes are replaced by their children.
const MAX_DEPTH: usize = 24;
/// Most nodes. The rest of a text with more is one text node.
const MAX_NODES: usize = 20_000;
/// Most marks of quotes and lists at the beginning of a line. The parser looks at each of them again on every further
/// line, so a text with more is shown as it is: no person nests that deep.
const MAX_MARKS: usize = 100;
/// Events between two looks at the time.
const STEP: usize = 64;

/// The root of a tree.
#[derive(Debug, Serialize)]
pub(crate) struct MarkdownTree {
    children: Vec<MarkdownNode>,
}

/// A node; fields that its type does not have are absent.
#[derive(Debug, Default, Serialize)]
struct MarkdownNode {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// The level of a heading, 1 to 6.
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u8>,
    /// The address of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The language of a code block.
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<String>,
    /// The first number of an ordered list.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    /// Whether the task of a list item is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<MarkdownNode>,
}

impl MarkdownNode {
    fn of(kind: &'static str) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    fn with_value(kind: &'static str, value: &str) -> Self {
        Self {
            value: Some(value.to_owned()),
            ..Self::of(kind)
        }
    }
}

/// Parses a text. Once `is_over`, the rest of the text is one text node.
pub(super) fn parse(text: &str, is_over: impl Fn() -> bool) -> MarkdownTree {
    if text.lines().any(is_too_deep) {
        return plain(text);
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = Builder::default();
    let events = Parser::new_ext(text, options).into_offset_iter();
    for (number, (event, range)) in events.enumerate() {
        if builder.count >= MAX_NODES || number % STEP == 0 && is_over() {
            builder.close_all();
            builder.add(MarkdownNode::with_value("text", &text[range.start..]));
            break;
        }
        builder.take(event);
    }
    builder.close_all();
    MarkdownTree {
        children: builder.root,
    }
}

/// Whether a line begins with more marks of quotes and lists than are parsed.
fn is_too_deep(line: &str) -> bool {
    let head = line
        .bytes()
        .take_while(|it| b" \t>-+*.)0123456789".contains(it));
    let next = line.bytes().skip(1).map(Some).chain([None]);
    let is_mark = |(mark, next): &(u8, Option<u8>)| match mark {
        b'>' => true,
        b'-' | b'+' | b'*' | b'.' | b')' => matches!(next, None | Some(b' ' | b'\t')),
        _ => false,
    };
    head.zip(next).filter(is_mark).count() > MAX_MARKS
}

/// The text as it is, in one paragraph.
fn plain(text: &str) -> MarkdownTree {
    let mut paragraph = MarkdownNode::of("paragraph");
    paragraph
        .children
        .push(MarkdownNode::with_value("text", text));
    MarkdownTree {
        children: vec![paragraph],
    }
}

/// An open node of the text.
enum Open {
    Node(MarkdownNode),
    /// A node that is not in the tree; the text is added after its children.
    Skipped(Option<String>),
}

#[derive(Default)]
struct Builder {
    root: Vec<MarkdownNode>,
    open: Vec<Open>,
    /// The places in `open` of the nodes that will be in the tree. A text may open very many others.
    nodes: Vec<usize>,
    count: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(TagEnd::CodeBlock) => self.end_code_block(),
            Event::End(_) => self.end(),
            Event::Code(text) => self.add(MarkdownNode::with_value("inlineCode", &text)),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.add(MarkdownNode::of("break")),
            Event::Rule => self.add(MarkdownNode::of("thematicBreak")),
            Event::TaskListMarker(checked) => self.check(checked),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let opened = match tag {
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => link(&dest_url),
            tag => node(tag).map_or(Open::Skipped(None), Open::Node),
        };
        let opened = match opened {
            Open::Node(_) if self.nodes.len() >= MAX_DEPTH => Open::Skipped(None),
            opened => opened,
        };
        if matches!(opened, Open::Node(_)) {
            self.nodes.push(self.open.len());
        }
        self.open.push(opened);
    }

    fn end(&mut self) {
        match self.open.pop() {
            Some(Open::Node(node)) => {
                self.nodes.pop();
                self.add(node);
            }
            Some(Open::Skipped(Some(text))) => self.text(&text),
            Some(Open::Skipped(None)) | None => {}
        }
    }

    /// A code block has a value instead of children.
    fn end_code_block(&mut self) {
        if let Some(Open::Node(node)) = self.open.last_mut() {
            let texts = node.children.drain(..).filter_map(|it| it.value);
            let value = texts.collect::<String>();
            node.value = Some(value.strip_suffix('\n').unwrap_or(&value).to_owned());
        }
        self.end();
    }

    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.end();
        }
    }

    fn check(&mut self, checked: bool) {
        for &at in self.nodes.iter().rev().take(2) {
            if let Open::Node(item) = &mut self.open[at]
                && item.kind == "listItem"
            {
                item.checked = Some(checked);
                return;
            }
        }
    }

    fn siblings(&mut self) -> &mut Vec<MarkdownNode> {
        let innermost = self.nodes.last().map(|at| &mut self.open[*at]);
        match innermost {
            Some(Open::Node(node)) => &mut node.children,
            _ => &mut self.root,
        }
    }

    fn add(&mut self, node: MarkdownNode) {
        self.count += 1;
        self.siblings().push(node);
    }

    /// Adds a text; the parser may split one into several.
    fn text(&mut self, text: &str) {
        if let Some(last) = self.siblings().last_mut()
            && last.kind == "text"
            && let Some(value) = &mut last.value
        {
            value.push_str(text);
            return;
        }
        self.add(MarkdownNode::with_value("text", text));
    }
}

/// The node of a tag, `None` for one that the tree does not have.
fn node(tag: Tag<'_>) -> Option<MarkdownNode> {
    Some(match tag {
        Tag::Paragraph | Tag::HtmlBlock => MarkdownNode::of("paragraph"),
        Tag::Heading { level, .. } => MarkdownNode {
            depth: Some(depth(level)),
            ..MarkdownNode::of("heading")
        },
        Tag::BlockQuote(_) => MarkdownNode::of("blockquote"),
        Tag::CodeBlock(kind) => MarkdownNode {
            lang: lang(&kind),
            ..MarkdownNode::of("code")
        },
        Tag::List(start) => MarkdownNode {
            start,
            ..MarkdownNode::of("list")
        },
        Tag::Item => MarkdownNode::of("listItem"),
        Tag::Table(_) => MarkdownNode::of("table"),
        Tag::TableHead | Tag::TableRow => MarkdownNode::of("tableRow"),
        Tag::TableCell => MarkdownNode::of("tableCell"),
        Tag::Emphasis => MarkdownNode::of("emphasis"),
        Tag::Strong => MarkdownNode::of("strong"),
        Tag::Strikethrough => MarkdownNode::of("delete"),
        _ => return None,
    })
}

/// A link to the web or a mail address. The address of any other link is shown as text after the link's own.
fn link(url: &str) -> Open {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme);
    let is_allowed = scheme.is_some_and(|scheme| {
        let allowed = ["http", "https", "mailto"];
        allowed.iter().any(|it| scheme.eq_ignore_ascii_case(it))
    });
    if is_allowed && !url.chars().any(|it| it.is_control() || it.is_whitespace()) {
        return Open::Node(MarkdownNode {
            url: Some(url.to_owned()),
            ..MarkdownNode::of("link")
        });
    }
    Open::Skipped((!url.is_empty()).then(|| format!(" ({url})")))
}

fn depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn lang(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else {
        return None;
    };
    info.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tree(text: &str) -> Value {
        serde_json::to_value(parse(text, || false)).unwrap()["children"].take()
    }

    fn paragraph(children: &Value) -> Value {
        json!([{ "type": "paragraph", "children": children }])
    }

    fn text(value: &str) -> Value {
        json!({ "type": "text", "value": value })
    }

    #[test]
    fn blocks_and_inlines_become_nodes() {
        let parsed = tree("# A\n\n1. [x] *b* `c`\n\n```rs\nfn d() {}\n```\n\n|e|\n|-|\n|f|");
        let expected = json!([
            { "type": "heading", "depth": 1, "children": [text("A")] },
            { "type": "list", "start": 1, "children": [{ "type": "listItem", "checked": true, "children": [
                { "type": "emphasis", "children": [text("b")] }, text(" "), { "type": "inlineCode", "value": "c" },
            ] }] },
            { "type": "code", "lang": "rs", "value": "fn d() {}" },
            { "type": "table", "children": [
                { "type": "tableRow", "children": [{ "type": "tableCell", "children": [text("e")] }] },
                { "type": "tableRow", "children": [{ "type": "tableCell", "children": [text("f")] }] },
            ] },
        ]);
        assert_eq!(parsed, expected);
    }

    #[test]
    fn raw_html_is_text() {
        assert_eq!(
            tree("a <b onclick=x>c</b>"),
            paragraph(&json!([text("a <b onclick=x>c</b>")]))
        );
        assert_eq!(
            tree("<script>x</script>"),
            paragraph(&json!([text("<script>x</script>")]))
        );
    }

    #[test]
    fn only_links_to_the_web_and_to_mail_addresses_are_links() {
        for url in ["https://a.b/c", "HTTP://a.b", "mailto:a@b.c"] {
            let link = json!({ "type": "link", "url": url, "children": [text("d")] });
            assert_eq!(tree(&format!("[d]({url})")), paragraph(&json!([link])));
        }
        for url in [
            "javascript:x",
            "data:text/html,x",
            "src/a.rs:12",
            "//a.b",
            "java&#10;script:x",
        ] {
            let parsed = tree(&format!("[d](<{url}>)"));
            assert_eq!(parsed[0]["children"][0]["type"], "text", "{url}");
            assert_eq!(parsed[0]["children"].as_array().unwrap().len(), 1, "{url}");
        }
        assert_eq!(
            tree("![d](javascript:x)"),
            paragraph(&json!([text("d (javascript:x)")]))
        );
    }

    #[test]
    fn depth_and_size_are_bounded_and_no_text_is_lost() {
        fn deepest(node: &MarkdownNode) -> usize {
            1 + node.children.iter().map(deepest).max().unwrap_or(0)
        }
        let nested = parse(&format!("{}end", "> ".repeat(MAX_MARKS)), || false);
        let depth = nested.children.iter().map(deepest).max().unwrap();
        assert!((MAX_DEPTH..=MAX_DEPTH + 1).contains(&depth), "{depth}");
        let many = tree(&format!("{}end", "*a* `b`\n\n".repeat(20_000)));
        let many = many.as_array().unwrap();
        assert!(many.len() <= MAX_NODES);
        let last = many.last().unwrap()["value"].as_str().unwrap();
        assert!(last.ends_with("`b`\n\nend"), "the rest is text");
    }

    #[test]
    fn a_text_that_is_nested_too_deep_or_takes_too_long_is_shown_as_it_is() {
        for mark in ["> ", ">", "- ", "1. ", "* + "] {
            let deep = format!("a\n{}end", mark.repeat(MAX_MARKS + 1));
            assert_eq!(tree(&deep), paragraph(&json!([text(&deep)])));
        }
        assert_eq!(tree(&"-".repeat(500)), json!([{ "type": "thematicBreak" }]));
        let late = parse("a *b*\n\nc", || true);
        let late = serde_json::to_value(late).unwrap();
        assert_eq!(late["children"], json!([text("a *b*\n\nc")]));
    }
}
