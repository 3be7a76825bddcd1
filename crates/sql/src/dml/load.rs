//! `LOAD DATA INFILE`: the file, its format, and the columns that it is loaded into. Not owned: reading the file.

use atsdb_core::Result;
use atsdb_core::escapes::unescaped;
use atsdb_dialect::text::errors::{from_parser, not_supported};
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::TableName;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{IsOptional, Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// A `LOAD DATA`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) path: String,
    pub(crate) table: TableName,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) delimiter: u8,
    pub(crate) has_header: bool,
}

/// Parses MySQL's statement, which DataFusion's parser does not know.
pub(crate) fn load_data(text: &str, position: SourcePosition) -> Result<Load> {
    let parser = Parser::new(&GenericDialect).try_with_sql(text);
    let mut words = Words { parser: parser.map_err(|error| from_parser(error, position))?, position };
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
    let table = words.parser.parse_object_name(false).map_err(|error| from_parser(error, position))?;
    let mut load = Load { path, table: TableName::of(&table)?, columns: None, delimiter: b'\t', has_header: false };
    if words.take(&["CHARACTER", "SET"]) {
        words.parser.parse_identifier().map_err(|error| from_parser(error, position))?;
    }
    words.fields(&mut load)?;
    words.lines()?;
    if words.take(&["IGNORE"]) {
        load.has_header = match words.parser.parse_literal_uint().map_err(|error| from_parser(error, position))? {
            0 => false,
            1 => true,
            more => return Err(not_supported(format_args!("IGNORE {more} LINES")).with_hint("the maximum is 1")),
        };
        if !words.take(&["LINES"]) {
            words.expect(&["ROWS"])?;
        }
    }
    let columns = words.parser.parse_parenthesized_column_list(IsOptional::Optional, false);
    load.columns = names(&columns.map_err(|error| from_parser(error, position))?);
    match words.parser.next_token() {
        end if end.token == Token::EOF => Ok(load),
        other => {
            let message = format!("Expected: end of LOAD DATA, found: {}{}", other.token, other.span.start);
            Err(from_parser(ParserError::ParserError(message), position))
        }
    }
}

/// The words of a statement, one after the other.
struct Words<'a> {
    parser: Parser<'a>,
    position: SourcePosition,
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
        Err(from_parser(ParserError::ParserError(message), self.position))
    }

    /// A text in quotes. MySQL also accepts double quotes.
    fn text(&mut self) -> Result<String> {
        let token = self.parser.next_token();
        match token.token {
            Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => Ok(text),
            Token::Word(word) if word.quote_style == Some('"') => Ok(word.value),
            other => {
                let message = format!("Expected: a text, found: {other}{}", token.span.start);
                Err(from_parser(ParserError::ParserError(message), self.position))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Load> {
        load_data(text, SourcePosition::START)
    }

    #[test]
    fn files_are_named_in_the_words_of_mysql() {
        let plain = parsed("LOAD DATA INFILE \"/tmp/a.txt\" INTO TABLE t1").unwrap();
        assert_eq!((plain.path.as_str(), plain.table.name.as_str(), plain.delimiter), ("/tmp/a.txt", "t1", b'\t'));
        assert!(!plain.has_header && plain.columns.is_none());
        let all = parsed(
            "load data local infile 'a;b.csv' into table `t 1` character set utf8 fields terminated by ',' optionally \
             enclosed by '\"' lines terminated by '\\r\\n' ignore 1 lines (b, `a`)",
        )
        .unwrap();
        assert_eq!((all.table.name.as_str(), all.delimiter, all.has_header), ("t 1", b',', true));
        assert_eq!(all.columns.unwrap(), ["b", "a"]);
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
            ("LOAD DATA INFILE 'x' INTO TABLE t1 IGNORE 2 LINES", "the maximum is 1"),
            ("LOAD DATA INFILE 'x' INTO TABLE t1 (a) SET b = 1", "end of LOAD DATA"),
        ] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
