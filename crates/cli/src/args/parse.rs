//! Parses the command line, and reports errors in it.

use crate::args::cli::Cli;
use crate::args::config::with_config;
use crate::args::sql_text::is_sql;
use crate::console::failure::report;
use atsdb::Error;
use atsdb::name::nearest_name;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::path::Path;

/// Parses the command line. Help and version are printed here, and end the program with success.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, u8> {
    let command = match with_config(Cli::command(), arguments) {
        Ok(command) => command,
        Err(error) => return Err(report(&error)),
    };
    let parsed = command.try_get_matches_from(arguments).and_then(|found| Cli::from_arg_matches(&found));
    match parsed {
        Ok(cli) => match misspelt_verb(arguments, cli.command.is_none()) {
            Some(error) => Err(report(&error)),
            None => Ok(cli),
        },
        Err(error) if error.use_stderr() => Err(match misspelt_verb(arguments, true) {
            Some(error) => report(&error),
            None => report_usage(error),
        }),
        Err(help) => {
            // Printing fails if the reader has closed the pipe. Then the output is not needed.
            let _ = help.print();
            Err(0)
        }
    }
}

/// Returns an error if the first word looks like a misspelt command. A store may have any name, so a word counts as a
/// command only if no file has this name and it does not look like a path or URL.
fn misspelt_verb(arguments: &[OsString], is_shell: bool) -> Option<Error> {
    let word = arguments.get(1)?.to_str()?;
    let command = Cli::command();
    let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let is_path =
        is_sql(word) || word.starts_with('-') || word.contains([':', '/', '.', '\\']) || Path::new(word).exists();
    if !is_shell || word.is_empty() || is_path || verbs.contains(&word) || word == "help" {
        return None;
    }
    let has_more = arguments[2..].iter().any(|argument| !argument.to_string_lossy().starts_with('-'));
    let error = Error::usage(format!("no command named {word}"));
    match nearest_name(word, verbs.iter().copied()) {
        Some(near) => Some(
            error.with_hint(format!("did you mean atsdb {near}? To open a store of that name write atsdb ./{word}")),
        ),
        None if has_more => Some(error.with_hint(format!("there are: {}", verbs.join(", ")))),
        None => None,
    }
}

/// Reports an error of clap in the form of all other errors.
fn report_usage(error: clap::Error) -> u8 {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let message: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.starts_with("tip:")).collect();
    let end = message.iter().position(|line| line.starts_with("Usage:")).unwrap_or(message.len());
    let message = message[..end]
        .iter()
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    let suggestion = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| match error.get(kind)? {
            ContextValue::String(text) => Some(text.clone()),
            ContextValue::Strings(texts) => texts.first().cloned(),
            _ => None,
        });
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).map(str::to_owned);
    let hint = match (suggestion, usage) {
        (Some(near), _) => format!("did you mean {near}?"),
        (None, Some(usage)) => format!("usage: {usage}; --help shows more"),
        (None, None) => "--help lists the commands".to_owned(),
    };
    report(&Error::usage(message).with_hint(hint))
}
