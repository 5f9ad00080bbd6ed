//! Checks that hold for every listing, shared by the unit tests and by the fuzz target in `protocol/fuzz`.

use std::path::{Component, Path};

use super::{Listed, MAX_ENTRIES, SpoolListing, Timestamp, is_unprintable};

/// Reads `bytes` as a listing, and panics if a file could be written outside of the spool, or a message could control a
/// terminal.
pub(super) fn listing(bytes: &[u8]) {
    let mut listing = SpoolListing::new(bytes, Timestamp::from_millis(1_800_000_000_000));
    for count in 0.. {
        assert!(count <= MAX_ENTRIES, "too many files");
        match listing.next_file() {
            Ok(Some(Listed::Item(item))) => {
                let place = Path::new("/spool").join(item.key.path());
                assert_eq!(place.parent(), Some(Path::new("/spool")), "{place:?}");
                assert!(matches!(
                    place.components().next_back(),
                    Some(Component::Normal(_))
                ));
                assert!(!item.key.as_str().contains(['\n', '\0', ' ']));
                let draft = item.key.draft();
                assert!(Path::new(&draft).components().count() == 1 && draft.len() <= 255);
                assert!(serde_json::to_vec(&item).unwrap().len() < 4 * bytes.len() + 100);
            }
            Ok(Some(Listed::Refused { name, why })) => {
                let shown = format!("{name}{why}");
                assert!(!shown.chars().any(is_unprintable));
                assert!(shown.len() < 2000, "{shown}");
            }
            Ok(None) | Err(_) => return,
        }
    }
}
