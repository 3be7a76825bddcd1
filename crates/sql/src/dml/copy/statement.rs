//! The statement `COPY`: what is copied, and from or to where.

use super::option_words::{names_up_to_parenthesis, quoted_text, read, unknown_format};
use super::options::{CopyFormat, CopyOptions, ParsedOptions, check_names};
use atsdb_dialect::text::statement_error::StatementError;
use atsdb_dialect::text::words::{Word, Words};

/// A parsed COPY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyStatement {
    /// The rows that are written, or the table that rows are read into.
    pub source: CopySource,
    /// Whether rows are read: `FROM`.
    pub is_in: bool,
    /// The source or the target of the bytes.
    pub target: CopyTarget,
    /// The options.
    pub options: CopyOptions,
    /// The format of a file that is none of PostgreSQL's.
    pub file_format: Option<&'static str>,
    /// Whether the statement gives an option of a format of PostgreSQL.
    pub has_options: bool,
    /// Whether an existing file may be replaced.
    pub may_replace: bool,
    /// The condition of the rows that are stored, as it is written.
    pub condition: Option<String>,
}

/// The relation that a COPY reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopySource {
    /// A table, and some of its columns.
    Table {
        /// The parts of its name: perhaps a schema, then the name.
        name: Vec<String>,
        /// The columns; an empty list means all.
        columns: Vec<String>,
    },
    /// The text of a query.
    Query(String),
}

/// The source of the bytes of a COPY, or their target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyTarget {
    /// The client: `STDIN` or `STDOUT`.
    Client,
    /// A file.
    File(String),
    /// A file whose path is the parameter `$name`.
    Parameter(String),
    /// The input or the output of a program.
    Program(String),
}

impl CopyStatement {
    /// Parses a statement that begins with `COPY`.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let mut words = Words::new(text);
        words.accept("copy");
        let mut parsed = ParsedOptions::default();
        let source = match words.accept_symbol('(') {
            true => CopySource::Query(query(&mut words)?),
            false => {
                let mut ahead = words.clone();
                // A table may have this name.
                if ahead.accept("binary")
                    && !matches!(ahead.peek(), Some(Word::Symbol(_)))
                    && !ahead.accept("from")
                    && !ahead.accept("to")
                {
                    words = ahead;
                    parsed.format = Some(CopyFormat::Binary);
                }
                table(&mut words)?
            }
        };
        let is_in = match words.next() {
            Some(Word::Name(name)) if name == "from" && matches!(source, CopySource::Table { .. }) => true,
            Some(Word::Name(name)) if name == "to" => false,
            other => return Err(words.unexpected(other)),
        };
        let target = target(&mut words)?;
        // A query never had the oldest form.
        if matches!(source, CopySource::Table { .. }) {
            parsed.delimiter = oldest_delimiter(&mut words)?;
        }
        read(&mut words, &mut parsed, is_in)?;
        let condition = words.accept("where").then(|| condition(&words));
        match condition {
            Some(_) if !is_in => return Err(StatementError::syntax("WHERE clause not allowed with COPY TO")),
            Some(_) => {}
            None => words.end()?,
        }
        let (has_options, may_replace) = (!parsed.is_empty(), parsed.overwrite.unwrap_or(false));
        let file_format = parsed.file_format;
        if let Some(format) = file_format {
            if !matches!(target, CopyTarget::File(_) | CopyTarget::Parameter(_)) {
                return Err(unknown_format(format));
            }
            if has_options {
                let message = format!("COPY format \"{format}\" takes no other option than OVERWRITE");
                return Err(StatementError::invalid_option(message));
            }
        }
        let options = parsed.options(is_in)?;
        Ok(Self { source, is_in, target, options, file_format, has_options, may_replace, condition })
    }

    /// Checks the columns of the statement. `all` are the columns of a table or query; the result are those that are
    /// copied, by position.
    pub fn positions(&self, all: &[&str]) -> Result<Vec<usize>, StatementError> {
        let (relation, columns) = match &self.source {
            CopySource::Table { name, columns } => (name.last().map(String::as_str), columns.as_slice()),
            CopySource::Query(_) => (None, [].as_slice()),
        };
        check_names(columns.iter().map(String::as_str), all, relation)?;
        let of_name = |name: &String| all.iter().position(|column| atsdb_core::name::same_name(column, name));
        let positions: Vec<usize> = match columns {
            [] => (0..all.len()).collect(),
            names => names.iter().filter_map(of_name).collect(),
        };
        let copied: Vec<&str> = positions.iter().map(|position| all[*position]).collect();
        self.options.check_columns(&copied, all, relation)?;
        Ok(positions)
    }
}

