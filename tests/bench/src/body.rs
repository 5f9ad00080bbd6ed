//! The posted body: a JSON notification of about 200 bytes with a number by which readers recognise it.

use memchr::memmem;

/// The JSON body of notification `number` for `inbox`.
pub(crate) fn body(inbox: &str, number: u64) -> String {
    format!(
        r#"{{"from":"worker-1","to":"{inbox}","type":"message","msg":"{number:010} the migration of the orders table is done, all tests pass and the branch is pushed","data":{{"branch":"orders-2","tests":214}}}}"#
    )
}

/// Returns the number in an event's data or a batch; `None` for a notification that the bench did not post.
pub(crate) fn number(data: &[u8]) -> Option<u64> {
    const BEFORE: &[u8] = br#""msg":""#;
    let at = memmem::find(data, BEFORE)? + BEFORE.len();
    let digits = data.get(at..at + 10)?;
    digits.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + u64::from(digit - b'0'))
    })
}
