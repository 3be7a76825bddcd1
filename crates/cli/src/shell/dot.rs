//! The shell's own commands, which begin with a dot.

use crate::args::TargetArgs;
use crate::output::Format;
use crate::output::screen::Expanded;
use atsdb::name::nearest_name;
use atsdb::{Error, Result};

/// The query of `.views`.
const VIEWS: &str = "SELECT name, sql FROM atsdb.tables WHERE kind IN ('view', 'materialized view')";

/// The query of `.indexes`.
const INDEXES: &str = "SELECT table_name, index_name, columns, bytes FROM atsdb.indexes";

/// The hint of `.mode`: the formats that a terminal shows.
const MODES: &str =
    "use table, csv, tsv, json, jsonl, markdown, chart or spark; .expanded on shows each value on its own line";

/// The text of `.help`.
pub(super) const HELP: &str = "\
.help [COMMAND]      this list, or what it says about a command
.tables [TEXT]       the tables, or those with the text in their names
.schema [TABLE]      the CREATE TABLE of one table, or of all
.indexes [TABLE]     the indexes of one table, or of all
.views               the views, also materialized ones
.functions [TEXT]    the functions, or those with the text in their names
.databases           the open store
.users               the users who may use the store when it is served
.dump [TABLE]        the statements that make one table, or all, with their rows
.import FILE TABLE   import a file into a table; flags of atsdb import follow
.stats [TABLE]       rows, bytes and encodings, and the use of the caches
.mode FORMAT         how results are written: table, csv, tsv, json, jsonl,
                     markdown, chart, spark
.expanded on|off|auto  a line for each value; auto: if a row does not fit
.limit ROWS|off      how many rows of a result are shown
.pager on|off        whether long results are shown page by page
.timing on|off       whether each statement's time is shown
.chart [QUERY]       draw the result of a query, or of the last one; --spark: a
                     line for each column
.edit                edit the last statement in $EDITOR, and run it
.read FILE           run the statements of a file
.save URL            copy the open store, also one in memory, to another one or
                     to a directory of backups; flags of atsdb copy follow
.load URL            copy another store, or the newest backup of a directory,
                     into the open one; --overwrite: replace its tables
.quit                leave; Ctrl-D does the same

Also as in psql: \\d, \\d TABLE, \\dt, \\di, \\dv, \\dm, \\df, \\du, \\l, \\x, \\timing,
\\e, \\i FILE, \\q, \\?; and help, quit, exit.
Tab completes names, keywords, functions and files. Ctrl-R searches the history.
SQL ends with ; and may span several lines. \\G or \\gx in place of ; shows each
value on its own line. Ctrl-C stops a running statement, or discards what was
typed.
";

pub(super) const NAMES: [&str; 25] = [
    ".indexes",
    ".views",
    ".functions",
    ".databases",
    ".users",
    ".dump",
    ".import",
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

/// Commands of other shells, and what does the same here.
const ELSEWHERE: [(&str, &str); 31] = [
    (".open", OTHER_STORE),
    ("\\c", OTHER_STORE),
    ("\\connect", OTHER_STORE),
    (".output", TO_FILE),
    (".once", TO_FILE),
    ("\\o", TO_FILE),
    ("\\g", TO_FILE),
    ("\\copy", "COPY t TO 'file.csv' and COPY t FROM 'file.csv' use files of this machine"),
    (".headers", HEADERS),
    (".header", HEADERS),
    ("\\t", HEADERS),
    (".separator", ".mode csv separates by commas, and .mode tsv by tabs"),
    (".nullvalue", "NULL is NULL in tables and empty in csv and tsv; coalesce(column::text, '-') shows another text"),
    (".indices", ".indexes lists them"),
    (".fullschema", ".schema shows the CREATE TABLE of all tables"),
    ("\\dn", "SELECT schema_name FROM information_schema.schemata lists the schemas"),
    ("\\conninfo", ".databases shows the URL of the store"),
    ("\\gx", "\\x shows each value on its own line"),
    ("\\pset", LOOKS),
    (".width", LOOKS),
    (".show", LOOKS),
    (".shell", NO_PROGRAMS),
    (".system", NO_PROGRAMS),
    ("\\!", NO_PROGRAMS),
    (".cd", NO_PROGRAMS),
    ("\\cd", NO_PROGRAMS),
    (".print", "SELECT 'text' shows a text"),
    ("\\echo", "SELECT 'text' shows a text"),
    (".bail", "a script always ends at its first error"),
    (".eqp", "EXPLAIN before a query shows its plan"),
    (".explain", "EXPLAIN before a query shows its plan"),
];

const OTHER_STORE: &str = "leave with .quit, and open the other store: atsdb URL; .load copies a store into this one";
const TO_FILE: &str =
    "COPY (SELECT ...) TO 'file.csv' writes a result to a file; so does atsdb sql URL 'SELECT ...' -o FILE";
const LOOKS: &str = ".mode, .expanded, .limit and .pager set how results are shown";
const NO_PROGRAMS: &str = "the shell starts no other programs: leave with .quit, or use another terminal";
const HEADERS: &str = "the names of the columns are always shown";

/// How a result is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chart {
    Plot,
    Spark,
}

