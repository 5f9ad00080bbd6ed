//! The tokens of JavaScript: enough of its lexical grammar to know comments, texts and brackets apart.

use anyhow::{Context, Result, bail, ensure};

/// A token with the blank space in front of it. Comments count as blank space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) kind: Kind,
    pub(crate) gap: Gap,
    /// The number of brackets around it.
    pub(crate) depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, a keyword or a number.
    Word,
    /// A string in quotes.
    String,
    /// A template, or its part up to or from an expression in it.
    Template,
    Regex,
    /// One character, or `++` or `--`.
    Sign,
}

/// The blank space in front of a token. A line end can end a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    Nothing,
    Space,
    Line,
}

/// Keywords after which a slash begins a regular expression.
const BEFORE_REGEX: [&str; 14] = [
    "await",
    "case",
    "delete",
    "do",
    "else",
    "in",
    "instanceof",
    "new",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

/// Returns the tokens of a module. An error names the line.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut scanner = Scanner {
        text,
        at: 0,
        open: Vec::new(),
        tokens: Vec::new(),
    };
    scanner.scan().with_context(|| {
        let read = &text.as_bytes()[..scanner.at];
        format!("line {}", read.split(|it| *it == b'\n').count())
    })?;
    Ok(scanner.tokens)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The open brackets; `$` is that of an expression in a template.
    open: Vec<u8>,
    tokens: Vec<Token<'a>>,
}

