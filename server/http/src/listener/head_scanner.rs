//! Finds the framing headers of requests that hyper hides.
//!
//! hyper drops a Content-Length beside Transfer-Encoding, and the second of two equal Content-Lengths. A proxy may
//! frame the request by the one that hyper dropped, and then sees other requests than the hub does. So this scanner
//! follows the connection's bytes as RFC 9112 frames them, in reads of any size. Input that is not HTTP is left to
//! hyper, which closes the connection there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use hub_core::sync;

/// One byte more than the longest name that the scanner compares.
const NAME_BYTES: usize = TRANSFER_ENCODING.len() + 1;
const CONTENT_LENGTH: &[u8] = b"content-length";
const TRANSFER_ENCODING: &[u8] = b"transfer-encoding";

/// Limit of unanswered heads, above what hyper's buffer can hold. A client that sends more is refused.
const MAX_HEADS: usize = 4096;

/// Above this length hyper refuses a body with the same status as a head that is too large.
const HUGE: u64 = u64::MAX - 2;

/// The framing headers of one request head, as received.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestHead {
    /// Number of Content-Length headers.
    lengths: u8,
    /// Value of the last Content-Length.
    length: u64,
    coded: bool,
    /// Whether a line of this head has started.
    started: bool,
    /// Whether the scanner has lost track of where this request begins.
    lost: bool,
}

impl RequestHead {
    /// The fault in the framing, as a message for the client.
    pub(super) fn fault(self) -> Option<&'static str> {
        match (self.lengths, self.coded) {
            (1.., true) => Some("a request has Content-Length or Transfer-Encoding, not both"),
            (2.., false) => Some("a request has one Content-Length"),
            _ if self.lost => Some("it is unclear where this request begins"),
            _ => None,
        }
    }

    /// Whether it declares a body longer than hyper can count.
    pub(super) fn is_huge(self) -> bool {
        self.lengths > 0 && self.length > HUGE
    }
}

/// Complete heads that await their request; shared by the reading side and the service.
#[derive(Debug, Clone, Default)]
pub(super) struct HeadQueue(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    heads: VecDeque<RequestHead>,
    /// Whether the scanner has lost track behind these heads.
    lost: bool,
}

impl HeadQueue {
    /// The oldest head in the queue.
    pub(super) fn take(&self) -> RequestHead {
        let mut queue = sync::lock(&self.0);
        let behind = RequestHead {
            lost: queue.lost,
            ..RequestHead::default()
        };
        queue.heads.pop_front().unwrap_or(behind)
    }

    /// Adds a head; false if there are too many.
    fn put(&self, head: RequestHead) -> bool {
        let mut queue = sync::lock(&self.0);
        queue.heads.push_back(head);
        queue.heads.len() < MAX_HEADS
    }

    fn lose(&self) {
        let mut queue = sync::lock(&self.0);
        queue.lost = true;
    }
}

/// A parser of a connection's input that finds the heads in it.
#[derive(Debug)]
pub(super) struct HeadScanner {
    heads: HeadQueue,
    head: RequestHead,
    state: ScanState,
}

#[derive(Debug, Clone, Copy)]
enum ScanState {
    /// In a line of a head, before its colon.
    Name { name: Name, length: usize },
    /// After the colon; true for a Content-Length.
    Value(bool),
    /// In a body, with this many bytes to come.
    Body(u64),
    /// In the line with a chunk's size; false after its digits.
    Size(u64, bool),
    /// In a chunk, with this many bytes to come.
    Chunk(u64),
    /// After a chunk, before its line end.
    ChunkEnd,
    /// In a trailer line: whether it is empty so far, and whether its last byte is a carriage return.
    Trailer(bool, bool),
    /// The scanner has lost track and ignores all further input.
    Lost,
}

type Name = [u8; NAME_BYTES];

const LINE: ScanState = ScanState::Name {
    name: [0; NAME_BYTES],
    length: 0,
};

impl HeadScanner {
    pub(super) fn new(heads: HeadQueue) -> Self {
        Self {
            heads,
            head: RequestHead::default(),
            state: LINE,
        }
    }

