//! Counts with their nouns.

use std::fmt::{self, Display, Formatter};

/// A count with its noun: `1 task`, `2 tasks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted<N>(pub N, pub &'static str);

impl<N: Display + From<u8> + PartialEq> Display for Counted<N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        let end = if *count == N::from(1) { "" } else { "s" };
        write!(f, "{count} {noun}{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_in_the_singular() {
        let shown = [0_usize, 1, 2].map(|count| Counted(count, "task").to_string());
        assert_eq!(shown, ["0 tasks", "1 task", "2 tasks"]);
    }
}
