//! The shell's own commands, which begin with a dot.

use crate::output::Format;
use atsdb::name::nearest_name;
use atsdb::{Error, Result};

/// What `.help` prints.
pub(super) const HELP: &str = "\
.help                this list
.tables              the tables
.schema [TABLE]      the CREATE TABLE of one table, or of all
.stats [TABLE]       rows, bytes and encodings; how the cache does
.mode FORMAT         how results are written: table, csv, tsv, json, jsonl, markdown
.timing on|off       whether each statement's time is shown
.read FILE           run the statements of a file
.save URL            copy the open store, also one in memory, to another one or to a directory of backups
.load URL            bring what another store or the newest backup of a directory holds into the open one
.quit                leave; Ctrl-D does the same

SQL ends with ; and may go over several lines. Ctrl-C stops a statement, or drops what was typed.
";

const NAMES: [&str; 13] = [
    ".help", ".tables", ".schema", ".stats", ".mode", ".timing", ".read", ".save", ".backup", ".load", ".restore",
    ".quit", ".exit",
];

/// One of them, with what it was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DotCommand {
    Help,
    Tables,
    Schema(Option<String>),
    Stats(Option<String>),
    Mode(Format),
    Timing(bool),
    Read(String),
    Save(String),
    Load(String),
    Quit,
}

/// Reads a line that begins with a dot.
pub(super) fn parse(line: &str) -> Result<DotCommand> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = unquoted(rest.trim());
    let needs = |what: &str| Error::usage(format!("{name} needs {what}"));
    Ok(match (name.to_ascii_lowercase().as_str(), rest) {
        (".help" | ".h", "") => DotCommand::Help,
        (".tables", "") => DotCommand::Tables,
        (".quit" | ".exit" | ".q", "") => DotCommand::Quit,
        (".schema", "") => DotCommand::Schema(None),
        (".schema", table) => DotCommand::Schema(Some(table.to_owned())),
        (".stats", "") => DotCommand::Stats(None),
        (".stats", table) => DotCommand::Stats(Some(table.to_owned())),
        (".mode", "") => return Err(needs("a format").with_hint("use table, csv, tsv, json, jsonl or markdown")),
        (".mode", format) => DotCommand::Mode(Format::parse(format)?),
        (".timing" | ".timer", "on") => DotCommand::Timing(true),
        (".timing" | ".timer", "off") => DotCommand::Timing(false),
        (".timing" | ".timer", _) => return Err(needs("on or off")),
        (".read", "") => return Err(needs("a file")),
        (".save" | ".backup" | ".load" | ".restore", "") => {
            return Err(
                needs("a URL").with_hint("a path, postgresql://..., mariadb://..., a directory or s3://BUCKET/PREFIX")
            );
        }
        (".save" | ".backup", url) => DotCommand::Save(url.to_owned()),
        (".load" | ".restore", url) => DotCommand::Load(url.to_owned()),
        (".read", path) => DotCommand::Read(path.to_owned()),
        (known, _) if NAMES.contains(&known) => return Err(Error::usage(format!("{name} takes nothing more"))),
        _ => {
            let error = Error::usage(format!("no command named {name}"));
            return Err(match nearest_name(name, NAMES) {
                Some(near) => error.with_hint(format!("did you mean {near}?")),
                None => error.with_hint(".help lists them"),
            });
        }
    })
}

fn unquoted(text: &str) -> &str {
    let stripped = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    stripped('"').or_else(|| stripped('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_people_type_them() {
        assert_eq!(parse(".tables;\n").unwrap(), DotCommand::Tables);
        assert_eq!(parse(".schema \"my table\"").unwrap(), DotCommand::Schema(Some("my table".to_owned())));
        assert_eq!(parse(".MODE csv").unwrap(), DotCommand::Mode(Format::Csv));
        assert_eq!(parse(".save 'my copy.db'").unwrap(), DotCommand::Save("my copy.db".to_owned()));
        assert_eq!(parse(".RESTORE a.db").unwrap(), DotCommand::Load("a.db".to_owned()));
        assert_eq!(parse(".timing off").unwrap(), DotCommand::Timing(false));
    }

    #[test]
    fn a_misspelt_command_gets_the_nearest() {
        assert_eq!(parse(".tabels").unwrap_err().hint(), Some("did you mean .tables?"));
        assert!(
            parse(".quit now").is_err()
                && parse(".read").is_err()
                && parse(".save").is_err()
                && parse(".timing").is_err()
        );
    }
}
