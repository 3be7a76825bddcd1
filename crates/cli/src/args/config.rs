//! The file of `atsdb serve --config`: flags by their names. The environment and the command line override it.
//!
//! It is TOML without tables: a name, `=`, and a text, a number, `true` or `false` on each line.

use crate::args::clap_message::message_of;
use atsdb::name::nearest_name;
use atsdb::{Error, ErrorKind, Result};
use clap::{Arg, ArgAction, Command, Id};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns the command with the settings of the file as its defaults, if the arguments run `serve` and name a file.
pub(super) fn with_config(command: Command, arguments: &[OsString]) -> Result<Command> {
    if arguments.get(1).is_none_or(|verb| verb != "serve") {
        return Ok(command);
    }
    let Some(path) = path_of(&arguments[2..]) else { return Ok(command) };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let message = format!("--config {}: {error}", path.display());
        let failed = Error::new(ErrorKind::Usage, message).with_source(error);
        failed.with_hint("name a text file with lines such as log-slow = \"500ms\": atsdb serve --help")
    })?;
    apply(command, &path, &text)
}

/// The settings file that the arguments name, or else the environment.
fn path_of(arguments: &[OsString]) -> Option<PathBuf> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(argument) = argument.to_str() else { continue };
        match argument {
            "--" => break,
            "--config" => return arguments.next().map(PathBuf::from),
            // Help does not depend on a file.
            "--help" | "-h" => return None,
            _ => {}
        }
        if let Some(path) = argument.strip_prefix("--config=") {
            return Some(path.into());
        }
    }
    std::env::var_os("ATSDB_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn apply(mut command: Command, path: &Path, text: &str) -> Result<Command> {
    let wrong = |line: usize, what: String| Error::usage(format!("{} line {line}: {what}", path.display()));
    let serve = command.find_subcommand("serve").ok_or_else(|| Error::usage("no command named serve"))?;
    // Each flag's name, whether it is a switch, and its id in the parser.
    let known: Vec<(String, bool, Id)> = serve
        .get_arguments()
        .filter(|argument| !["config", "help", "version"].contains(&argument.get_id().as_str()))
        .map(|argument| {
            let id = argument.get_id().clone();
            let is_switch = matches!(argument.get_action(), ArgAction::SetTrue);
            (argument.get_long().unwrap_or(id.as_str()).to_owned(), is_switch, id)
        })
        .collect();
    let mut seen = BTreeSet::new();
    for (line, content) in (1..).zip(text.lines()) {
        let Some((name, value)) = setting(content).map_err(|what| wrong(line, what))? else { continue };
        let Some((_, is_switch, id)) = known.iter().find(|(known, ..)| *known == name) else {
            let error = wrong(line, format!("no setting named {name}"));
            let near = nearest_name(&name, known.iter().map(|(known, ..)| known.as_str()));
            return Err(match near {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error.with_hint("settings have the names of the flags in atsdb serve --help"),
            });
        };
        if !seen.insert(name.clone()) {
            return Err(wrong(line, format!("{name} is set twice")));
        }
        let is_truth = value == "true" || value == "false";
        if *is_switch != is_truth {
            let wanted = if *is_switch { "true or false" } else { "a text or a number" };
            return Err(wrong(line, format!("{name} takes {wanted}, not {value}")));
        }
        // The parser needs texts that live as long as the program.
        let default: &'static str = Box::leak(value.into_boxed_str());
        let with_default = |argument: Arg| argument.required(false).default_value(default);
        // Parses this value alone, so that the error is about this line.
        if let Some(argument) = argument_of_serve(&command, id) {
            let check = Command::new("check").arg(with_default(argument).env(None::<&str>));
            if let Err(error) = check.try_get_matches_from(["check"]) {
                return Err(wrong(line, message_of(&error)));
            }
        }
        command = command.mut_subcommand("serve", |serve| serve.mut_arg(id, with_default));
    }
    Ok(command)
}

fn argument_of_serve(command: &Command, id: &Id) -> Option<Arg> {
    command.find_subcommand("serve")?.get_arguments().find(|argument| argument.get_id() == id).cloned()
}

