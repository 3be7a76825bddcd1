//! `LOAD DATA INFILE` and `COPY ... FROM`: the file, its format, and the columns that it is loaded into. Not owned:
//! reading the file.

use crate::dml::files::FileLayout;
use crate::parse::statement::parse_declaring;
use crate::text::errors::{from_parser, not_supported, sql_error};
use crate::text::params::Parameters;
use crate::text::source_position::SourcePosition;
use crate::text::table_names::table_name;
use atsdb_core::escapes::unescaped;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    CopyLegacyCsvOption, CopyLegacyOption, CopyOption, CopySource, CopyTarget, Ident, Statement as Ast,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{IsOptional, Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// A statement that reads a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) verb: &'static str,
    pub(crate) path: String,
    pub(crate) table: String,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) layout: FileLayout,
    pub(crate) delimiter: u8,
    pub(crate) has_header: bool,
    pub(crate) null: Vec<String>,
}

impl Load {
    /// Parses `LOAD DATA ...` or `COPY ... FROM ...`.
    pub(crate) fn parse(text: &str, place: SourcePosition, parameters: &Parameters) -> Result<Self> {
        if text.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("LOAD")) {
            return load_data(text, place);
        }
        match parse_declaring(text, place, parameters)? {
            Ast::Copy { source, to: false, target, options, legacy_options, .. } => {
                copy_from(&source, &target, &options, &legacy_options)
            }
            _ => Err(not_supported("COPY ... TO").with_hint("use `atsdb export`")),
        }
    }
}

/// Parses MySQL's statement, which DataFusion's parser does not know.
fn load_data(text: &str, place: SourcePosition) -> Result<Load> {
    let parser = Parser::new(&GenericDialect).try_with_sql(text);
    let mut words = Words { parser: parser.map_err(|error| from_parser(error, place))?, place };
    words.expect(&["LOAD", "DATA"])?;
    for ignored in ["LOW_PRIORITY", "CONCURRENT", "LOCAL"] {
        words.take(&[ignored]);
    }
    words.expect(&["INFILE"])?;
    let path = words.text()?;
    if words.take(&["REPLACE"]) || words.take(&["IGNORE"]) {
        return Err(not_supported("REPLACE or IGNORE in LOAD DATA")
            .with_hint("declare how equal keys are handled: WITH (on_conflict = 'replace')"));
    }
    words.expect(&["INTO", "TABLE"])?;
    let table = words.parser.parse_object_name(false).map_err(|error| from_parser(error, place))?;
    let mut load = Load {
        verb: "LOAD DATA",
        path,
        table: table_name(&table)?,
        columns: None,
        layout: FileLayout::Separated,
        delimiter: b'\t',
        has_header: false,
        null: Vec::new(),
    };
    if words.take(&["CHARACTER", "SET"]) {
        words.parser.parse_identifier().map_err(|error| from_parser(error, place))?;
    }
    words.fields(&mut load)?;
    words.lines()?;
    if words.take(&["IGNORE"]) {
        load.has_header = match words.parser.parse_literal_uint().map_err(|error| from_parser(error, place))? {
            0 => false,
            1 => true,
            more => return Err(not_supported(format_args!("IGNORE {more} LINES")).with_hint("the most is 1")),
        };
        if !words.take(&["LINES"]) {
            words.expect(&["ROWS"])?;
        }
    }
    let columns = words.parser.parse_parenthesized_column_list(IsOptional::Optional, false);
    load.columns = names(&columns.map_err(|error| from_parser(error, place))?);
    match words.parser.next_token() {
        end if end.token == Token::EOF => Ok(load),
        other => {
            let message = format!("Expected: end of LOAD DATA, found: {}{}", other.token, other.span.start);
            Err(from_parser(ParserError::ParserError(message), place))
        }
    }
}

/// The words of a statement, one after the other.
struct Words<'a> {
    parser: Parser<'a>,
    place: SourcePosition,
}

