//! Distinguishes SQL from names.

use atsdb::Error;
use atsdb::sql::{verb_kind, verb_of};
use std::path::Path;

/// The verbs that most statements begin with.
const VERBS: [&str; 6] = ["select", "with", "insert", "update", "delete", "create"];

/// Returns whether an argument is the verb of a statement alone, because the statement was not quoted.
pub(crate) fn is_bare_verb(text: &str) -> bool {
    VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(text)) && !Path::new(text).exists()
}

/// The error for a statement that is not one argument.
pub(crate) fn unquoted_statement() -> Error {
    Error::usage("the statement is not in quotes")
        .with_hint("write it as one argument: atsdb sql air.db \"SELECT ...\"; atsdb ./NAME opens a file of any name")
}

/// Returns whether an argument is SQL and no store: it begins as SQL, or has several words, does not look like a path,
/// and no file is called so.
pub(crate) fn is_sql(text: &str) -> bool {
    let is_sentence = text.trim().contains(char::is_whitespace) && !is_path_like(text) && !Path::new(text).exists();
    begins_as_sql(text) || is_sentence
}

/// Returns whether an argument begins with a verb that something follows, and is not the name of a file.
pub(crate) fn begins_as_sql(text: &str) -> bool {
    let statement = without_lead(text);
    let verb = verb_of(statement);
    let rest = &statement[verb.len()..];
    let has_more =
        !rest.trim_start().is_empty() && rest.starts_with(|next: char| !next.is_alphanumeric() && next != '.');
    has_more && verb_kind(&verb).is_some() && !Path::new(text).exists()
}

/// Returns whether a text of several words looks like a path or a URL: it begins as one, ends as a file, or its folder
/// is there.
fn is_path_like(text: &str) -> bool {
    let ending = text.rsplit_once('.').map_or("", |(_, ending)| ending);
    let ends_as_file = !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphabetic());
    let has_scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !rest.starts_with(':')
    });
    let folder = Path::new(text).parent().filter(|folder| !folder.as_os_str().is_empty());
    ends_as_file || has_scheme || text.starts_with(['/', '.', '~']) || folder.is_some_and(Path::is_dir)
}

/// The text without the blanks, comments and brackets before its first word.
pub(crate) fn without_lead(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = match rest.as_bytes() {
            [b'-', b'-', ..] => rest.split_once('\n').map_or("", |(_, after)| after),
            [b'/', b'*', ..] => rest.split_once("*/").map_or("", |(_, after)| after),
            [b'(', ..] => &rest[1..],
            _ => return rest,
        };
        rest = after.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_told_from_names_by_its_words() {
        for text in [
            "select 1",
            "SELECT * FROM 'x.csv'",
            "values(1)",
            " with a as (select 1) select 2",
            "show tables",
            "selct 1",
            "pivot x",
            "select 1.5",
            "-- a comment\nselect 1",
            "/* one */ select 1",
            "(select 1)",
            "((values (1)))",
        ] {
            assert!(is_sql(text), "{text}");
        }
        for text in [
            "air.db",
            "select",
            "select.db",
            "selection of air.db",
            "table",
            "copy.db",
            "postgresql://a@b/c",
            "./my data",
            "sqlite:my data",
            "(old) air.db",
            "src/my data",
        ] {
            assert!(!is_sql(text), "{text}");
        }
    }
}
