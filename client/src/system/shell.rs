//! Quotes and splits words of a shell's command line (POSIX.1-2024, 2.2).

/// Returns `word` quoted for a shell, if it needs quotes.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=@+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Splits a line into its simple commands, and each into its words; `None` if a quote is left open. Operators, which
/// separate commands, are left out.
pub(crate) fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        // `2>&1` and `&>file` are redirections.
        let redirects =
            word.as_ref().is_some_and(|it| it.ends_with('>')) || chars.peek() == Some(&'>');
        match c {
            ';' | '|' | '\n' | '(' | ')' => end(&mut commands, word.take()),
            '&' if !redirects => end(&mut commands, word.take()),
            c if c.is_ascii_whitespace() => commands.last_mut()?.extend(word.take()),
            '\'' => single(&mut chars, word.get_or_insert_default())?,
            '"' => double(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    end(&mut commands, word);
    commands.retain(|words| !words.is_empty());
    Some(commands)
}

/// Ends the last command with `word`, and begins the next one.
fn end(commands: &mut Vec<Vec<String>>, word: Option<String>) {
    if let Some(last) = commands.last_mut() {
        last.extend(word);
    }
    commands.push(Vec::new());
}

fn single(chars: &mut impl Iterator<Item = char>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '\'' => return Some(()),
            c => word.push(c),
        }
    }
}

fn double(chars: &mut impl Iterator<Item = char>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' => match chars.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("--inbox=a,b"), "--inbox=a,b");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn quoted_words_are_split_back_into_the_same_words() {
        let given = [
            "/a b/it's \"q\"$x`y`/hubctl",
            "",
            "tab\tand\nline",
            "back\\slash",
            "é",
        ];
        let line: Vec<String> = given.iter().map(|word| quoted(word)).collect();
        assert_eq!(commands(&line.join(" ")).unwrap(), [given]);
    }

    #[test]
    fn each_kind_of_quoting_is_parsed() {
        let read = commands("A='x y' \"/o p/hub\\\"ctl\"  wait\\ now\t--rewake").unwrap();
        assert_eq!(read, [["A=x y", "/o p/hub\"ctl", "wait now", "--rewake"]]);
        assert_eq!(commands("echo 'open"), None);
    }

    #[test]
    fn operators_separate_commands_unless_they_are_quoted() {
        let read = commands("[ -x 'a;b' ] && (a \"|\" 2>&1 || true) & b &>/dev/null; \n c");
        let expected: [&[&str]; 5] = [
            &["[", "-x", "a;b", "]"],
            &["a", "|", "2>&1"],
            &["true"],
            &["b", "&>/dev/null"],
            &["c"],
        ];
        assert_eq!(read.unwrap(), expected);
    }
}
