//! The spool of another machine, as it is sent to this one. The sender may be hostile, so every size has a limit.

use std::io::{self, BufRead, Read as _};

use super::{SpoolItem, SpoolKey};
#[cfg(test)]
use crate::is_unprintable;
use crate::{Timestamp, first_chars, one_line};

/// Reads a listing: for each file `NAME NUL CONTENT NUL`, and an empty name after the last one.
///
/// A name is anything that a file system allows. A sender cuts the content of a larger file after
/// [`SpoolItem::MAX_BYTES`] and one byte, and removes NUL from it.
#[derive(Debug)]
pub struct SpoolListing<R> {
    input: R,
    now: Timestamp,
    entries: usize,
    bytes: usize,
}

/// One file of a listing.
#[derive(Debug)]
pub enum Listed {
    /// The file is an item.
    Item(SpoolItem),
    /// The file is not an item; the listing goes on.
    Refused {
        /// The file's name without terminal controls, cut.
        name: String,
        /// Why it is refused.
        why: String,
    },
}

/// Why the rest of a listing cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    /// The input failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input ended before the listing.
    #[error("its listing of the spool ended early")]
    Ended,
    /// A name or a content is larger than a sender may send.
    #[error("its listing of the spool has a {0} of more than {1} bytes")]
    TooLong(&'static str, usize),
    /// The listing has more than [`MAX_ENTRIES`] files.
    #[error("its listing of the spool has more than {MAX_ENTRIES} files")]
    TooMany,
    /// The listing has more than [`MAX_LISTING_BYTES`].
    #[error("its listing of the spool has more than {MAX_LISTING_BYTES} bytes")]
    TooLarge,
}

/// The most files in a listing.
pub const MAX_ENTRIES: usize = 1000;
/// The most bytes of a listing: contents of one mebibyte, the largest file, and the names.
pub const MAX_LISTING_BYTES: usize = 3 * SpoolItem::MAX_BYTES;
/// The longest name of a file, in bytes.
const MAX_NAME: usize = 255;
/// The most characters of a reason.
const MAX_REASON: usize = 200;

impl<R: BufRead> SpoolListing<R> {
    /// Reads the listing that begins at `input`. An item that was made long after `now` is refused.
    pub fn new(input: R, now: Timestamp) -> Self {
        Self {
            input,
            now,
            entries: 0,
            bytes: 0,
        }
    }

    /// Returns the next file, or `None` at the end of the listing. After an error, the input cannot be read on.
    pub fn next_file(&mut self) -> Result<Option<Listed>, ListingError> {
        let name = self.field("name", MAX_NAME)?;
        if name.is_empty() {
            return Ok(None);
        }
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(ListingError::TooMany);
        }
        let content = self.field("content", SpoolItem::MAX_BYTES + 1)?;
        let name = String::from_utf8_lossy(&name);
        let refused = |why: String| Listed::Refused {
            name: shown(&name, SpoolKey::MAX_BYTES),
            // A message about JSON may quote a field of any length.
            why: shown(&why, MAX_REASON),
        };
        Ok(Some(self.item(&name, &content).unwrap_or_else(refused)))
    }

    fn item(&self, name: &str, content: &[u8]) -> Result<Listed, String> {
        let key: SpoolKey = name
            .parse()
            .map_err(|_| "its name is not a key".to_owned())?;
        let item = SpoolItem::parse(&key, content).map_err(|error| error.to_string())?;
        item.check_time(self.now)
            .map_err(|error| error.to_string())?;
        Ok(Listed::Item(item))
    }

    /// The bytes before the next NUL.
    fn field(&mut self, what: &'static str, max: usize) -> Result<Vec<u8>, ListingError> {
        let mut bytes = Vec::new();
        let mut field = (&mut self.input).take(max as u64 + 1);
        let read = field.read_until(0, &mut bytes)?;
        self.bytes += read;
        if bytes.pop() != Some(0) {
            return Err(match read {
                read if read > max => ListingError::TooLong(what, max),
                _ => ListingError::Ended,
            });
        }
        if self.bytes > MAX_LISTING_BYTES {
            return Err(ListingError::TooLarge);
        }
        Ok(bytes)
    }
}

/// The first `max` characters of `text`, on one line without terminal controls.
fn shown(text: &str, max: usize) -> String {
    one_line(first_chars(text, max)).into_owned()
}