impl Words<'_> {
    fn take(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(position, word)| {
            let token = self.parser.peek_nth_token_ref(position);
            matches!(&token.token, Token::Word(found) if found.value.eq_ignore_ascii_case(word))
        });
        if found {
            words.iter().for_each(|_| drop(self.parser.next_token()));
        }
        found
    }

    fn expect(&mut self, words: &[&str]) -> Result<()> {
        if self.take(words) {
            return Ok(());
        }
        let found = self.parser.peek_token_ref();
        let message = format!("Expected: {}, found: {}{}", words.join(" "), found.token, found.span.start);
        Err(from_parser(ParserError::ParserError(message), self.place))
    }

    /// A text in quotes. MySQL also accepts double quotes.
    fn text(&mut self) -> Result<String> {
        let token = self.parser.next_token();
        match token.token {
            Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => Ok(text),
            Token::Word(word) if word.quote_style == Some('"') => Ok(word.value),
            other => {
                let message = format!("Expected: a text, found: {other}{}", token.span.start);
                Err(from_parser(ParserError::ParserError(message), self.place))
            }
        }
    }

    fn fields(&mut self, load: &mut Load) -> Result<()> {
        if !self.take(&["FIELDS"]) && !self.take(&["COLUMNS"]) {
            return Ok(());
        }
        loop {
            if self.take(&["TERMINATED", "BY"]) {
                load.delimiter = one_byte("FIELDS TERMINATED BY", &unescaped(&self.text()?))?;
            } else if self.take(&["OPTIONALLY", "ENCLOSED", "BY"]) || self.take(&["ENCLOSED", "BY"]) {
                only("ENCLOSED BY", &self.text()?, &["\"", ""])?;
            } else if self.take(&["ESCAPED", "BY"]) {
                only("ESCAPED BY", &self.text()?, &["\"", ""])?;
            } else {
                return Ok(());
            }
        }
    }

    fn lines(&mut self) -> Result<()> {
        if self.take(&["LINES"]) {
            self.expect(&["TERMINATED", "BY"])?;
            only("LINES TERMINATED BY", &unescaped(&self.text()?), &["\n", "\r\n"])?;
        }
        Ok(())
    }
}

fn one_byte(what: &str, text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err(not_supported(format_args!("{what} '{}'", text.escape_debug())).with_hint("give one character")),
    }
}

fn only(what: &str, text: &str, known: &[&str]) -> Result<()> {
    match known.contains(&text) {
        true => Ok(()),
        false => Err(not_supported(format_args!("{what} '{}'", text.escape_debug())).with_hint("leave it out")),
    }
}

fn names(columns: &[Ident]) -> Option<Vec<String>> {
    (!columns.is_empty()).then(|| columns.iter().map(|column| column.value.clone()).collect())
}

fn copy_from(
    source: &CopySource,
    target: &CopyTarget,
    options: &[CopyOption],
    legacy_options: &[CopyLegacyOption],
) -> Result<Load> {
    let CopySource::Table { table_name: table, columns } = source else {
        return Err(sql_error("COPY ... FROM takes a table"));
    };
    let CopyTarget::File { filename } = target else {
        return Err(not_supported(format_args!("COPY ... FROM {target}")).with_hint("name a file"));
    };
    let mut copy = Copy::default();
    let is_plain = options.is_empty() && legacy_options.is_empty();
    let layout = |copy: &Copy| match () {
        // The format that `COPY ... TO` writes.
        () if is_plain && has_known_ending(filename) => FileLayout::Detected,
        () if copy.is_csv || copy.delimiter.is_some() || copy.has_header => FileLayout::Separated,
        () => FileLayout::Text,
    };
    options.iter().try_for_each(|option| copy.option(option))?;
    legacy_options.iter().try_for_each(|option| copy.legacy_option(option))?;
    Ok(Load {
        verb: "COPY",
        path: filename.clone(),
        table: table_name(table)?,
        columns: names(columns),
        layout: layout(&copy),
        delimiter: copy.delimiter.unwrap_or(if copy.is_csv { b',' } else { b'\t' }),
        has_header: copy.has_header,
        null: copy.null,
    })
}

/// Whether a file's extension names a format, as for `COPY ... TO`.
fn has_known_ending(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    [".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet"].iter().any(|ending| name.ends_with(ending))
}

#[derive(Default)]
struct Copy {
    is_csv: bool,
    delimiter: Option<u8>,
    has_header: bool,
    null: Vec<String>,
}

impl Copy {
    fn option(&mut self, option: &CopyOption) -> Result<()> {
        match option {
            CopyOption::Format(format) => {
                self.is_csv = match format.value.to_ascii_lowercase().as_str() {
                    "csv" => true,
                    "text" => false,
                    _ => return Err(unknown(option)),
                }
            }
            CopyOption::Delimiter(character) => self.delimiter = Some(one_byte("DELIMITER", &character.to_string())?),
            CopyOption::Null(text) => self.null.push(text.clone()),
            CopyOption::Header(header) => self.has_header = *header,
            CopyOption::Quote('"') | CopyOption::Escape('"') | CopyOption::Freeze(_) => {}
            CopyOption::Encoding(name) if name.to_ascii_lowercase().replace('-', "") == "utf8" => {}
            other => return Err(unknown(other)),
        }
        Ok(())
    }