fn table(words: &mut Words<'_>) -> Result<CopySource, StatementError> {
    let mut name = vec![words.name()?];
    while words.accept_symbol('.') {
        name.push(words.name()?);
    }
    let columns = if words.accept_symbol('(') { names_up_to_parenthesis(words)? } else { Vec::new() };
    Ok(CopySource::Table { name, columns })
}

/// The delimiter in PostgreSQL's oldest form, `USING DELIMITERS 'text'`, if the next words are that.
fn oldest_delimiter(words: &mut Words<'_>) -> Result<Option<String>, StatementError> {
    let has_using = words.accept("using");
    if words.accept("delimiters") {
        return quoted_text(words, false).map(Some);
    }
    if has_using {
        let next = words.next();
        return Err(words.unexpected(next));
    }
    Ok(None)
}

fn target(words: &mut Words<'_>) -> Result<CopyTarget, StatementError> {
    match words.next() {
        Some(Word::Name(name)) if ["stdin", "stdout"].contains(&name.as_str()) => Ok(CopyTarget::Client),
        Some(Word::Name(name)) if name == "program" => quoted_text(words, false).map(CopyTarget::Program),
        Some(Word::Text(path)) => Ok(CopyTarget::File(path)),
        Some(Word::Number(number)) if number.len() > 1 && number.starts_with('$') => {
            Ok(CopyTarget::Parameter(number[1..].to_owned()))
        }
        other => Err(words.unexpected(other)),
    }
}

/// The text up to the closing parenthesis that matches the one before it.
fn query(words: &mut Words<'_>) -> Result<String, StatementError> {
    let (text, mut depth) = (words.rest(), 1);
    loop {
        let length = text.len() - words.rest().len();
        match words.next() {
            Some(Word::Symbol('(')) => depth += 1,
            Some(Word::Symbol(')')) => {
                depth -= 1;
                if depth == 0 {
                    return Ok(text[..length].trim().to_owned());
                }
            }
            None => return Err(words.unexpected(None)),
            Some(_) => {}
        }
    }
}

