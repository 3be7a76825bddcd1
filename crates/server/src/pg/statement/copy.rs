//! `COPY ... FROM STDIN` and `COPY ... TO STDOUT`.

use super::words::{Word, Words};
use crate::pg::error::PgError;

/// A parsed COPY statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) struct Copy {
    pub(in crate::pg) what: CopyWhat,
    pub(in crate::pg) is_in: bool,
    pub(in crate::pg) options: CopyOptions,
}

/// The table or query that is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) enum CopyWhat {
    /// A table, and some of its columns; an empty list means all.
    Table {
        name: String,
        columns: Vec<String>,
    },
    Query(String),
}

/// The format of the rows, and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) struct CopyOptions {
    pub(in crate::pg) format: CopyFormat,
    pub(in crate::pg) delimiter: u8,
    pub(in crate::pg) null: String,
    pub(in crate::pg) has_header: bool,
    pub(in crate::pg) quote: u8,
    pub(in crate::pg) escape: u8,
}

/// The formats of COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) enum CopyFormat {
    Text,
    Csv,
    Binary,
}

impl Copy {
    /// Parses the text after `COPY`. Files and programs are refused.
    pub(in crate::pg) fn read(text: &str) -> Result<Self, PgError> {
        let mut words = Words::new(text);
        words.accept("copy");
        let what = match words.accept_symbol('(') {
            true => CopyWhat::Query(query(&mut words)?),
            false => table(&mut words)?,
        };
        let is_in = match words.next() {
            Some(Word::Name(name)) if name == "from" => true,
            Some(Word::Name(name)) if name == "to" => false,
            other => return Err(words.unexpected(other)),
        };
        match (words.next(), is_in) {
            (Some(Word::Name(name)), true) if name == "stdin" => {}
            (Some(Word::Name(name)), false) if name == "stdout" => {}
            (Some(Word::Text(_)), _) => return Err(PgError::no_files()),
            (Some(Word::Name(name)), _) if name == "program" => return Err(PgError::no_files()),
            (other, _) => return Err(words.unexpected(other)),
        }
        if is_in && matches!(what, CopyWhat::Query(_)) {
            return Err(PgError::syntax("syntax error at or near \"FROM\": COPY FROM takes a table"));
        }
        let options = options(words)?;
        Ok(Self { what, is_in, options })
    }
}

fn table(words: &mut Words<'_>) -> Result<CopyWhat, PgError> {
    let mut name = words.name()?;
    while words.accept_symbol('.') {
        // There is only one schema.
        name = words.name()?;
    }
    let mut columns = Vec::new();
    if words.accept_symbol('(') {
        loop {
            columns.push(words.name()?);
            match words.next() {
                Some(Word::Symbol(',')) => {}
                Some(Word::Symbol(')')) => break,
                other => return Err(words.unexpected(other)),
            }
        }
    }
    Ok(CopyWhat::Table { name, columns })
}