/// A command with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DotCommand {
    /// The lines about one command in the list of commands; `None` for the whole list.
    Help(Option<String>),
    /// Tables whose names contain this text, which may be empty.
    Tables(String),
    Schema(Option<String>),
    Stats(Option<String>),
    Mode(Format),
    Expanded(Option<Expanded>),
    Limit(Option<usize>),
    Pager(bool),
    /// A chart of the rows of a query; of the last query without one.
    Chart(Chart, Option<String>),
    /// A question that a query answers.
    Ask(String),
    Databases,
    Users,
    Dump(Option<String>),
    Import {
        file: String,
        table: String,
        flags: Vec<String>,
    },
    Edit,
    Timing(Option<bool>),
    Read(String),
    Save {
        url: String,
        into: TargetArgs,
    },
    Load {
        url: String,
        into: TargetArgs,
    },
    Quit,
}

/// Reads a line that begins with a dot.
pub(super) fn parse(line: &str) -> Result<DotCommand> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let whole_rest = rest.trim();
    let rest = unquoted(whole_rest);
    let needs = |what: &str| Error::usage(format!("{name} needs {what}"));
    Ok(match (name.to_ascii_lowercase().as_str(), rest) {
        (".help" | ".h", "") => DotCommand::Help(None),
        (".help" | ".h", topic) => DotCommand::Help(help_of(topic)),
        (".tables", part) => DotCommand::Tables(part.trim_matches(['*', '%']).to_owned()),
        (".quit" | ".exit" | ".q", "") => DotCommand::Quit,
        (".schema", "") => DotCommand::Schema(None),
        (".schema", table) => DotCommand::Schema(Some(table.to_owned())),
        (".stats", "") => DotCommand::Stats(None),
        (".stats", table) => DotCommand::Stats(Some(table.to_owned())),
        (".mode", "") => return Err(needs("a format").with_hint(MODES)),
        (".mode", format) => DotCommand::Mode(Format::parse(format).map_err(|error| error.with_hint(MODES))?),
        (".expanded", "") => DotCommand::Expanded(None),
        (".expanded", mode) => match mode.parse() {
            Ok(mode) => DotCommand::Expanded(Some(mode)),
            Err(_) => return Err(needs("on, off or auto")),
        },
        (".limit", "off" | "0") => DotCommand::Limit(None),
        (".limit", count) => match count.parse() {
            Ok(count) => DotCommand::Limit(Some(count)),
            Err(_) => return Err(needs("a number of rows, or off")),
        },
        (".pager", "on") => DotCommand::Pager(true),
        (".pager", "off") => DotCommand::Pager(false),
        (".pager", _) => return Err(needs("on or off")),
        (".indexes", "") => DotCommand::Ask(INDEXES.to_owned()),
        (".indexes", table) => DotCommand::Ask(format!("{INDEXES} WHERE lower(table_name) = lower({})", text(table))),
        (".views", "") => DotCommand::Ask(VIEWS.to_owned()),
        (".functions", "") => DotCommand::Ask("SHOW FUNCTIONS".to_owned()),
        (".functions", part) => DotCommand::Ask(format!("SHOW FUNCTIONS ILIKE {}", text(&format!("%{part}%")))),
        (".databases", "") => DotCommand::Databases,
        (".users", "") => DotCommand::Users,
        (".dump", "") => DotCommand::Dump(None),
        (".dump", table) => DotCommand::Dump(Some(table.to_owned())),
        (".import", _) => match words(whole_rest).as_slice() {
            [file, table, flags @ ..] => {
                DotCommand::Import { file: file.clone(), table: table.clone(), flags: flags.to_vec() }
            }
            _ => return Err(needs("a file and a table")),
        },
        (".chart", _) => {
            let (chart, query) = match whole_rest.strip_prefix("--spark") {
                Some(query) => (Chart::Spark, query.trim_start()),
                None => (Chart::Plot, whole_rest),
            };
            DotCommand::Chart(chart, Some(query.to_owned()).filter(|query| !query.is_empty()))
        }
        (".edit", "") => DotCommand::Edit,
        (".timing" | ".timer", "") => DotCommand::Timing(None),
        (".timing" | ".timer", "on") => DotCommand::Timing(Some(true)),
        (".timing" | ".timer", "off") => DotCommand::Timing(Some(false)),
        (".timing" | ".timer", _) => return Err(needs("on or off")),
        (".read", "") => return Err(needs("a file")),
        (command @ (".save" | ".backup" | ".load" | ".restore"), _) => {
            let (url, into) = url_and_flags(whole_rest)?;
            if url.is_empty() || url.starts_with("--") {
                return Err(needs("a URL")
                    .with_hint("a path, postgresql://..., mariadb://..., a directory or s3://BUCKET/PREFIX"));
            }
            match command {
                ".save" | ".backup" => DotCommand::Save { url, into },
                _ => DotCommand::Load { url, into },
            }
        }
        (".read", path) => DotCommand::Read(path.to_owned()),
        (known, _) if NAMES.contains(&known) => return Err(Error::usage(format!("{name} takes nothing more"))),
        _ => return Err(unknown(name)),
    })
}