impl<'a> Scanner<'a> {
    fn scan(&mut self) -> Result<()> {
        loop {
            let gap = self.gap()?;
            let Some(first) = self.peek(0) else {
                ensure!(self.open.is_empty(), "a bracket is not closed");
                return Ok(());
            };
            let depth = self.open.len()
                - usize::from(matches!(first, b')' | b']' | b'}')).min(self.open.len());
            let start = self.at;
            let kind = self.token(first)?;
            let text = &self.text[start..self.at];
            self.tokens.push(Token {
                text,
                kind,
                gap,
                depth,
            });
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blank space and comments.
    fn gap(&mut self) -> Result<Gap> {
        let start = self.at;
        loop {
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").context("a comment does not end")? + 2;
            } else if rest.starts_with([' ', '\t', '\r', '\n']) {
                self.at += 1;
            } else {
                let skipped = &self.text[start..self.at];
                return Ok(match skipped {
                    "" => Gap::Nothing,
                    _ if skipped.contains('\n') => Gap::Line,
                    _ => Gap::Space,
                });
            }
        }
    }

    /// Advances to the end of the token that begins with `first`.
    fn token(&mut self, first: u8) -> Result<Kind> {
        match first {
            b'\'' | b'"' => self.quoted(first).map(|()| Kind::String),
            b'`' => self.template().map(|()| Kind::Template),
            b'}' if self.open.last() == Some(&b'$') => {
                self.open.pop();
                self.template().map(|()| Kind::Template)
            }
            b'/' if self.regex_may_begin()? => self.regex().map(|()| Kind::Regex),
            _ if is_word(first) => {
                self.skip_word();
                Ok(Kind::Word)
            }
            _ => self.sign(first).map(|()| Kind::Sign),
        }
    }

    fn skip_word(&mut self) {
        while self.peek(0).is_some_and(is_word) {
            self.at += 1;
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<()> {
        self.at += 1;
        loop {
            match self.peek(0) {
                None | Some(b'\n') => bail!("a string does not end"),
                Some(b'\\') => self.at += 2,
                Some(it) => {
                    self.at += 1;
                    if it == quote {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Advances behind the template, or behind the bracket of its next expression.
    fn template(&mut self) -> Result<()> {
        self.at += 1;
        loop {
            match self.peek(0) {
                None => bail!("a template does not end"),
                Some(b'\\') => self.at += 2,
                Some(b'$') if self.peek(1) == Some(b'{') => {
                    self.at += 2;
                    self.open.push(b'$');
                    return Ok(());
                }
                Some(it) => {
                    self.at += 1;
                    if it == b'`' {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Whether a slash begins a regular expression here, and is not a division.
    fn regex_may_begin(&self) -> Result<bool> {
        let Some(last) = self.tokens.last() else {
            return Ok(true);
        };
        let before = self.tokens.iter().rev().nth(1);
        Ok(match last.kind {
            Kind::Word => {
                BEFORE_REGEX.contains(&last.text) && before.is_none_or(|it| it.text != ".")
            }
            Kind::Sign if last.text == "}" => bail!(
                "a slash after a }} can be a division or begin a regular expression: write it in another way"
            ),
            Kind::Sign => !matches!(last.text, ")" | "]" | "++" | "--"),
            Kind::Template => last.text.ends_with("${"),
            Kind::String | Kind::Regex => false,
        })
    }

    fn regex(&mut self) -> Result<()> {
        let mut in_class = false;
        loop {
            self.at += 1;
            match self.peek(0) {
                None | Some(b'\n') => bail!("a regular expression does not end"),
                Some(b'\\') => self.at += 1,
                Some(b'[') => in_class = true,
                Some(b']') => in_class = false,
                Some(b'/') if !in_class => break,
                Some(_) => {}
            }
        }
        self.at += 1;
        self.skip_word();
        Ok(())
    }

    fn sign(&mut self, first: u8) -> Result<()> {
        self.at += 1;
        let opening = match first {
            b'(' | b'[' | b'{' => {
                self.open.push(first);
                return Ok(());
            }
            b')' => b'(',
            b']' => b'[',
            b'}' => b'{',
            b'+' | b'-' => {
                self.at += usize::from(self.peek(0) == Some(first));
                return Ok(());
            }
            _ => return Ok(()),
        };
        ensure!(self.open.pop() == Some(opening), "a bracket closes none");
        Ok(())
    }
}

/// Whether a byte is part of a name or of a number. All characters that are not ASCII are, outside of texts.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens' texts, with a space between them.
    fn texts(text: &str) -> String {
        let found = tokens(text).expect("tokens");
        let texts: Vec<_> = found.iter().map(|it| it.text).collect();
        texts.join(" ")
    }

    #[test]
    fn comments_are_blank_space() {
        assert_eq!(texts("a /* b */ + // c\n/** d\n */ e"), "a + e");
        let gaps: Vec<_> = tokens("a(/* x */b /*\n*/c)")
            .unwrap()
            .iter()
            .map(|it| it.gap)
            .collect();
        assert_eq!(
            gaps,
            [
                Gap::Nothing,
                Gap::Nothing,
                Gap::Space,
                Gap::Line,
                Gap::Nothing
            ]
        );
    }

    #[test]
    fn text_that_looks_like_a_comment_is_text() {
        for kept in [
            "'// a'",
            "\"/* a\"",
            "'\\'// a'",
            "`// a`",
            "/[/*]\\/ */u",
            "`a ${ b } // c`",
        ] {
            let without_spaces = |text: &str| text.replace(' ', "");
            assert_eq!(without_spaces(&texts(kept)), without_spaces(kept));
        }
    }

    #[test]
    fn templates_nest() {
        let found = tokens("`a${ { b: `c${d}` } }e`").unwrap();
        let templates = found.iter().filter(|it| it.kind == Kind::Template);
        let templates: Vec<_> = templates.map(|it| it.text).collect();
        assert_eq!(templates, ["`a${", "`c${", "}`", "}e`"]);
    }

    #[test]
    fn a_division_is_no_regular_expression() {
        let is_regex = |text: &str| {
            tokens(text)
                .unwrap()
                .iter()
                .any(|it| it.kind == Kind::Regex)
        };
        for regex in [
            "/a/",
            "x = /a/g",
            "(/a/)",
            "return /'/",
            "y => /a/",
            "`${/a/}`",
        ] {
            assert!(is_regex(regex), "{regex}");
        }
        for division in [
            "a / b / c",
            "(a) / b / c",
            "a[0] / b / c",
            "2 / 3 / 4",
            "`a` / b / c",
            "i++ / b / c",
            "a.of / b / c",
        ] {
            assert!(!is_regex(division), "{division}");
        }
    }

    #[test]
    fn depth_counts_brackets() {
        let found = tokens("a { b (c) `${d}` } e").unwrap();
        let depths: Vec<_> = found.iter().map(|it| (it.text, it.depth)).collect();
        let expected = [
            ("a", 0),
            ("{", 0),
            ("b", 1),
            ("(", 1),
            ("c", 2),
            (")", 1),
            ("`${", 1),
            ("d", 2),
            ("}`", 1),
            ("}", 0),
            ("e", 0),
        ];
        assert_eq!(depths, expected);
    }

    #[test]
    fn an_error_names_the_line() {
        for (text, expected) in [
            ("\n\n'a\n'", "line 3: a string does not end"),
            ("\n`a\n", "line 3: a template does not end"),
            ("a\n/* b", "line 2: a comment does not end"),
            ("\n)", "line 2: a bracket closes none"),
            ("(]", "line 1: a bracket closes none"),
            ("{\n", "line 2: a bracket is not closed"),
            ("x = /a\n/", "line 1: a regular expression does not end"),
            (
                "{}\n/a/",
                "line 2: a slash after a } can be a division or begin a regular expression: write it in another way",
            ),
        ] {
            let error = tokens(text).expect_err(text);
            assert_eq!(format!("{error:#}"), expected);
        }
    }
}
