//! The arguments and the environment of a process in the format of macOS (`KERN_PROCARGS2`): the number of arguments in the
//! machine's byte order, the path of the program, NULs up to the next word, and the arguments and the variables, with a NUL
//! after each. What the kernel adds to the variables for the system's libraries follows in the same form.

/// What a process was started with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    /// The path of its program.
    pub(super) program: Vec<u8>,
    /// The program's name and its arguments.
    pub(super) words: Vec<Vec<u8>>,
    /// Its variables, with a NUL after each; `None` if the system hides them. Even a process without variables has those
    /// of the kernel.
    pub(super) environment: Option<Vec<u8>>,
}

impl Arguments {
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk()?;
        let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
        let (program, rest) = word(rest)?;
        let padding = rest.iter().take_while(|it| **it == 0).count();
        let mut rest = rest.get(padding..)?;
        let mut words = Vec::new();
        for _ in 0..count {
            let (argument, after) = word(rest)?;
            words.push(argument.to_vec());
            rest = after;
        }
        let is_shown = rest.iter().any(|it| *it != 0);
        Some(Self {
            program: program.to_vec(),
            words,
            environment: is_shown.then(|| rest.to_vec()),
        })
    }
}

/// The bytes up to the next NUL, and those after it.
fn word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|it| *it == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(count: i32, rest: &[u8]) -> Option<Arguments> {
        Arguments::parse(&[&count.to_ne_bytes(), rest].concat())
    }

    #[test]
    fn the_arguments_end_where_the_variables_begin() {
        let found = parsed(3, b"/bin/a b\0\0\0\0a\0\0-c\0HOME=/h\0A=b=c\0").unwrap();
        assert_eq!(found.program, b"/bin/a b");
        assert_eq!(found.words, [&b"a"[..], b"", b"-c"]);
        let variables = found.environment.unwrap();
        assert_eq!(variables, b"HOME=/h\0A=b=c\0");
    }

    #[test]
    fn hidden_variables_are_not_taken_for_none() {
        assert_eq!(
            parsed(1, b"/bin/zsh\0\0\0-zsh\0").unwrap().environment,
            None
        );
        assert_eq!(
            parsed(1, b"/bin/zsh\0-zsh\0\0\0").unwrap().environment,
            None
        );
    }

    #[test]
    fn other_bytes_are_refused() {
        for (count, rest) in [(2, &b"/a\0a\0"[..]), (1, b"/a"), (-1, b"/a\0a\0"), (0, b"")] {
            assert_eq!(parsed(count, rest), None, "{count} {rest:?}");
        }
        assert_eq!(Arguments::parse(b"\0\0"), None);
    }
}
