//! The shell's own commands, which begin with a dot.

use crate::output::Format;
use crate::output::screen::Expanded;
use atsdb::name::nearest_name;
use atsdb::{Error, Result};

/// The text of `.help`.
pub(super) const HELP: &str = "\
.help                this list
.tables              the tables
.schema [TABLE]      the CREATE TABLE of one table, or of all
.stats [TABLE]       rows, bytes and encodings; how the cache does
.mode FORMAT         how results are written: table, csv, tsv, json, jsonl, markdown, chart
.expanded on|off|auto  a line for each value; auto: where a row does not fit
.limit ROWS|off      how many rows of a result are shown
.pager on|off        whether long results are shown page by page
.timing on|off       whether each statement's time is shown
.chart               draw the result of the last query
.edit                edit the last statement in $EDITOR, and run it
.read FILE           run the statements of a file
.save URL            copy the open store, also one in memory, to another one or to a directory of backups
.load URL            bring what another store or the newest backup of a directory holds into the open one
.quit                leave; Ctrl-D does the same

Also as in psql: \\d, \\d TABLE, \\dt, \\x, \\timing, \\e, \\i FILE, \\q, \\?; and help, quit, exit.
Tab completes names, keywords and functions. Ctrl-R searches the history.
SQL ends with ; and may go over several lines. Ctrl-C stops a statement, or drops what was typed.
";

pub(super) const NAMES: [&str; 18] = [
    ".expanded",
    ".limit",
    ".pager",
    ".chart",
    ".edit",
    ".help",
    ".tables",
    ".schema",
    ".stats",
    ".mode",
    ".timing",
    ".read",
    ".save",
    ".backup",
    ".load",
    ".restore",
    ".quit",
    ".exit",
];

/// A command with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DotCommand {
    Help,
    Tables,
    Schema(Option<String>),
    Stats(Option<String>),
    Mode(Format),
    Expanded(Option<Expanded>),
    Limit(Option<usize>),
    Pager(bool),
    Chart,
    Edit,
    Timing(Option<bool>),
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
        (".mode", "") => return Err(needs("a format").with_hint("use table, csv, tsv, json, jsonl, markdown or chart")),
        (".mode", format) => DotCommand::Mode(Format::parse(format)?),
        (".expanded", "") => DotCommand::Expanded(None),
        (".expanded", "on") => DotCommand::Expanded(Some(Expanded::On)),
        (".expanded", "off") => DotCommand::Expanded(Some(Expanded::Off)),
        (".expanded", "auto") => DotCommand::Expanded(Some(Expanded::Auto)),
        (".expanded", _) => return Err(needs("on, off or auto")),
        (".limit", "off" | "0") => DotCommand::Limit(None),
        (".limit", count) => match count.parse() {
            Ok(count) => DotCommand::Limit(Some(count)),
            Err(_) => return Err(needs("a number of rows, or off")),
        },
        (".pager", "on") => DotCommand::Pager(true),
        (".pager", "off") => DotCommand::Pager(false),
        (".pager", _) => return Err(needs("on or off")),
        (".chart", "") => DotCommand::Chart,
        (".edit", "") => DotCommand::Edit,
        (".timing" | ".timer", "") => DotCommand::Timing(None),
        (".timing" | ".timer", "on") => DotCommand::Timing(Some(true)),
        (".timing" | ".timer", "off") => DotCommand::Timing(Some(false)),
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

/// Converts a line such as `\dt` or `quit` to the dot command that it means. Returns `None` for SQL.
pub(super) fn as_command(line: &str) -> Option<String> {
    let line = line.trim();
    if line.starts_with('.') {
        return Some(line.to_owned());
    }
    let bare = line.trim_end_matches(';').trim_end();
    match bare.to_ascii_lowercase().as_str() {
        "help" | "?" => return Some(".help".to_owned()),
        "quit" | "exit" => return Some(".quit".to_owned()),
        _ => {}
    }
    let (name, rest) = bare.strip_prefix('\\')?.split_once(char::is_whitespace).unwrap_or((&bare[1..], ""));
    let rest = rest.trim();
    Some(match (name, rest) {
        ("d" | "dt" | "d+" | "dt+", "") => ".tables".to_owned(),
        ("d" | "dt" | "d+" | "dt+", table) => format!(".schema {table}"),
        ("x", mode) => format!(".expanded {mode}"),
        ("timing", mode) => format!(".timing {mode}"),
        ("q", _) => ".quit".to_owned(),
        ("?" | "h" | "help", _) => ".help".to_owned(),
        ("i", file) => format!(".read {file}"),
        ("e", _) => ".edit".to_owned(),
        (other, _) => format!(".\\{other}"),
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
        assert_eq!(parse(".timing off").unwrap(), DotCommand::Timing(Some(false)));
        assert_eq!(parse(".expanded").unwrap(), DotCommand::Expanded(None));
        assert_eq!(
            (parse(".limit off").unwrap(), parse(".limit 5").unwrap()),
            (DotCommand::Limit(None), DotCommand::Limit(Some(5)))
        );
        for (typed, meant) in [
            ("\\d", ".tables"),
            ("\\d readings;", ".schema readings"),
            ("\\x", ".expanded "),
            ("\\timing on", ".timing on"),
            ("quit;", ".quit"),
            ("HELP", ".help"),
        ] {
            assert_eq!(as_command(typed).as_deref(), Some(meant), "{typed}");
        }
        assert_eq!((as_command("select 1"), as_command("exit_code")), (None, None));
    }

    #[test]
    fn a_misspelt_command_gets_the_nearest() {
        assert_eq!(parse(".tabels").unwrap_err().hint(), Some("did you mean .tables?"));
        assert!(
            parse(".quit now").is_err()
                && parse(".read").is_err()
                && parse(".save").is_err()
                && parse(".timing maybe").is_err()
        );
    }
}