/// The text up to the closing parenthesis that matches the one before it.
fn query(words: &mut Words<'_>) -> Result<String, PgError> {
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

fn options(mut words: Words<'_>) -> Result<CopyOptions, PgError> {
    let mut given = CopyOptionTexts::default();
    words.accept("with");
    if words.accept_symbol('(') {
        loop {
            let name = words.name()?;
            given.take(&name, &mut words)?;
            match words.next() {
                Some(Word::Symbol(',')) => {}
                Some(Word::Symbol(')')) => break,
                other => return Err(words.unexpected(other)),
            }
        }
    } else {
        // The older form, without parentheses and commas.
        while let Some(Word::Name(name)) = words.peek() {
            words.next();
            words.accept("as");
            given.take(&name, &mut words)?;
        }
    }
    words.end()?;
    given.options()
}

#[derive(Default)]
struct CopyOptionTexts {
    format: Option<CopyFormat>,
    delimiter: Option<String>,
    null: Option<String>,
    has_header: bool,
    quote: Option<String>,
    escape: Option<String>,
}

impl CopyOptionTexts {
    fn take(&mut self, name: &str, words: &mut Words<'_>) -> Result<(), PgError> {
        let text = |words: &mut Words<'_>| match words.next() {
            Some(Word::Text(text) | Word::Name(text) | Word::Quoted(text)) => Ok(text),
            other => Err(words.unexpected(other)),
        };
        match name {
            "format" => self.format = Some(format(&text(words)?)?),
            "csv" => self.format = Some(CopyFormat::Csv),
            "binary" => self.format = Some(CopyFormat::Binary),
            "delimiter" => self.delimiter = Some(text(words)?),
            "null" => self.null = Some(text(words)?),
            "quote" => self.quote = Some(text(words)?),
            "escape" => self.escape = Some(text(words)?),
            "header" => {
                self.has_header = match words.peek() {
                    Some(Word::Name(value) | Word::Text(value))
                        if !["csv", "binary", "null"].contains(&value.as_str()) =>
                    {
                        words.next();
                        header(&value)?
                    }
                    Some(Word::Number(value)) => {
                        words.next();
                        header(&value)?
                    }
                    _ => true,
                }
            }
            "freeze" => {
                if matches!(words.peek(), Some(Word::Name(_))) {
                    words.next();
                }
            }
            "encoding" => {
                let encoding = text(words)?.to_ascii_lowercase();
                if !["utf8", "utf-8", "unicode"].contains(&encoding.as_str()) {
                    return Err(PgError::not_supported(format_args!("COPY in the encoding {encoding}")));
                }
            }
            other => return Err(PgError::not_supported(format_args!("the COPY option {other}"))),
        }
        Ok(())
    }

    fn options(self) -> Result<CopyOptions, PgError> {
        let format = self.format.unwrap_or(CopyFormat::Text);
        let byte = |name: &str, text: Option<String>, otherwise: u8| match text.as_deref().map(str::as_bytes) {
            None => Ok(otherwise),
            Some([byte]) if !matches!(byte, b'\r' | b'\n') => Ok(*byte),
            Some(_) => Err(PgError::error("22023", format!("COPY {name} must be a single one-byte character"))),
        };
        let is_csv = format == CopyFormat::Csv;
        if format == CopyFormat::Binary && (self.delimiter.is_some() || self.null.is_some() || self.has_header) {
            return Err(PgError::syntax("cannot specify DELIMITER, NULL or HEADER in BINARY mode"));
        }
        if !is_csv && (self.quote.is_some() || self.escape.is_some()) {
            return Err(PgError::error("0A000", "COPY quote and escape are available only in CSV mode"));
        }
        let quote = byte("quote", self.quote, b'"')?;
        Ok(CopyOptions {
            format,
            delimiter: byte("delimiter", self.delimiter, if is_csv { b',' } else { b'\t' })?,
            null: self.null.unwrap_or_else(|| if is_csv { String::new() } else { "\\N".to_owned() }),
            has_header: self.has_header,
            quote,
            escape: byte("escape", self.escape, quote)?,
        })
    }
}

fn format(name: &str) -> Result<CopyFormat, PgError> {
    match name.to_ascii_lowercase().as_str() {
        "text" => Ok(CopyFormat::Text),
        "csv" => Ok(CopyFormat::Csv),
        "binary" => Ok(CopyFormat::Binary),
        other => Err(PgError::error("22023", format!("COPY format \"{other}\" not recognized"))),
    }
}

fn header(value: &str) -> Result<bool, PgError> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" | "match" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        other => Err(PgError::error("22023", format!("header requires a Boolean value or \"match\", not {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_copy_are_read() {
        let copy =
            Copy::read("COPY public.\"T x\" (a, \"B\") FROM STDIN WITH (FORMAT csv, HEADER true, NULL 'x')").unwrap();
        let columns = vec!["a".to_owned(), "B".to_owned()];
        assert_eq!(copy.what, CopyWhat::Table { name: "T x".to_owned(), columns });
        assert!(copy.is_in && copy.options.has_header && copy.options.format == CopyFormat::Csv);
        assert_eq!((copy.options.null.as_str(), copy.options.delimiter), ("x", b','));
        let copy = Copy::read("copy (select ')' from (values (1)) v) to stdout binary;").unwrap();
        assert_eq!(copy.what, CopyWhat::Query("select ')' from (values (1)) v".to_owned()));
        assert_eq!((copy.is_in, copy.options.format), (false, CopyFormat::Binary));
        let copy = Copy::read("COPY t FROM stdin DELIMITER AS '|' NULL AS '' CSV HEADER").unwrap();
        assert_eq!((copy.options.delimiter, copy.options.has_header), (b'|', true));
    }

    #[test]
    fn files_and_programs_are_refused() {
        for text in [
            "COPY t FROM '/etc/passwd'",
            "COPY t TO '/tmp/x'",
            "COPY t FROM PROGRAM 'id'",
            "COPY (SELECT 1) TO 'x.csv'",
        ] {
            assert_eq!(Copy::read(text).unwrap_err().code, "42501", "{text}");
        }
        for text in ["COPY", "COPY t", "COPY t FROM", "COPY t FROM STDIN (FORMAT xml)", "COPY (SELECT 1 TO STDOUT"] {
            assert!(Copy::read(text).is_err(), "{text}");
        }
    }
}