/// The error for a command that is not known, with what does the same here.
fn unknown(name: &str) -> Error {
    // An unknown command of psql has a dot before it.
    let name = if name.starts_with(".\\") { &name[1..] } else { name };
    let error = Error::usage(format!("no command named {name}"));
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        return error.with_hint(*instead);
    }
    match nearest_name(name, NAMES) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error.with_hint(".help lists them"),
    }
}

/// The lines of the help about a command, with or without its dot.
fn help_of(topic: &str) -> Option<String> {
    let name = topic.trim_start_matches('.');
    let is_of = |line: &str| line.strip_prefix('.').and_then(|line| line.split(' ').next()) == Some(name);
    let mut lines = HELP.lines().skip_while(|line| !is_of(line));
    let first = lines.next()?;
    let more = lines.take_while(|line| line.starts_with(' '));
    Some(std::iter::once(first).chain(more).map(|line| format!("{line}\n")).collect())
}

/// How a person ends a statement with a command of psql or mysql in place of the semicolon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatementEnd {
    /// `\g`: as with a semicolon.
    Plain,
    /// `\gx`, `\G`: each value is shown on its own line.
    Expanded,
}

/// The statement in front of such an end, if it is whole. In a text or a comment the end is no command.
pub(super) fn ended_statement(typed: &str) -> Option<(&str, StatementEnd)> {
    let typed = typed.trim_end().trim_end_matches(';').trim_end();
    let ends = [("\\gx", StatementEnd::Expanded), ("\\G", StatementEnd::Expanded), ("\\g", StatementEnd::Plain)];
    let (sql, end) = ends.into_iter().find_map(|(end, meaning)| Some((typed.strip_suffix(end)?, meaning)))?;
    let is_whole = !sql.trim().is_empty() && atsdb::sql::is_complete(&format!("{sql};"));
    is_whole.then_some((sql, end))
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
        ("dt" | "dt+", part) => format!(".tables {part}"),
        ("d" | "d+", part) if part.contains('*') => format!(".tables {part}"),
        ("d" | "d+", table) => format!(".schema {table}"),
        ("di" | "di+", table) => format!(".indexes {table}"),
        ("dv" | "dv+" | "dm" | "dm+", _) => ".views".to_owned(),
        ("df" | "df+", part) => format!(".functions {}", part.trim_matches('*')),
        ("du" | "du+", _) => ".users".to_owned(),
        ("l" | "l+", _) => ".databases".to_owned(),
        ("x", mode) => format!(".expanded {mode}"),
        ("timing", mode) => format!(".timing {mode}"),
        ("q", _) => ".quit".to_owned(),
        ("?" | "h" | "help", _) => ".help".to_owned(),
        ("i", file) => format!(".read {file}"),
        ("e", _) => ".edit".to_owned(),
        (other, _) => format!(".\\{other}"),
    })
}