#[cfg(test)]
mod check;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    fn listing<R: BufRead>(input: R) -> SpoolListing<R> {
        SpoolListing::new(input, Timestamp::from_millis(NOW))
    }

    /// The file `name` of a listing.
    fn file(name: &str, content: &str) -> Vec<u8> {
        format!("{name}\0{content}\0").into()
    }

    fn post(key: &str) -> String {
        format!(r#"{{"v":1,"key":"{key}","post":{{"msg":"a"}}}}"#)
    }

    /// The keys of the items, the refused names, and the error or the end.
    fn read(bytes: &[u8]) -> (Vec<String>, Vec<String>, Result<(), ListingError>) {
        let mut listing = listing(bytes);
        let (mut keys, mut refused) = (Vec::new(), Vec::new());
        loop {
            match listing.next_file() {
                Ok(None) => return (keys, refused, Ok(())),
                Ok(Some(Listed::Item(item))) => keys.push(item.key.to_string()),
                Ok(Some(Listed::Refused { name, why })) => refused.push(format!("{name}: {why}")),
                Err(error) => return (keys, refused, Err(error)),
            }
        }
    }

    #[test]
    fn a_refused_file_does_not_stop_the_others() {
        let large = format!("{}{}", post("large"), " ".repeat(SpoolItem::MAX_BYTES));
        let large = &large[..=SpoolItem::MAX_BYTES];
        let ahead = post("ahead").replace("}}", r#","ts":"9999-01-01T00:00:00Z"}}"#);
        let bytes = [
            file("a", &post("a")),
            file("junk\n/../../b", &post("/../../b")),
            file("large", large),
            file("ahead", &ahead),
            file("b", &post("other")),
            file("\u{1b}[2J", ""),
            file("z", &post("z")),
            b"\0".to_vec(),
        ];
        let (keys, refused, end) = read(&bytes.concat());
        end.unwrap();
        assert_eq!(keys, ["a", "z"]);
        assert_eq!(
            refused,
            [
                "junk\\n/../../b: its name is not a key",
                "large: larger than 1048576 bytes",
                "ahead: its ts 9999-01-01T00:00:00.000Z lies in the future",
                "b: the file's name is not the key inside",
                "\\u001b[2J: its name is not a key",
            ]
        );
    }

    #[test]
    fn a_name_and_a_content_without_an_end_are_refused_after_their_limit() {
        // Reading on would take for ever.
        let endless = || io::BufReader::new(io::repeat(b'x'));
        let error = listing(endless()).next_file().unwrap_err().to_string();
        assert!(error.contains("a name of more than 255 bytes"), "{error}");
        let content = b"a\0".chain(endless());
        let error = listing(content).next_file().unwrap_err().to_string();
        assert!(error.contains("a content of more than 1048577"), "{error}");
    }

    #[test]
    fn too_many_files_and_too_large_a_listing_are_refused() {
        let (keys, _, end) = read(&file("a", &post("a")).repeat(MAX_ENTRIES + 1));
        assert!(matches!(end, Err(ListingError::TooMany)), "{end:?}");
        assert_eq!(keys.len(), MAX_ENTRIES);
        let (_, refused, end) = read(&file("a", &"x".repeat(SpoolItem::MAX_BYTES)).repeat(9));
        assert!(matches!(end, Err(ListingError::TooLarge)), "{end:?}");
        assert_eq!(refused.len(), 2);
    }

    #[test]
    fn a_listing_that_is_cut_off_is_an_error() {
        let whole = [file("a", &post("a")), b"\0".to_vec()].concat();
        for end in 0..whole.len() {
            let (_, _, end) = read(&whole[..end]);
            assert!(matches!(end, Err(ListingError::Ended)), "{end:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_within_the_limits_and_name_no_other_path(bytes in vec(any::<u8>(), 0..4000)) {
            check::listing(&bytes);
        }

        #[test]
        fn any_name_and_content_are_read_within_the_limits(
            files in vec((".{0,40}", ".{0,40}", any::<bool>()), 0..8),
        ) {
            let files = files.iter().map(|(name, text, sound)| {
                let item = serde_json::json!({"v": 1, "key": name, "post": {"msg": text}});
                file(name, &if *sound { item.to_string() } else { text.clone() })
            });
            check::listing(&files.collect::<Vec<_>>().concat());
        }
    }
}
