//! The arguments in parentheses after `USING atsdb`: the path of a store, a table, and options.

use crate::error::module_error;
use crate::time_format::TimeFormat;
use rusqlite::Result;
use rusqlite::vtab::dequote;

const USAGE: &str = "write USING atsdb('FILE', 'TABLE') or USING atsdb('FILE', 'TABLE', time='unixepoch')";

/// The arguments of a virtual table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) path: String,
    pub(crate) table: String,
    pub(crate) format: TimeFormat,
}

impl Arguments {
    pub(crate) fn parse(arguments: &[&[u8]]) -> Result<Self> {
        let texts: Vec<&str> =
            arguments.iter().map(|argument| std::str::from_utf8(argument).map(str::trim)).collect::<Result<_, _>>()?;
        let [path, table, options @ ..] = texts.as_slice() else {
            return Err(module_error(format!("the file and the table are missing ({USAGE})")));
        };
        let mut format = TimeFormat::Text;
        for option in options {
            match option.split_once('=') {
                Some((name, value)) if name.trim().eq_ignore_ascii_case("time") => {
                    format = TimeFormat::parse(&dequote(value.trim()))?;
                }
                _ => return Err(module_error(format!("unknown option {option} ({USAGE})"))),
            }
        }
        Ok(Self { path: path_of(&dequote(path))?, table: dequote(table).into_owned(), format })
    }
}

/// The path of a store, which may be given as a URL.
pub(crate) fn path_of(url: &str) -> Result<String> {
    let is_other =
        ["postgresql:", "postgres:", "mysql:", "mariadb:", "memory:"].iter().any(|scheme| url.starts_with(scheme));
    match url.strip_prefix("sqlite:").unwrap_or(url) {
        "" => Err(module_error("the path of the store is empty")),
        _ if is_other => {
            Err(module_error("only stores in SQLite files can be read here (copy the store with atsdb copy)"))
        }
        path => {
            Ok(path.split_once('?').filter(|_| url.starts_with("sqlite:")).map_or(path, |(path, _)| path).to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments> {
        Arguments::parse(&arguments.iter().map(|argument| argument.as_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn quotes_options_and_what_is_wrong() {
        let parsed = parse(&["'it''s.db'", " \"a b\" ", "time = 'UnixEpoch'"]).unwrap();
        assert_eq!((parsed.path.as_str(), parsed.table.as_str()), ("it's.db", "a b"));
        assert_eq!(parsed.format, TimeFormat::UnixEpoch);
        assert_eq!(parse(&["sqlite:a.db?durability=off", "t"]).unwrap().path, "a.db");
        for (arguments, says) in [
            (&["a.db"][..], "missing"),
            (&["a.db", "t", "zeit='text'"], "unknown option zeit"),
            (&["a.db", "t", "time='stardate'"], "unknown time format stardate"),
            (&["postgresql://a/b", "t"], "atsdb copy"),
            (&["''", "t"], "empty"),
        ] {
            let error = parse(arguments).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
