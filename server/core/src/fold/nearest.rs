//! Suggestions for mistyped names.

use hub_protocol::InboxName;

/// Up to two typing errors are likely; more edits mean a different name.
const MAX_DISTANCE: usize = 2;

/// Returns the name in `known` that is fewest edits away from `name`, if any is close enough; never `name` itself.
pub(super) fn nearest<'a>(
    name: &InboxName,
    known: impl Iterator<Item = &'a InboxName>,
) -> Option<&'a InboxName> {
    known
        .filter(|other| *other != name)
        .filter_map(|other| Some((distance(name.as_str(), other.as_str())?, other)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// Returns the edits between two names, ignoring case; `None` if there are too many, or if they replace more than half
/// of the name.
fn distance(a: &str, b: &str) -> Option<usize> {
    if a.len().abs_diff(b.len()) > MAX_DISTANCE {
        return None;
    }
    let longest = a.len().max(b.len());
    let (a, b) = differing(a.as_bytes(), b.as_bytes());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
        if row.iter().min().is_some_and(|&least| least > MAX_DISTANCE) {
            return None;
        }
    }
    let edits = row[b.len()];
    (edits <= MAX_DISTANCE && edits * 2 <= longest).then_some(edits)
}

/// Returns both names without the beginning and the end that they share, which need no edits.
fn differing<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let is_same = |(x, y): &(&u8, &u8)| x.eq_ignore_ascii_case(y);
    let begin = a.iter().zip(b).take_while(is_same).count();
    let (a, b) = (&a[begin..], &b[begin..]);
    let end = { a.iter().rev() }
        .zip(b.iter().rev())
        .take_while(is_same)
        .count();
    (&a[..a.len() - end], &b[..b.len() - end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest_of(name: &str, known: &[&str]) -> Option<String> {
        let known: Vec<InboxName> = known.iter().map(|name| name.parse().unwrap()).collect();
        nearest(&name.parse().unwrap(), known.iter()).map(ToString::to_string)
    }

    #[test]
    fn a_mistyped_name_finds_the_intended_name() {
        let known = ["person", "primary", "worker-1", "ci"];
        for (slip, meant) in [
            ("primray", "primary"),
            ("Primary", "primary"),
            ("worker1", "worker-1"),
            ("prson", "person"),
        ] {
            assert_eq!(nearest_of(slip, &known).as_deref(), Some(meant));
        }
    }

    #[test]
    fn a_different_name_finds_no_suggestion() {
        let known = ["person", "primary", "worker-1", "ci"];
        for other in ["cd1", "db", "tester", "a", "primaries-of-all"] {
            assert_eq!(nearest_of(other, &known), None, "{other}");
        }
    }
}
