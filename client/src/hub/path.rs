//! Paths and queries of the API, percent-encoded.

use std::fmt::{self, Display, Write as _};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The bytes to encode in a segment or a value: all but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A path with its query.
#[derive(Debug, Clone)]
pub struct Path {
    text: String,
    asked: bool,
}

impl Path {
    /// A path that needs no encoding.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            asked: false,
        }
    }

    /// Returns `root/segment` with a query that is already encoded.
    pub(crate) fn with_query(root: &str, segment: &str, query: &str) -> Self {
        let mut path = Self::new(root).segment(segment);
        path.text.push('?');
        path.text.push_str(query);
        path.asked = true;
        path
    }

    /// The encoded query, without the question mark.
    pub(crate) fn query(&self) -> &str {
        self.text.split_once('?').map_or("", |(_, query)| query)
    }

    /// Appends a segment.
    #[must_use]
    pub fn segment(mut self, segment: impl Display) -> Self {
        self.text.push('/');
        self.push(segment);
        self
    }

    /// Appends `name=value` to the query.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Self {
        self.text.push(if self.asked { '&' } else { '?' });
        self.asked = true;
        self.text.push_str(name);
        self.text.push('=');
        self.push(value);
        self
    }

    /// Appends `name=value` to the query if there is a value.
    #[must_use]
    pub(crate) fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Appends `name=a,b` to the query if there are any values.
    #[must_use]
    pub(crate) fn list(self, name: &str, values: &[impl Display]) -> Self {
        if values.is_empty() {
            return self;
        }
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        self.with(name, values.join(","))
    }

    fn push(&mut self, value: impl Display) {
        let value = value.to_string();
        // Writing to a String cannot fail.
        let _ = write!(self.text, "{}", utf8_percent_encode(&value, ENCODED));
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_values_are_encoded() {
        let path = Path::new("/inboxes")
            .segment("a/b?")
            .with("project", "/src/é&x=1")
            .maybe("none", None::<&str>)
            .list("types", &["error", "question"]);
        assert_eq!(
            path.to_string(),
            "/inboxes/a%2Fb%3F?project=%2Fsrc%2F%C3%A9%26x%3D1&types=error%2Cquestion"
        );
    }
}