    /// Stops scanning, because hyper may see requests where the scanner sees none.
    fn lose(&mut self) {
        self.heads.lose();
        self.state = ScanState::Lost;
    }

    /// Scans the next bytes.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.state {
                ScanState::Name { name, length } => self.name(bytes, name, length),
                ScanState::Value(is_length) => self.value(bytes, is_length),
                ScanState::Body(left) => self.skip(bytes, left, LINE, ScanState::Body),
                ScanState::Chunk(left) => {
                    self.skip(bytes, left, ScanState::ChunkEnd, ScanState::Chunk)
                }
                ScanState::Size(size, open) => self.size(bytes, size, open),
                ScanState::ChunkEnd => self.line(bytes, ScanState::Size(0, true)).1,
                ScanState::Trailer(empty, returned) => self.trailer(bytes, empty, returned),
                ScanState::Lost => return,
            };
        }
    }

    fn name<'a>(&mut self, bytes: &'a [u8], mut name: Name, mut length: usize) -> &'a [u8] {
        let end = memchr::memchr2(b':', b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let whole = if let (0, Some(_)) = (length, end) {
            part
        } else {
            // A longer name keeps one byte more than any name in question, so it never matches.
            let room = &mut name[length..];
            let kept = part.len().min(room.len());
            room[..kept].copy_from_slice(&part[..kept]);
            length += kept;
            &name[..length]
        };
        let Some(end) = end else {
            self.state = ScanState::Name { name, length };
            return &[];
        };
        if bytes[end] == b':' {
            self.begin_value(whole);
        } else {
            self.state = LINE;
            if matches!(whole, [] | b"\r") {
                self.end_head();
            } else {
                self.head.started = true;
            }
        }
        &bytes[end + 1..]
    }

    fn begin_value(&mut self, name: &[u8]) {
        self.head.started = true;
        let is_length = name.eq_ignore_ascii_case(CONTENT_LENGTH);
        self.state = ScanState::Value(is_length);
        if is_length {
            self.head.lengths = self.head.lengths.saturating_add(1);
            self.head.length = 0;
        }
        self.head.coded |= name.eq_ignore_ascii_case(TRANSFER_ENCODING);
    }

    fn value<'a>(&mut self, bytes: &'a [u8], is_length: bool) -> &'a [u8] {
        let (line, rest) = self.line(bytes, LINE);
        if is_length {
            // Other characters are ignored, because hyper refuses a length that is not a number.
            for digit in line.iter().filter(|byte| byte.is_ascii_digit()) {
                let digit = u64::from(digit - b'0');
                self.head.length = self.head.length.saturating_mul(10).saturating_add(digit);
            }
        }
        rest
    }

    fn end_head(&mut self) {
        // Empty lines before a request are ignored (RFC 9112, 2.2).
        if !self.head.started {
            return;
        }
        let head = std::mem::take(&mut self.head);
        self.state = match head.length {
            _ if head.coded => ScanState::Size(0, true),
            0 => LINE,
            length => ScanState::Body(length),
        };
        if !self.heads.put(head) {
            self.lose();
        }
    }

    fn size<'a>(&mut self, bytes: &'a [u8], mut size: u64, mut open: bool) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' {
                self.state = match size {
                    0 => ScanState::Trailer(true, false),
                    size => ScanState::Chunk(size),
                };
                return &bytes[at + 1..];
            }
            let digit = char::from(byte).to_digit(16).filter(|_| open);
            open = digit.is_some();
            if let Some(digit) = digit {
                size = size.saturating_mul(16).saturating_add(digit.into());
            }
        }
        self.state = ScanState::Size(size, open);
        &[]
    }

    /// hyper treats a line feed without a carriage return as part of the trailer, other programs as its line's end. So
    /// the scanner gives up at one.
    fn trailer<'a>(&mut self, bytes: &'a [u8], mut empty: bool, mut returned: bool) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if !returned => {
                    self.lose();
                    return &[];
                }
                b'\n' => {
                    self.state = if empty {
                        LINE
                    } else {
                        ScanState::Trailer(true, false)
                    };
                    return &bytes[at + 1..];
                }
                b'\r' => returned = true,
                _ => (empty, returned) = (false, false),
            }
        }
        self.state = ScanState::Trailer(empty, returned);
        &[]
    }

    /// Consumes a line as far as it is there; `next` is the state after its end.
    fn line<'a>(&mut self, bytes: &'a [u8], next: ScanState) -> (&'a [u8], &'a [u8]) {
        match memchr::memchr(b'\n', bytes) {
            Some(end) => {
                self.state = next;
                (&bytes[..end], &bytes[end + 1..])
            }
            None => (bytes, &[]),
        }
    }

    /// Consumes up to `left` bytes; `next` is the state after them.
    fn skip<'a>(
        &mut self,
        bytes: &'a [u8],
        left: u64,
        next: ScanState,
        within: fn(u64) -> ScanState,
    ) -> &'a [u8] {
        let count = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
        self.state = match left - count as u64 {
            0 => next,
            left => within(left),
        };
        &bytes[count..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each head in `bytes`, fed in pieces of `size`, has a fault.
    fn faults(bytes: &str, size: usize) -> Vec<bool> {
        let heads = HeadQueue::default();
        let mut scanner = HeadScanner::new(heads.clone());
        bytes
            .as_bytes()
            .chunks(size)
            .for_each(|it| scanner.feed(it));
        let queue = std::mem::take(&mut *heads.0.lock().unwrap());
        let mut faults: Vec<_> = queue.heads.iter().map(|it| it.fault().is_some()).collect();
        faults.extend(queue.lost.then_some(true));
        faults
    }

    #[test]
    fn each_head_is_found_for_any_split_of_the_bytes() {
        let plain = "GET http://a:1/ HTTP/1.1\r\nHost: a\r\n\r\n";
        let body =
            "POST / HTTP/1.1\r\ncontent-LENGTH: 36\r\n\r\ncontent-length: 1\r\ncontent-length: ";
        let chunked = "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n\
                       13;x=y\r\nContent-Length: 5\r\n\r\nA\n0123456789\n0\r\nContent-Length: 7\r\n\r\n";
        let both = "POST / HTTP/1.1\r\nContent-Length: 3\r\nX: y\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
        let twice = "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi";
        let longer = "POST / HTTP/1.1\r\nContent-Lengths: 2\r\nTransfer-Encodings: x\r\n\r\n";
        let all = [plain, body, chunked, "\r\n\n", both, twice, longer, plain].concat();
        let expected = [false, false, false, true, true, false, false];
        for size in 1..all.len() {
            assert_eq!(faults(&all, size), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn a_bare_line_feed_in_a_trailer_makes_the_next_request_a_fault() {
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
        for trailer in ["a: b\n\r\nGET / HTTP/1.1\r\n\r\n", "\n\r\n", "a: b\r\n\n"] {
            let bytes = [head, trailer].concat();
            for size in 1..bytes.len() {
                assert_eq!(faults(&bytes, size), [false, true], "{trailer:?} {size}");
            }
        }
    }

    #[test]
    fn requests_beyond_the_limit_of_heads_are_a_fault() {
        let many = "GET / HTTP/1.1\r\n\r\n".repeat(MAX_HEADS + 1);
        let faults = faults(&many, many.len());
        assert_eq!(faults.iter().filter(|fault| !**fault).count(), MAX_HEADS);
        assert_eq!(faults.last(), Some(&true));
    }

    #[test]
    fn a_length_above_the_largest_integer_is_huge() {
        for (length, is_huge) in [
            ("18446744073709551615", true),
            ("99999999999999999999999", true),
            ("10000000000", false),
        ] {
            let heads = HeadQueue::default();
            let head = format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
            HeadScanner::new(heads.clone()).feed(head.as_bytes());
            assert_eq!(heads.take().is_huge(), is_huge, "{length}");
        }
    }
}
