//! Arguments as people type them, arranged as the parser knows them: `help VERB`, and options before the command.

use atsdb::name::nearest_name;
use atsdb::{Error, Result};
use clap::{ArgAction, Command};
use std::ffi::OsString;

/// `atsdb help VERB` becomes `atsdb VERB --help`, and `atsdb --cache 1GiB sql ...` becomes
/// `atsdb sql --cache 1GiB ...`.
pub(super) fn arranged(command: &Command, arguments: &[OsString]) -> Result<Vec<OsString>> {
    let arguments: &Vec<OsString> = &arguments.iter().map(without_dashes).collect();
    let Some(word) = word_position(command, arguments) else { return Ok(arguments.clone()) };
    let is_help = arguments[word] == "help";
    let verbs = &arguments[word + usize::from(is_help)..];
    let (innermost, name, verb_count) = innermost_command(command, verbs);
    let (verbs, rest) = verbs.split_at(verb_count);
    let program = arguments[..1].iter();
    if is_help {
        return match rest.first().and_then(|word| word.to_str()).filter(|word| !word.starts_with('-')) {
            Some(unknown) => Err(no_verb(innermost, &name, unknown)),
            None => Ok(program.chain(verbs).cloned().chain(["--help".into()]).collect()),
        };
    }
    Ok(program.chain(verbs).chain(&arguments[1..word]).chain(rest).cloned().collect())
}

/// The command that the first of these words name, such as `lab run`, its name as it is typed, and the number of these
/// words.
pub(super) fn innermost_command<'a>(command: &'a Command, words: &[OsString]) -> (&'a Command, String, usize) {
    let (mut innermost, mut name, mut count) = (command, command.get_name().to_owned(), 0);
    while let Some(verb) = words.get(count).and_then(|word| innermost.find_subcommand(word)) {
        name = format!("{name} {}", verb.get_name());
        innermost = verb;
        count += 1;
    }
    (innermost, name, count)
}

/// SQL that begins with a comment, `-- ...`, gets a blank before it, so that it is not an option.
fn without_dashes(argument: &OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.starts_with("--") && text[2..].starts_with(char::is_whitespace) => format!(" {text}").into(),
        _ => argument.clone(),
    }
}

/// The position of the first argument that is neither an option of the program nor the value of one. `None` if there is
/// none, or if an unknown option comes before it.
pub(super) fn word_position(command: &Command, arguments: &[OsString]) -> Option<usize> {
    let mut position = 1;
    loop {
        let argument = arguments.get(position)?.to_str()?;
        let Some(name) = argument.strip_prefix('-') else { return Some(position) };
        let (name, has_value) = match name.strip_prefix('-')?.split_once('=') {
            Some((name, _)) => (name, true),
            None => (&argument[2..], false),
        };
        let option = command.get_arguments().find(|option| option.get_long() == Some(name))?;
        let takes_value = matches!(option.get_action(), ArgAction::Set | ArgAction::Append);
        position += if takes_value && !has_value { 2 } else { 1 };
    }
}

/// The error for a word that is not a verb. `name` is the command's, as it is typed.
pub(super) fn no_verb(command: &Command, name: &str, word: &str) -> Error {
    let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let error = Error::usage(format!("no command named {word}"));
    match nearest_name(word, verbs.iter().copied()) {
        Some(near) => error.with_hint(format!("did you mean {name} {near}?")),
        None if verbs.is_empty() => error.with_hint(format!("{name} has no commands")),
        None => error.with_hint(format!("available: {}", verbs.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    fn arrange(typed: &str) -> std::result::Result<String, String> {
        let arguments: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
        let arranged = arranged(&Cli::command(), &arguments).map_err(|error| error.to_string())?;
        Ok(arranged.iter().map(|argument| argument.to_str().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn options_may_come_before_the_command() {
        for (typed, meant) in [
            ("atsdb --cache 2G sql x.db", "atsdb sql --cache 2G x.db"),
            ("atsdb --cache=2G --timing sql x.db --read-only", "atsdb sql --cache=2G --timing x.db --read-only"),
            ("atsdb --memory 1G lab run", "atsdb lab run --memory 1G"),
            ("atsdb --timing x.db", "atsdb --timing x.db"),
            ("atsdb sql --cache 2G x.db", "atsdb sql --cache 2G x.db"),
            ("atsdb --none sql x.db", "atsdb --none sql x.db"),
            ("atsdb -- sql", "atsdb -- sql"),
            ("atsdb", "atsdb"),
        ] {
            assert_eq!(arrange(typed).as_deref(), Ok(meant), "{typed}");
        }
    }

    #[test]
    fn help_is_a_command() {
        for (typed, meant) in [
            ("atsdb help", "atsdb --help"),
            ("atsdb help sql", "atsdb sql --help"),
            ("atsdb help lab run", "atsdb lab run --help"),
            ("atsdb --timing help sql", "atsdb sql --help"),
        ] {
            assert_eq!(arrange(typed).as_deref(), Ok(meant), "{typed}");
        }
        assert!(arrange("atsdb help sq").unwrap_err().contains("no command named sq"));
    }
}
