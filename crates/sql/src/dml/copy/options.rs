//! The options of `COPY`, and what they may be together.

use atsdb_core::name::same_name;
use atsdb_dialect::text::statement_error::StatementError;

/// The format of the rows, and its options. They agree with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOptions {
    /// The format.
    pub format: CopyFormat,
    /// The byte between fields.
    pub delimiter: u8,
    /// The field that means NULL.
    pub null: String,
    /// Whether the first row has the names of the columns.
    pub header: CopyHeader,
    /// The byte around quoted fields of CSV.
    pub quote: u8,
    /// The byte before a quote in a quoted field of CSV.
    pub escape: u8,
    /// The columns that are quoted always when CSV is written.
    pub force_quote: CopyColumns,
    /// The columns whose fields are never NULL when CSV is read.
    pub force_not_null: Vec<String>,
    /// The columns whose fields may be NULL though they are quoted, when CSV is read.
    pub force_null: Vec<String>,
}

/// The formats of COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyFormat {
    /// Backslash escapes.
    Text,
    /// Comma-separated values with quotes.
    Csv,
    /// PostgreSQL's binary format.
    Binary,
}

/// The formats besides PostgreSQL's that an option may name for a file.
pub(super) const FILE_FORMATS: [&str; 5] = ["parquet", "arrow", "json", "jsonl", "ndjson"];

/// The format of the rows that a COPY reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyLayout {
    /// The one that the file's extension names; of a file that is read, the one of its content.
    Detected,
    /// The one of this name: `parquet`, `arrow`, `json`, or `jsonl` and `ndjson`, which are the same.
    Named(&'static str),
    /// The layout of PostgreSQL's `COPY`. Every rule of PostgreSQL applies.
    PostgreSql(CopyOptions),
}

/// The first row of a text or CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyHeader {
    /// The first row has values.
    None,
    /// The first row has names. When it is read, they are skipped.
    Names,
    /// The first row has names, which must be those of the columns.
    Match,
}

/// Columns that an option names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyColumns {
    /// `*`.
    All,
    /// These, perhaps none.
    Named(Vec<String>),
}

impl CopyOptions {
    /// Returns whether the fields of a column are quoted always.
    pub fn quotes(&self, column: &str) -> bool {
        match &self.force_quote {
            CopyColumns::All => true,
            CopyColumns::Named(names) => names.iter().any(|name| same_name(name, column)),
        }
    }

    /// Checks the columns that options name. `copied` are the columns of the rows, `all` those of the relation, if the
    /// rows are those of a table.
    pub fn check_columns(&self, copied: &[&str], all: &[&str], relation: Option<&str>) -> Result<(), StatementError> {
        let forced_quotes = match &self.force_quote {
            CopyColumns::All => &[],
            CopyColumns::Named(names) => names.as_slice(),
        };
        let forced = [
            ("FORCE_QUOTE", forced_quotes),
            ("FORCE_NOT_NULL", self.force_not_null.as_slice()),
            ("FORCE_NULL", self.force_null.as_slice()),
        ];
        for (option, names) in forced {
            check_names(names.iter().map(String::as_str), all, relation)?;
            let is_copied = |name: &&String| copied.iter().any(|column| same_name(column, name));
            if let Some(name) = names.iter().find(|name| !is_copied(name)) {
                let message = format!("{option} column \"{name}\" not referenced by COPY");
                return Err(StatementError::new("42P10", message));
            }
        }
        Ok(())
    }
}

/// Checks that each name is a column's, and that none is there twice.
pub(super) fn check_names<'a>(
    names: impl Iterator<Item = &'a str>,
    all: &[&str],
    relation: Option<&str>,
) -> Result<(), StatementError> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if !all.iter().any(|column| same_name(column, name)) {
            let of = relation.map_or_else(String::new, |relation| format!(" of relation \"{relation}\""));
            return Err(StatementError::new("42703", format!("column \"{name}\"{of} does not exist")));
        }
        if seen.iter().any(|other| same_name(other, name)) {
            return Err(StatementError::new("42701", format!("column \"{name}\" specified more than once")));
        }
        seen.push(name);
    }
    Ok(())
}

/// The options that a statement gives, before they are checked.
#[derive(Debug, Default)]
pub(super) struct ParsedOptions {
    pub(super) format: Option<CopyFormat>,
    /// One of [`FILE_FORMATS`].
    pub(super) file_format: Option<&'static str>,
    pub(super) delimiter: Option<String>,
    pub(super) null: Option<String>,
    pub(super) header: Option<CopyHeader>,
    pub(super) quote: Option<String>,
    pub(super) escape: Option<String>,
    pub(super) force_quote: Option<CopyColumns>,
    pub(super) force_not_null: Option<Vec<String>>,
    pub(super) force_null: Option<Vec<String>>,
    pub(super) freeze: Option<bool>,
    pub(super) encoding: Option<String>,
    pub(super) overwrite: Option<bool>,
}

