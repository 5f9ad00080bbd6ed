//! The command lines of the programs, with their help.

use std::ffi::OsString;

use clap::{Command, CommandFactory, Parser};

/// Parses `args`, which begin with the program's name.
pub(crate) fn read<C: Parser>(args: impl Iterator<Item = OsString>) -> Result<C, clap::Error> {
    let mut matches = described::<C>().try_get_matches_from(args)?;
    C::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut described::<C>()))
}

/// The command line of a program.
pub fn described<C: CommandFactory>() -> Command {
    with_whole_paragraphs(C::command())
}

/// Makes each paragraph below the options one line: the sources break it at their width, and clap at the terminal's.
fn with_whole_paragraphs(command: Command) -> Command {
    let help = command.get_after_help().map(ToString::to_string);
    let command = command.mut_subcommands(with_whole_paragraphs);
    match help {
        Some(help) => command.after_help(unbroken(&help)),
        None => command,
    }
}

/// Joins the lines of each paragraph. Those that begin with blanks are examples or rows.
fn unbroken(help: &str) -> String {
    let mut joined = String::new();
    let mut in_paragraph = false;
    for line in help.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        if !joined.is_empty() {
            joined.push(if in_paragraph && is_prose { ' ' } else { '\n' });
        }
        joined.push_str(line);
        in_paragraph = is_prose;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::cli::command_line;

    #[test]
    fn a_paragraph_is_broken_only_at_the_width_of_the_terminal() {
        let broken = "One\ntwo.\nThree.\n\nExamples:\n  a\n  b\n\nFour\nfive";
        let whole = "One two. Three.\n\nExamples:\n  a\n  b\n\nFour five";
        assert_eq!(unbroken(broken), whole);

        let mut program = command_line().term_width(100);
        program.build();
        let answer = program.find_subcommand_mut("answer").unwrap();
        let help = answer.render_help().to_string();
        let paragraph: Vec<_> = help
            .lines()
            .skip_while(|it| !it.starts_with("A dialog with several"))
            .take_while(|it| !it.is_empty())
            .collect();
        // Each line but the last is full: the first word of the next one does not fit.
        for pair in paragraph.windows(2) {
            let next = pair[1].split(' ').next().unwrap_or_default();
            let fits = pair[0].chars().count() + 1 + next.chars().count() <= 100;
            assert!(!fits, "{help}");
        }
        assert!(paragraph.len() > 4, "{help}");
    }
}