/// The name and the value of a line, or None for an empty line or a comment.
fn setting(line: &str) -> std::result::Result<Option<(String, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    if line.starts_with('[') {
        return Err("tables are not supported: write name = value".to_owned());
    }
    let (name, rest) = line.split_once('=').ok_or_else(|| "write name = value".to_owned())?;
    let (name, rest) = (name.trim(), rest.trim());
    let (value, after) = match rest.chars().next() {
        Some('"') => basic_string(&rest[1..])?,
        Some('\'') => {
            let (value, after) = rest[1..].split_once('\'').ok_or_else(|| "a text has no closing quote".to_owned())?;
            (value.to_owned(), after)
        }
        _ => {
            let end = rest.find('#').unwrap_or(rest.len());
            let value = rest[..end].trim();
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
            if !is_number && value != "true" && value != "false" {
                return Err(format!("{value:?} is not a value: write a text in quotes, a number, true or false"));
            }
            (value.replace('_', ""), &rest[end..])
        }
    };
    let after = after.trim();
    match after.is_empty() || after.starts_with('#') {
        true => Ok(Some((name.to_owned(), value))),
        false => Err(format!("{after:?} follows the value: a line sets one value")),
    }
}

/// Reads a text up to its closing quote, with TOML's escapes. Also returns the rest of the line.
fn basic_string(text: &str) -> std::result::Result<(String, &str), String> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => value.push(match letters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 't')) => '\t',
                Some((_, escaped @ ('"' | '\\'))) => escaped,
                _ => return Err("unknown escape: write \\\\, \\\", \\n or \\t".to_owned()),
            }),
            other => value.push(other),
        }
    }
    Err("a text has no closing quote".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, ServeArgs};
    use clap::{CommandFactory, FromArgMatches};

    fn parsed(text: &str, arguments: &[&str]) -> Result<ServeArgs> {
        let command = apply(Cli::command(), Path::new("air.toml"), text)?;
        let all = [&["atsdb", "serve"], arguments].concat();
        let cli = Cli::from_arg_matches(&command.try_get_matches_from(all).unwrap()).unwrap();
        match cli.command {
            Some(crate::args::Command::Serve(args)) => Ok(args),
            _ => panic!("another command"),
        }
    }

    #[test]
    fn a_file_is_below_the_flags() {
        let text = "# air\nurl = \"a \\\"b\\\".db\"\nconnections = 2_00 # few\nread-only = true\npg = 'off'\nlog-slow=\"1s\"\n\n";
        let args = parsed(text, &[]).unwrap();
        assert_eq!((args.url.join(" ").as_str(), args.connections, args.read_only), ("a \"b\".db", 200, true));
        assert_eq!((args.pg.as_str(), args.log_slow.as_deref(), args.drain.as_str()), ("off", Some("1s"), "30s"));
        let args = parsed(text, &["other.db", "--pg", "127.0.0.1:1", "--connections", "7"]).unwrap();
        assert_eq!((args.url.join(" ").as_str(), args.pg.as_str(), args.connections), ("other.db", "127.0.0.1:1", 7));
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, expected) in [
            ("\nlog-slowly = \"1s\"", "air.toml line 2: no setting named log-slowly"),
            ("config = \"b\"", "line 1: no setting named config"),
            ("[server]", "line 1: tables are not supported"),
            ("pg", "line 1: write name = value"),
            ("pg = off", "line 1: \"off\" is not a value"),
            ("pg = \"off", "line 1: a text has no closing quote"),
            ("pg = 'off' x", "line 1: \"x\" follows the value"),
            ("pg = \"\\x\"", "line 1: unknown escape"),
            ("pg = 'off'\npg = 'off'", "line 2: pg is set twice"),
            ("read-only = 'yes'", "line 1: read-only takes true or false, not yes"),
            ("pg = true", "line 1: pg takes a text or a number, not true"),
            ("connections = 'many'", "line 1: invalid value 'many' for '--connections <N>': write a whole number"),
            ("log-level = 'loud'", "line 1: invalid value 'loud' for '--log-level <LEVEL>' [possible values: "),
        ] {
            let error = parsed(text, &["air.db"]).unwrap_err();
            assert!(error.message().contains(expected), "{text}: {}", error.message());
        }
    }

    #[test]
    fn the_file_is_named_by_a_flag() {
        let path = |arguments: &[&str]| path_of(&arguments.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(path(&["air.db", "--config", "a.toml"]), Some("a.toml".into()));
        assert_eq!(path(&["--config=b.toml"]), Some("b.toml".into()));
        assert_eq!(path(&["--config", "a.toml", "--help"]), Some("a.toml".into()));
    }
}