/// Returns whether an argument is a command of the shell, in place of a store.
pub(super) fn is_known(argument: &str) -> bool {
    let line = as_command(argument).filter(|_| argument.starts_with(['.', '\\'])).unwrap_or_default();
    let name = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    NAMES.contains(&name.as_str())
}

/// Returns whether a line is a command that may write, so that a store may be created for it.
pub(super) fn may_write(line: &str) -> bool {
    let command = as_command(line).map(|line| parse(&line));
    matches!(command, Some(Ok(DotCommand::Import { .. } | DotCommand::Read(_) | DotCommand::Load { .. })))
}

/// A text as a literal.
fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// The words of a line; one in quotes may hold blanks.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), line.trim());
    while let Some(first) = rest.chars().next() {
        let quote = Some(first).filter(|first| matches!(first, '\'' | '"'));
        let (word, after) = match quote.and_then(|quote| rest[1..].split_once(quote)) {
            Some((word, after)) => (word, after),
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// The URL of a store, which may hold blanks, and the flags behind it.
fn url_and_flags(line: &str) -> Result<(String, TargetArgs)> {
    let (mut url, mut into) = (line, TargetArgs::default());
    while let Some((before, flag)) = url.rsplit_once(char::is_whitespace).filter(|(_, word)| word.starts_with("--")) {
        match flag {
            "--overwrite" => into.overwrite = true,
            "--allow-non-empty" => into.allow_non_empty = true,
            "--no-verify" => into.no_verify = true,
            _ => {
                return Err(Error::usage(format!("no flag {flag}"))
                    .with_hint("use --overwrite, --allow-non-empty or --no-verify"));
            }
        }
        url = before.trim_end();
    }
    Ok((unquoted(url).to_owned(), into))
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
        assert_eq!(parse(".tables;\n").unwrap(), DotCommand::Tables(String::new()));
        assert_eq!(parse(".tables w%").unwrap(), DotCommand::Tables("w".to_owned()));
        assert_eq!(parse(".schema \"my table\"").unwrap(), DotCommand::Schema(Some("my table".to_owned())));
        assert_eq!(parse(".MODE csv").unwrap(), DotCommand::Mode(Format::Csv));
        let into = TargetArgs::default();
        assert_eq!(parse(".save 'my copy.db'").unwrap(), DotCommand::Save { url: "my copy.db".to_owned(), into });
        let into = TargetArgs { overwrite: true, no_verify: true, ..TargetArgs::default() };
        let load = DotCommand::Load { url: "my copy.db".to_owned(), into };
        assert_eq!(parse(".RESTORE my copy.db  --overwrite --no-verify").unwrap(), load);
        assert_eq!(parse(".timing off").unwrap(), DotCommand::Timing(Some(false)));
        assert_eq!(parse(".expanded").unwrap(), DotCommand::Expanded(None));
        assert_eq!(
            (parse(".limit off").unwrap(), parse(".limit 5").unwrap()),
            (DotCommand::Limit(None), DotCommand::Limit(Some(5)))
        );
        for (typed, meant) in [
            ("\\d", ".tables"),
            ("\\df *bucket*", ".functions bucket"),
            ("\\di", ".indexes "),
            ("\\l;", ".databases"),
            ("\\d readings;", ".schema readings"),
            ("\\dt read*", ".tables read*"),
            ("\\d read*", ".tables read*"),
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
    fn arguments_may_hold_blanks_and_flags() {
        let import = parse(".import 'my file.csv' t --skip 2").unwrap();
        let flags = vec!["--skip".to_owned(), "2".to_owned()];
        assert_eq!(import, DotCommand::Import { file: "my file.csv".to_owned(), table: "t".to_owned(), flags });
        let query = Some("SELECT 'a' FROM t".to_owned());
        assert_eq!(parse(".chart SELECT 'a' FROM t;").unwrap(), DotCommand::Chart(Chart::Plot, query.clone()));
        assert_eq!(parse(".chart --spark SELECT 'a' FROM t").unwrap(), DotCommand::Chart(Chart::Spark, query));
        assert_eq!(parse(".chart --spark").unwrap(), DotCommand::Chart(Chart::Spark, None));
        assert_eq!(
            parse(".indexes it's").unwrap(),
            DotCommand::Ask(format!("{INDEXES} WHERE lower(table_name) = lower('it''s')"))
        );
        assert!(parse(".import x.csv").is_err());
    }

    #[test]
    fn a_statement_may_end_as_in_psql_and_mysql() {
        let expanded = |sql| Some((sql, StatementEnd::Expanded));
        assert_eq!(ended_statement("select 1 \\gx\n"), expanded("select 1 "));
        assert_eq!(ended_statement("select '\\G'\n, 2\\G;"), expanded("select '\\G'\n, 2"));
        assert_eq!(ended_statement("select 1\\g"), Some(("select 1", StatementEnd::Plain)));
        for text in ["select 1;", "select 'a\\G", "select 1 -- \\gx", "\\gx", "select 1 \\gset"] {
            assert_eq!(ended_statement(text), None, "{text}");
        }
    }

    #[test]
    fn the_help_of_a_command_is_its_lines() {
        let help = |typed: &str| match parse(typed) {
            Ok(DotCommand::Help(lines)) => lines.unwrap_or_default(),
            other => panic!("{typed}: {other:?}"),
        };
        let chart = help(".help chart");
        assert!(chart.starts_with(".chart [QUERY]") && chart.ends_with("line for each column\n"), "{chart}");
        assert_eq!(help(".help .chart"), chart);
        assert!(help(".help tables").starts_with(".tables [TEXT]") && help(".help tables").lines().count() == 1);
        assert_eq!((help(".help"), help(".help nothing")), (String::new(), String::new()));
    }

    #[test]
    fn the_help_fits_a_narrow_terminal() {
        assert!(HELP.lines().all(|line| line.len() <= 80), "{HELP}");
    }

    #[test]
    fn a_misspelt_command_gets_the_nearest() {
        assert_eq!(parse(".tabels").unwrap_err().hint(), Some("did you mean .tables?"));
        assert_eq!(parse(".mode parket").unwrap_err().hint(), Some(MODES));
        let hint = |typed: &str| parse(&as_command(typed).unwrap()).unwrap_err().hint().map(str::to_owned);
        assert_eq!((hint(".open b.db").as_deref(), hint("\\c b").as_deref()), (Some(OTHER_STORE), Some(OTHER_STORE)));
        assert_eq!((hint(".width 3").as_deref(), hint("\\! ls").as_deref()), (Some(LOOKS), Some(NO_PROGRAMS)));
        assert_eq!((hint("\\o x.csv").as_deref(), hint(".headers on").as_deref()), (Some(TO_FILE), Some(HEADERS)));
        assert!(
            parse(".quit now").is_err()
                && parse(".read").is_err()
                && parse(".save").is_err()
                && parse(".save --overwrite b.db").is_err()
                && parse(".load b.db --force").is_err()
                && parse(".timing maybe").is_err()
        );
    }
}
