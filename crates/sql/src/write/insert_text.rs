//! Reads `INSERT INTO table (columns) VALUES (literals), ...` directly from its text, row by row, without a syntax tree
//! or plan. Any other statement is "not plain" and is parsed as usual.

use crate::dml::conflict::OnDuplicate;
use atsdb_core::{ConflictPolicy, Result, hex};
use atsdb_dialect::text::literal::Literal;
use atsdb_dialect::text::params::{Parameters, bound, is_number};
use atsdb_dialect::text::table_names::TableName;
use std::borrow::Cow;

/// The next item in the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TextItem {
    Row,
    End,
    /// Text that only the parser can read.
    NotPlain,
}

/// Reads the rows of one statement.
#[derive(Debug)]
pub(crate) struct InsertText<'a> {
    reader: Reader<'a>,
    parameters: &'a Parameters,
    pub(crate) table: TableName,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) on_duplicate: OnDuplicate,
    has_rows: bool,
}

impl<'a> InsertText<'a> {
    /// Reads up to and including `VALUES`; `None` if the text is not plain.
    pub(crate) fn begin(text: &'a str, parameters: &'a Parameters) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        let on_duplicate = reader.opening()?;
        let mut table = TableName::unsaid(&reader.name()?);
        if reader.take(b'.') {
            table = TableName::of_parts(Some(&table.name), &reader.name()?);
        }
        let columns = if reader.take(b'(') { Some(reader.names()?) } else { None };
        if !reader.keyword("VALUES") && !reader.keyword("VALUE") {
            return None;
        }
        Some(Self { reader, parameters, table, columns, on_duplicate, has_rows: false })
    }

    /// Continues in a statement that has been read up to and including `VALUES`.
    pub(crate) fn resume(text: &'a str, at: usize, parameters: &'a Parameters) -> Self {
        let (reader, on_duplicate) = (Reader { text, at }, OnDuplicate::default());
        Self { reader, parameters, table: TableName::unsaid(""), columns: None, on_duplicate, has_rows: false }
    }

    /// The number of bytes read so far.
    pub(crate) fn bytes_read(&self) -> usize {
        self.reader.at
    }

    /// Reads one row into `row`, which is cleared first.
    pub(crate) fn next(&mut self, row: &mut Vec<Literal<'a>>) -> Result<TextItem> {
        row.clear();
        let reader = &mut self.reader;
        if self.has_rows && !reader.take(b',') {
            return Ok(if reader.is_at_end() { TextItem::End } else { TextItem::NotPlain });
        }
        if !reader.take(b'(') {
            return Ok(TextItem::NotPlain);
        }
        self.has_rows = true;
        loop {
            match reader.literal(self.parameters)? {
                Some(literal) => row.push(literal),
                None => return Ok(TextItem::NotPlain),
            }
            if reader.take(b')') {
                return Ok(TextItem::Row);
            }
            if !reader.take(b',') {
                return Ok(TextItem::NotPlain);
            }
        }
    }
}