/// The text of the condition: everything up to the end, without a semicolon.
fn condition(words: &Words<'_>) -> String {
    let text = words.rest().trim_end();
    text.strip_suffix(';').unwrap_or(text).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::options::{CopyColumns, CopyHeader};
    use super::*;

    fn parsed(text: &str) -> CopyStatement {
        CopyStatement::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
    }

    #[test]
    fn the_forms_of_copy_are_read() {
        let copy = parsed("COPY public.\"T x\" (a, \"B\") FROM STDIN WITH (FORMAT csv, HEADER true, NULL 'x')");
        let columns = vec!["a".to_owned(), "B".to_owned()];
        assert_eq!(copy.source, CopySource::Table { name: vec!["public".to_owned(), "T x".to_owned()], columns });
        assert!(copy.is_in && copy.has_options && copy.target == CopyTarget::Client);
        assert_eq!((copy.options.format, copy.options.header), (CopyFormat::Csv, CopyHeader::Names));
        assert_eq!((copy.options.null.as_str(), copy.options.delimiter), ("x", b','));
        let copy = parsed("copy (select ')', f(1) from (values (1)) v) to stdout binary;");
        assert_eq!(copy.source, CopySource::Query("select ')', f(1) from (values (1)) v".to_owned()));
        assert_eq!((copy.is_in, copy.options.format), (false, CopyFormat::Binary));
        let copy = parsed("COPY t FROM stdin DELIMITER AS '|' NULL AS '' CSV HEADER FORCE NOT NULL a, b FORCE NULL c");
        assert_eq!((copy.options.delimiter, copy.options.header), (b'|', CopyHeader::Names));
        assert_eq!(copy.options.force_not_null, ["a", "b"]);
        let copy = parsed("COPY BINARY t FROM STDIN");
        assert_eq!(copy.options.format, CopyFormat::Binary);
        assert_eq!(parsed("COPY binary FROM STDIN").options.format, CopyFormat::Text);
        assert_eq!(parsed("COPY t FROM STDIN USING DELIMITERS ';'").options.delimiter, b';');
        assert_eq!(parsed("COPY t TO STDOUT (FORMAT CSV, FORCE_QUOTE *)").options.force_quote, CopyColumns::All);
        let copy = parsed("COPY t FROM 'x' (HEADER match) WHERE a > ';' AND (b OR c);");
        assert_eq!(copy.condition.as_deref(), Some("a > ';' AND (b OR c)"));
        assert_eq!((copy.target, copy.options.header), (CopyTarget::File("x".to_owned()), CopyHeader::Match));
        assert_eq!(parsed("COPY t FROM STDIN CSV WHERE a > 1").condition.as_deref(), Some("a > 1"));
        let copy = parsed("COPY t TO 'x.csv' WITH (OVERWRITE)");
        assert!(copy.may_replace && !copy.has_options);
        assert_eq!(parsed("COPY t TO $file").target, CopyTarget::Parameter("file".to_owned()));
        let copy = parsed("COPY t TO 'x' (FORMAT Parquet, OVERWRITE)");
        assert_eq!((copy.file_format, copy.has_options, copy.may_replace), (Some("parquet"), false, true));
        assert_eq!(parsed("COPY t FROM 'x' (FORMAT 'ndjson') WHERE a > 1").file_format, Some("ndjson"));
    }

    #[test]
    fn wrong_forms_have_postgresqls_messages() {
        for (text, code, message) in [
            ("COPY", "42601", "syntax error at end of input"),
            ("COPY t FROM", "42601", "syntax error at end of input"),
            ("COPY (SELECT 1) FROM STDIN", "42601", "syntax error at or near \"FROM\""),
            ("COPY (SELECT 1 TO STDOUT", "42601", "syntax error at end of input"),
            ("COPY t FROM STDIN (FORMAT xml)", "22023", "COPY format \"xml\" not recognized"),
            ("COPY t TO STDOUT (FORMAT parquet)", "22023", "COPY format \"parquet\" not recognized"),
            (
                "COPY t TO 'x' (FORMAT parquet, HEADER)",
                "22023",
                "COPY format \"parquet\" takes no other option than OVERWRITE",
            ),
            ("COPY t FROM STDIN (SIZE 1)", "42601", "option \"size\" not recognized"),
            ("COPY (SELECT 1) TO STDOUT USING DELIMITERS '|'", "42601", "syntax error at or near \"USING\""),
            ("COPY (SELECT 1) TO STDOUT DELIMITERS '|'", "42601", "syntax error at or near \"DELIMITERS\""),
            ("COPY t TO STDOUT WHERE a", "42601", "WHERE clause not allowed with COPY TO"),
            ("COPY t TO STDOUT (HEADER match)", "0A000", "cannot use \"match\" with HEADER in COPY TO"),
        ] {
            let error = CopyStatement::parse(text).unwrap_err();
            assert_eq!((error.sqlstate, error.message.as_str()), (code, message), "{text}");
        }
    }
}
