//! Parses the command line, and reports errors in it.

use crate::args::arrange::{arranged, innermost_command, no_verb, word_position};
use crate::args::clap_message::message_of;
use crate::args::cli::{Cli, Command};
use crate::args::config::with_config;
use crate::args::import::ImportArgs;
use crate::args::sql_text::{is_bare_verb, is_sql, unquoted_statement};
use crate::console::failure::report;
use crate::output::Format;
use atsdb::Error;
use atsdb::name::nearest_name;
use atsdb_export::write_error;
use clap::error::{ContextKind, ContextValue, ErrorKind as ClapErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;

/// Parses the command line. Help and version are printed here, and end the program.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, u8> {
    let arranged = arranged(&Cli::command(), arguments)
        .and_then(|arguments| with_config(Cli::command(), &arguments).map(|command| (arguments, command)));
    let (arguments, command) = match arranged {
        Ok(arranged) => arranged,
        Err(error) => return Err(report(&error)),
    };
    let parsed = command.try_get_matches_from(&arguments).and_then(|found| Cli::from_arg_matches(&found));
    match parsed {
        Ok(cli) => match misspelt_verb(&arguments, cli.command.is_none()) {
            Some(error) => Err(report(&error)),
            None => Ok(cli),
        },
        Err(error) if error.use_stderr() => Err(match misspelt_verb(&arguments, true) {
            Some(error) => report(&error),
            None => report(&usage_error(&arguments, &error)),
        }),
        Err(help) => Err(print_help(&help)),
    }
}

/// Prints the help or the version, and returns the exit code.
fn print_help(help: &clap::Error) -> u8 {
    match help.print().and_then(|()| io::stdout().flush()) {
        Ok(()) => 0,
        // The reader has closed the pipe, and does not need the output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => report(&write_error("stdout", error)),
    }
}

/// Reads the arguments of an import into the store that is open in a shell: the file, the table, flags.
pub(crate) fn parse_import(file: &str, table: &str, flags: &[String]) -> atsdb::Result<ImportArgs> {
    let name = |flag: &String| flag.split('=').next().unwrap_or("").to_owned();
    if let Some(flag) =
        flags.iter().map(name).find(|name| ["--cache", "--memory", "--temp", "--durability"].contains(&name.as_str()))
    {
        return Err(Error::usage(format!("{flag} is given to atsdb when the store is opened")));
    }
    let arguments = ["atsdb", "import", "memory:", table, file].into_iter().map(str::to_owned);
    let usage = || Error::usage(".import takes a file, a table, and flags of atsdb import");
    match Cli::try_parse_from(arguments.chain(flags.iter().cloned())) {
        Ok(Cli { command: Some(Command::Import(args)), .. }) => Ok(*args),
        Ok(_) => Err(usage()),
        Err(error) => Err(match error.render().to_string().lines().next() {
            Some(line) if error.use_stderr() => Error::usage(line.trim_start_matches("error: ")),
            _ => usage(),
        }),
    }
}

/// Returns an error if the first word looks like a misspelt command. A store may have any name, so a word counts as a
/// command only if no file has this name and it does not look like a path or URL.
fn misspelt_verb(arguments: &[OsString], is_shell: bool) -> Option<Error> {
    let command = Cli::command();
    let position = word_position(&command, arguments)?;
    let word = arguments[position].to_str()?;
    let is_path = is_sql(word) || word.contains([':', '/', '.', '\\']) || Path::new(word).exists();
    if !is_shell || word.is_empty() || is_path || command.find_subcommand(word).is_some() {
        return None;
    }
    let has_more = arguments[position + 1..].iter().any(|argument| !argument.to_string_lossy().starts_with('-'));
    match nearest_name(word, command.get_subcommands().map(clap::Command::get_name)) {
        Some(near) => {
            let hint = format!("did you mean atsdb {near}? To open a store of that name write atsdb ./{word}");
            Some(Error::usage(format!("no command named {word}")).with_hint(hint))
        }
        None if has_more => Some(no_verb(&command, command.get_name(), word)),
        None => None,
    }
}

/// An error of clap in the form of all other errors.
fn usage_error(arguments: &[OsString], error: &clap::Error) -> Error {
    let command = Cli::command();
    let (innermost, name, _) = innermost_command(&command, arguments.get(1..).unwrap_or(&[]));
    let takes_sql = innermost.get_arguments().any(|argument| argument.get_id() == "sql");
    match error.kind() {
        ClapErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ClapErrorKind::MissingSubcommand => {
            let verbs: Vec<&str> = innermost.get_subcommands().map(clap::Command::get_name).collect();
            Error::usage(format!("{name} needs a command"))
                .with_hint(format!("available: {}; {name} --help shows more", verbs.join(", ")))
        }
        ClapErrorKind::InvalidSubcommand => {
            no_verb(innermost, &name, &context(error, ContextKind::InvalidSubcommand).unwrap_or_default())
        }
        _ if takes_sql && arguments.iter().any(|argument| argument.to_str().is_some_and(is_bare_verb)) => {
            unquoted_statement()
        }
        _ => argument_error(innermost, &name, error),
    }
}

/// The error of an argument of a command. `name` is the command's, as it is typed.
fn argument_error(command: &clap::Command, name: &str, error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let suggestion = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| context(error, kind));
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).map(str::to_owned);
    let hint = match (suggestion, file_without_flag(command, error), usage) {
        (Some(near), _, _) => format!("did you mean {near}?"),
        (None, Some(file), _) => format!("to write the result to a file, pass -o {file}"),
        (None, None, Some(usage)) => format!("usage: {usage}; {name} --help shows more"),
        (None, None, None) => format!("{name} --help shows more"),
    };
    Error::usage(message_of(error)).with_hint(hint)
}

/// An argument too many that may be the name of the file to write, if the command writes one.
fn file_without_flag(command: &clap::Command, error: &clap::Error) -> Option<String> {
    let writes_file = command.get_arguments().any(|argument| argument.get_long() == Some("output"));
    let is_unknown = error.kind() == ClapErrorKind::UnknownArgument;
    let is_file = |file: &String| Format::of_path(Path::new(file)).is_some();
    context(error, ContextKind::InvalidArg).filter(|file| is_unknown && writes_file && is_file(file))
}

/// What clap knows about an error: the first text of a sort.
fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}