#[derive(Debug)]
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(b'-') if self.rest().starts_with("--") => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_space();
        self.peek().is_none()
    }

    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// A word of letters, digits and underscores.
    fn word(&self) -> &'a str {
        let rest = self.rest();
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
        &rest[..rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len())]
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        self.skip_space();
        let found = self.word().eq_ignore_ascii_case(keyword);
        self.at += if found { keyword.len() } else { 0 };
        found
    }

    /// Reads up to and including `INTO`, and returns the clause for rows whose key exists.
    fn opening(&mut self) -> Option<OnDuplicate> {
        let by_word = match self.keyword("REPLACE") {
            true => ConflictPolicy::Replace.into(),
            false if !self.keyword("INSERT") => return None,
            false if self.keyword("IGNORE") => ConflictPolicy::Keep.into(),
            false if self.keyword("OR") => {
                let words = [
                    ("REPLACE", ConflictPolicy::Replace),
                    ("IGNORE", ConflictPolicy::Keep),
                    ("ABORT", ConflictPolicy::Error),
                    ("FAIL", ConflictPolicy::Error),
                    ("ROLLBACK", ConflictPolicy::Error),
                ];
                words.into_iter().find(|(word, _)| self.keyword(word))?.1.into()
            }
            false => OnDuplicate::default(),
        };
        self.keyword("INTO").then_some(by_word)
    }

    fn name(&mut self) -> Option<String> {
        self.skip_space();
        match self.peek()? {
            quote @ (b'"' | b'`') => self.quoted(quote).map(Cow::into_owned),
            b'0'..=b'9' | b'$' => None,
            _ => {
                let word = self.word();
                self.at += word.len();
                (!word.is_empty()).then(|| word.to_owned())
            }
        }
    }

    fn names(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.take(b',') {
            names.push(self.name()?);
        }
        self.take(b')').then_some(names)
    }

    /// The text between two quotes, in which a doubled quote is one quote.
    fn quoted(&mut self, quote: u8) -> Option<Cow<'a, str>> {
        let start = self.at + 1;
        let mut doubled = false;
        let mut at = start;
        loop {
            at += self.text.as_bytes()[at..].iter().position(|byte| *byte == quote)?;
            if self.text.as_bytes().get(at + 1) != Some(&quote) {
                break;
            }
            doubled = true;
            at += 2;
        }
        self.at = at + 1;
        let inner = &self.text[start..at];
        let quote = char::from(quote);
        Some(if doubled { inner.replace(&format!("{quote}{quote}"), &quote.to_string()).into() } else { inner.into() })
    }

    fn literal(&mut self, parameters: &'a Parameters) -> Result<Option<Literal<'a>>> {
        self.skip_space();
        Ok(match self.peek() {
            Some(b'\'') => self.quoted(b'\'').map(Literal::Text),
            Some(b'0'..=b'9' | b'.' | b'-' | b'+') => self.number().map(Literal::Number),
            Some(b'$') => return self.parameter(parameters),
            Some(_) => {
                let word = self.word();
                self.at += word.len();
                let is = |keyword: &&str| word.eq_ignore_ascii_case(keyword);
                match word {
                    _ if is(&"NULL") => Some(Literal::Null),
                    _ if is(&"TRUE") => Some(Literal::Bool(true)),
                    _ if is(&"FALSE") => Some(Literal::Bool(false)),
                    _ if is(&"X") && self.peek() == Some(b'\'') => {
                        self.quoted(b'\'').and_then(|digits| hex::decode(&digits)).map(Literal::Bytes)
                    }
                    _ if ["TIMESTAMP", "TIMESTAMPTZ", "DATETIME", "DATE"].iter().any(is) => {
                        self.skip_space();
                        let begins = self.peek() == Some(b'\'');
                        // A word, as in `DATE 'today'`, depends on the time of the statement.
                        let is_word = |text: &str| text.trim_start().starts_with(|first: char| first.is_alphabetic());
                        let text = if begins { self.quoted(b'\'') } else { None };
                        text.filter(|text| !is_word(text)).map(Literal::Text)
                    }
                    _ => None,
                }
            }
            None => None,
        })
    }

    fn number(&mut self) -> Option<Cow<'a, str>> {
        let negative = self.peek() == Some(b'-');
        if negative || self.peek() == Some(b'+') {
            self.at += 1;
            // This would be two signs, or a comment.
            if matches!(self.peek(), Some(b'-' | b'+')) {
                return None;
            }
            self.skip_space();
        }
        let start = self.at;
        let integer = self.digits();
        let fraction = if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()
        } else {
            0
        };
        if integer + fraction == 0 {
            return None;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'-' | b'+')));
            if self.digits() == 0 {
                return None;
            }
        }
        if !self.word().is_empty() {
            return None;
        }
        let digits = &self.text[start..self.at];
        let signed = start > 0 && self.text.as_bytes()[start - 1] == b'-';
        Some(match (negative, signed) {
            (false, _) => digits.into(),
            (true, true) => self.text[start - 1..self.at].into(),
            (true, false) => format!("-{digits}").into(),
        })
    }

    fn digits(&mut self) -> usize {
        let count = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        count
    }

    fn parameter(&mut self, parameters: &'a Parameters) -> Result<Option<Literal<'a>>> {
        self.at += 1;
        let name = self.word();
        self.at += name.len();
        if name.is_empty() || name.contains('$') {
            return Ok(None);
        }
        let texts = match parameters {
            Parameters::Texts(texts) => texts,
            Parameters::Values(values) => {
                let at = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                return Ok(at.and_then(|at| values.get(at)).map(Literal::of_value));
            }
            Parameters::Types(_) => return Ok(None),
        };
        let text = bound(name, texts)?;
        Ok(Some(if is_number(text) { Literal::Parameter(text.into()) } else { Literal::Text(text.into()) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Option<Vec<Vec<Literal<'static>>>> {
        let text: &'static str = text.to_owned().leak();
        let mut insert = InsertText::begin(text, Box::leak(Box::new(Parameters::none())))?;
        let (mut rows, mut row) = (Vec::new(), Vec::new());
        loop {
            match insert.next(&mut row).unwrap() {
                TextItem::Row => rows.push(row.clone()),
                TextItem::End => return Some(rows),
                TextItem::NotPlain => return None,
            }
        }
    }

    #[test]
    fn literals_are_read_as_they_are_written() {
        let found = rows(
            "insert into \"T\"\"x\" (a, `b c`) values\n (1, -2.5e3), (NULL,'it''s; \u{e9}') , (X'00ff' , true),(- 7, DATE '2024-01-01')",
        );
        let number = |text: &'static str| Literal::Number(text.into());
        let text = |text: &'static str| Literal::Text(text.into());
        let expected = vec![
            vec![number("1"), number("-2.5e3")],
            vec![Literal::Null, text("it's; \u{e9}")],
            vec![Literal::Bytes(vec![0, 255]), Literal::Bool(true)],
            vec![number("-7"), text("2024-01-01")],
        ];
        assert_eq!(found, Some(expected));
        let parameters = Parameters::none();
        let insert = InsertText::begin("INSERT INTO main.t (a, \"B\"\"\") VALUES (1)", &parameters).unwrap();
        let table = TableName::of_parts(Some("public"), "t");
        assert_eq!((insert.table, insert.columns.unwrap()), (table, vec!["a".to_owned(), "B\"".to_owned()]));
    }

    #[test]
    fn what_is_no_literal_is_left_to_the_parser() {
        for value in
            ["1 + 1", "now()", "- -1", "E'a'", "(1)", "1e", "1x", "CAST(1 AS INT)", "x'0'", "'a' || 'b'", "DEFAULT", ""]
                .into_iter()
                .chain(["DATE 'today'", "TIMESTAMP ' now'"])
        {
            assert_eq!(rows(&format!("INSERT INTO t VALUES ({value})")), None, "{value}");
        }
        for statement in ["INSERT INTO t SELECT 1", "INSERT INTO t VALUES (1) RETURNING a"] {
            assert_eq!(rows(statement), None, "{statement}");
        }
    }
}
