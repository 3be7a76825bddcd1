//! Completion with Tab: keywords, tables, columns, functions, commands.

use super::dot;
use atsdb::Table;
use atsdb::sql::file_functions;

/// Keywords, in upper case.
const KEYWORDS: [&str; 107] = [
    "ADD",
    "ALL",
    "ALTER",
    "ANALYZE",
    "AND",
    "ANTI",
    "AS",
    "ASC",
    "ASOF",
    "BEGIN",
    "BETWEEN",
    "BIGINT",
    "BOOLEAN",
    "BY",
    "CASE",
    "CAST",
    "CHECKPOINT",
    "COLUMN",
    "COMMIT",
    "CONFLICT",
    "CONSTRAINT",
    "COPY",
    "CREATE",
    "CROSS",
    "DATE",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DOUBLE",
    "DROP",
    "ELSE",
    "END",
    "EVERY",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "FALSE",
    "FETCH",
    "FILTER",
    "FIRST",
    "FLOAT",
    "FOLLOWING",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IF",
    "ILIKE",
    "IN",
    "INDEX",
    "INNER",
    "INSERT",
    "INT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LAST",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MATCHED",
    "MATERIALIZED",
    "MERGE",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PRECEDING",
    "PRIMARY",
    "RANGE",
    "REFERENCES",
    "REPLACE",
    "RETURNING",
    "RIGHT",
    "ROLLBACK",
    "ROLLUP",
    "ROWS",
    "SELECT",
    "SET",
    "SHOW",
    "SUMMARIZE",
    "TABLE",
    "TABLES",
    "TEXT",
    "THEN",
    "TIMESTAMP",
    "TRUE",
    "TRUNCATE",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VALUES",
    "VIEW",
    "WHERE",
    "WITH",
];

/// The maximum number of suggestions.
const SUGGESTIONS_MAX: usize = 200;

/// Returns whether a word is a keyword, in any case.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word)) || word.eq_ignore_ascii_case("when")
}

/// The names that can be completed.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Tables, each with its columns.
    tables: Vec<(String, Vec<String>)>,
}

impl Words {
    /// The names of a store.
    pub(super) fn of(tables: &[Table]) -> Self {
        let columns = |table: &Table| table.definition.columns.iter().map(|column| column.name.clone()).collect();
        Self { tables: tables.iter().map(|table| (table.definition.name.clone(), columns(table))).collect() }
    }

    /// The start of the word before the cursor, and its possible completions. `functions` is called only if needed.
    pub(super) fn complete(
        &self,
        before: &str,
        whole: &str,
        functions: impl FnOnce() -> &'static [String],
    ) -> (usize, Vec<String>) {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_');
        let start = before
            .rfind(|letter| !is_part(letter))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let word = &before[start..];
        if before.trim_start().starts_with('.') && !before.trim_start().contains(' ') {
            let start = before.len() - before.trim_start().len();
            return (start, matching(dot::NAMES.iter().copied(), &before[start..]));
        }
        let ahead = &before[..start];
        if let Some(table) = ahead.strip_suffix('.') {
            let table = &table[table.rfind(|letter| !is_part(letter)).map_or(0, |at| at + 1)..];
            let table = self.resolve_alias(table, whole);
            return (start, spelled(matching(self.columns_of(table), word)));
        }
        let last_word = ahead.split_whitespace().next_back().unwrap_or("").to_ascii_uppercase();
        let is_command = ahead.trim_start().starts_with(['.', '\\']);
        if is_command
            || matches!(last_word.as_str(), "FROM" | "JOIN" | "INTO" | "UPDATE" | "TABLE" | "DESCRIBE" | "SUMMARIZE")
        {
            let mut found = matching(self.tables.iter().map(|(name, _)| name.as_str()), word);
            if found.is_empty() && matches!(last_word.as_str(), "FROM" | "JOIN") {
                let functions = matching(file_functions().chain(["generate_series"]), word);
                found.extend(functions.into_iter().map(|name| format!("{name}(")));
            }
            return (start, found);
        }
        if word.is_empty() {
            return (start, Vec::new());
        }
        let mentioned: Vec<&str> = whole.split(|letter| !is_part(letter)).collect();
        let is_mentioned = |name: &str| mentioned.iter().any(|word| word.eq_ignore_ascii_case(name));
        // The tables are named after the columns, so at first all columns may be meant.
        let is_any = !self.tables.iter().any(|(name, _)| is_mentioned(name));
        let tables = self.tables.iter().filter(|(name, _)| is_any || is_mentioned(name));
        let columns = tables.flat_map(|(_, columns)| columns.iter().map(String::as_str));
        let mut found = spelled(matching(columns, word));
        found.extend(matching(KEYWORDS, word).into_iter().map(|keyword| in_case_of(word, &keyword)));
        found.extend(matching(self.tables.iter().map(|(name, _)| name.as_str()), word));
        found.extend(matching(functions().iter().map(String::as_str), word).into_iter().map(|name| format!("{name}(")));
        found.dedup();
        found.truncate(SUGGESTIONS_MAX);
        (start, found)
    }

