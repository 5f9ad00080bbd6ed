//! How often a test repeats what is random.

/// Returns `few`, or in `tests/run --long` (`HUB_TEST_LONG`) `many`.
pub fn repetitions(few: u32, many: u32) -> u32 {
    if std::env::var_os("HUB_TEST_LONG").is_some() {
        many
    } else {
        few
    }
}