impl ParsedOptions {
    /// Returns whether nothing is given about a format of PostgreSQL.
    pub(super) fn is_empty(&self) -> bool {
        let Self { format, delimiter, null, header, quote, escape, freeze, encoding, overwrite: _, .. } = self;
        let texts = [delimiter, null, quote, escape, encoding];
        let forced = self.force_quote.is_some() || self.force_not_null.is_some() || self.force_null.is_some();
        format.is_none() && header.is_none() && freeze.is_none() && !forced && texts.iter().all(|text| text.is_none())
    }

    /// The options, in the order of PostgreSQL's checks.
    pub(super) fn options(self, is_in: bool) -> Result<CopyOptions, StatementError> {
        let format = self.format.unwrap_or(CopyFormat::Text);
        let (is_csv, is_binary) = (format == CopyFormat::Csv, format == CopyFormat::Binary);
        if is_binary && self.delimiter.is_some() {
            return Err(StatementError::syntax("cannot specify DELIMITER in BINARY mode"));
        }
        if is_binary && self.null.is_some() {
            return Err(StatementError::syntax("cannot specify NULL in BINARY mode"));
        }
        let null = self.null.unwrap_or_else(|| if is_csv { String::new() } else { "\\N".to_owned() });
        let delimiter = self.delimiter.unwrap_or_else(|| if is_csv { "," } else { "\t" }.to_owned());
        let delimiter = one_byte("delimiter", &delimiter)?;
        check_delimiter(delimiter, &null, is_csv)?;
        if is_binary && self.header.is_some_and(|header| header != CopyHeader::None) {
            return Err(StatementError::not_supported("cannot specify HEADER in BINARY mode"));
        }
        if !is_csv && self.quote.is_some() {
            return Err(StatementError::not_supported("COPY quote available only in CSV mode"));
        }
        let quote = one_byte("quote", self.quote.as_deref().unwrap_or("\""))?;
        if is_csv && delimiter == quote {
            return Err(StatementError::invalid_option("COPY delimiter and quote must be different"));
        }
        if !is_csv && self.escape.is_some() {
            return Err(StatementError::not_supported("COPY escape available only in CSV mode"));
        }
        let escape = self.escape.map_or(Ok(quote), |escape| one_byte("escape", &escape))?;
        for (name, is_set, direction_fits, direction) in [
            ("quote", self.force_quote.is_some(), !is_in, "TO"),
            ("not null", self.force_not_null.is_some(), is_in, "FROM"),
            ("null", self.force_null.is_some(), is_in, "FROM"),
        ] {
            if is_set && !is_csv {
                return Err(StatementError::not_supported(format!("COPY force {name} available only in CSV mode")));
            }
            if is_set && !direction_fits {
                let message = format!("COPY force {name} only available using COPY {direction}");
                return Err(StatementError::not_supported(message));
            }
        }
        if null.as_bytes().contains(&delimiter) {
            let message = "COPY delimiter must not appear in the NULL specification";
            return Err(StatementError::not_supported(message));
        }
        if is_csv && null.as_bytes().contains(&quote) {
            let message = "CSV quote character must not appear in the NULL specification";
            return Err(StatementError::not_supported(message));
        }
        Ok(CopyOptions {
            format,
            delimiter,
            null,
            header: self.header.unwrap_or(CopyHeader::None),
            quote,
            escape,
            force_quote: self.force_quote.unwrap_or(CopyColumns::Named(Vec::new())),
            force_not_null: self.force_not_null.unwrap_or_default(),
            force_null: self.force_null.unwrap_or_default(),
        })
    }
}

fn one_byte(name: &str, text: &str) -> Result<u8, StatementError> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(StatementError::not_supported(format!("COPY {name} must be a single one-byte character"))),
    }
}

fn check_delimiter(delimiter: u8, null: &str, is_csv: bool) -> Result<(), StatementError> {
    if matches!(delimiter, b'\r' | b'\n') {
        return Err(StatementError::invalid_option("COPY delimiter cannot be newline or carriage return"));
    }
    if null.contains(['\r', '\n']) {
        let message = "COPY null representation cannot use newline or carriage return";
        return Err(StatementError::invalid_option(message));
    }
    // Such a delimiter could not be distinguished from an escape.
    if !is_csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter) {
        let message = format!("COPY delimiter cannot be \"{}\"", char::from(delimiter));
        return Err(StatementError::invalid_option(message));
    }
    Ok(())
}