    /// The table that a name means, which may be its alias in the statement.
    fn resolve_alias<'a>(&'a self, name: &'a str, statement: &str) -> &'a str {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let words: Vec<&str> = statement.split(|letter| !is_part(letter)).filter(|word| !word.is_empty()).collect();
        let is_alias = |table: &str| {
            words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case(table)).any(|(at, _)| {
                let next = words[at + 1..].iter().find(|word| !word.eq_ignore_ascii_case("AS"));
                next.is_some_and(|word| word.eq_ignore_ascii_case(name))
            })
        };
        let is_table = self.tables.iter().any(|(table, _)| table.eq_ignore_ascii_case(name));
        let aliased = self.tables.iter().map(|(table, _)| table.as_str()).find(|table| !is_table && is_alias(table));
        aliased.unwrap_or(name)
    }

    fn columns_of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a str> {
        let tables = self.tables.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(table));
        tables.flat_map(|(_, columns)| columns.iter().map(String::as_str))
    }
}

/// The names that begin like a word, in any case.
fn matching<'a>(names: impl IntoIterator<Item = &'a str>, word: &str) -> Vec<String> {
    let is_match = |name: &&str| name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let mut found: Vec<String> = names.into_iter().filter(is_match).map(str::to_owned).collect();
    found.sort();
    found.dedup();
    found
}

/// The names as SQL spells them: in quotes if they are no plain words.
fn spelled(names: Vec<String>) -> Vec<String> {
    let is_plain = |name: &str| {
        name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
            && !name.starts_with(|letter: char| letter.is_numeric())
    };
    let spell = |name: String| if is_plain(&name) { name } else { format!("\"{}\"", name.replace('"', "\"\"")) };
    names.into_iter().map(spell).collect()
}

/// Returns a keyword in lower case, if the word that it completes is in lower case.
fn in_case_of(word: &str, keyword: &str) -> String {
    if word.chars().any(char::is_lowercase) { keyword.to_lowercase() } else { keyword.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(before: &str) -> (usize, Vec<String>) {
        static FUNCTIONS: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
        let functions = || FUNCTIONS.get_or_init(|| vec!["sensible".to_owned(), "time_bucket".to_owned()]).as_slice();
        let table = |name: &str, columns: &[&str]| (name.to_owned(), columns.iter().map(|c| (*c).to_owned()).collect());
        let words =
            Words { tables: vec![table("readings", &["time", "sensor"]), table("stations", &["name", "PM2.5"])] };
        let whole = if before.contains("sta") { before.to_owned() } else { format!("{before} FROM readings") };
        words.complete(before, &whole, functions)
    }

    #[test]
    fn columns_are_completed_before_their_table_is_named_and_by_its_alias() {
        assert_eq!(complete("SELECT 'sta', na"), (14, vec!["name".to_owned()]));
        assert_eq!(
            complete("SELECT 'sta', tim"),
            (14, ["time", "timestamp", "time_bucket("].map(str::to_owned).to_vec())
        );
        assert_eq!(complete("SELECT * FROM stations AS s WHERE s.n"), (36, vec!["name".to_owned()]));
        assert_eq!(complete("SELECT * FROM stations s WHERE s.p"), (33, vec!["\"PM2.5\"".to_owned()]));
    }

    #[test]
    fn names_keywords_functions_and_commands_are_completed() {
        assert_eq!(complete("sel"), (0, vec!["select".to_owned()]));
        assert_eq!(complete("SELECT sen"), (7, vec!["sensor".to_owned(), "sensible(".to_owned()]));
        assert_eq!(complete("SELECT * FROM "), (14, vec!["readings".to_owned(), "stations".to_owned()]));
        assert_eq!(complete("SELECT * FROM St"), (14, vec!["stations".to_owned()]));
        assert_eq!(complete("SELECT * FROM read_p"), (14, vec!["read_parquet(".to_owned()]));
        assert_eq!(complete("SELECT * FROM read"), (14, vec!["readings".to_owned()]));
        assert_eq!(complete("SELECT * FROM gen").1, ["generate_series("]);
        assert_eq!(complete("CREATE MAT").1, ["MATCHED", "MATERIALIZED"]);
        assert_eq!(complete("SELECT stations.n"), (16, vec!["name".to_owned()]));
        assert_eq!(complete(".tab"), (0, vec![".tables".to_owned()]));
        assert_eq!(complete(".schema re"), (8, vec!["readings".to_owned()]));
        assert_eq!(complete("SELECT time_b").1, ["time_bucket("]);
        assert_eq!(complete("é").1, Vec::<String>::new());
    }
}