    fn legacy_option(&mut self, option: &CopyLegacyOption) -> Result<()> {
        match option {
            CopyLegacyOption::Csv(options) => {
                self.is_csv = true;
                for option in options {
                    match option {
                        CopyLegacyCsvOption::Header => self.has_header = true,
                        CopyLegacyCsvOption::Quote('"') | CopyLegacyCsvOption::Escape('"') => {}
                        other => return Err(unknown(other)),
                    }
                }
            }
            CopyLegacyOption::Header => self.has_header = true,
            CopyLegacyOption::Delimiter(character) => {
                self.delimiter = Some(one_byte("DELIMITER", &character.to_string())?);
            }
            CopyLegacyOption::Null(text) => self.null.push(text.clone()),
            other => return Err(unknown(other)),
        }
        Ok(())
    }
}

fn unknown(option: &impl std::fmt::Display) -> Error {
    not_supported(format_args!("COPY with {option}"))
        .with_hint("there are FORMAT csv or text, HEADER, DELIMITER and NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Load> {
        Load::parse(text, SourcePosition::START, &Parameters::none())
    }

    #[test]
    fn files_are_named_in_the_words_of_mysql_and_postgresql() {
        let plain = parsed("LOAD DATA INFILE \"/tmp/a.txt\" INTO TABLE t1").unwrap();
        assert_eq!((plain.path.as_str(), plain.table.as_str(), plain.delimiter), ("/tmp/a.txt", "t1", b'\t'));
        assert!(!plain.has_header && plain.columns.is_none());
        let all = parsed(
            "load data local infile 'a;b.csv' into table `t 1` character set utf8 fields terminated by ',' optionally \
             enclosed by '\"' lines terminated by '\\r\\n' ignore 1 lines (b, `a`)",
        )
        .unwrap();
        assert_eq!((all.table.as_str(), all.delimiter, all.has_header), ("t 1", b',', true));
        assert_eq!(all.columns.unwrap(), ["b", "a"]);
        let copy = parsed("COPY t1 (b, a) FROM 'x' WITH (FORMAT csv, HEADER true, DELIMITER ';', NULL '-')").unwrap();
        assert_eq!((copy.delimiter, copy.has_header, copy.null), (b';', true, vec!["-".to_owned()]));
        let copy = parsed("copy t1 from 'x' csv header").unwrap();
        assert_eq!((copy.delimiter, copy.has_header), (b',', true));
        let text = parsed("COPY t1 FROM 'x'").unwrap();
        assert_eq!((text.delimiter, text.layout), (b'\t', FileLayout::Text));
        assert_eq!(parsed("COPY t1 FROM 'x.csv.gz'").unwrap().layout, FileLayout::Detected);
        assert_eq!(parsed("COPY t1 FROM 'x.csv' WITH (HEADER)").unwrap().layout, FileLayout::Separated);
    }

    #[test]
    fn what_is_not_honoured_is_refused() {
        for (text, wanted) in [
            ("LOAD DATA INFILE t1", "Expected: a text"),
            ("LOAD DATA INFILE 'x' REPLACE INTO TABLE t1", "on_conflict"),
            ("LOAD DATA INFILE 'x' INTO TABLE t1 FIELDS TERMINATED BY '::'", "one character"),
            // A backslash and a t, not a backslash and a tab.
            ("LOAD DATA INFILE 'x' INTO TABLE t1 FIELDS TERMINATED BY '\\\\t'", "TERMINATED BY '\\\\t'"),
            ("LOAD DATA INFILE 'x' INTO TABLE t1 FIELDS ENCLOSED BY ''''", "ENCLOSED BY"),
            ("LOAD DATA INFILE 'x' INTO TABLE t1 IGNORE 2 LINES", "the most is 1"),
            ("LOAD DATA INFILE 'x' INTO TABLE t1 (a) SET b = 1", "end of LOAD DATA"),
            ("COPY t1 TO 'x'", "COPY ... TO"),
            ("COPY t1 FROM 'x' WITH (FORMAT binary)", "FORMAT binary"),
            ("COPY t1 FROM PROGRAM 'rm'", "name a file"),
        ] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
