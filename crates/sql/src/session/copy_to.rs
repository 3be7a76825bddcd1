//! `COPY ... TO 'file'`, which is refused unless the session has a file writer.

use super::files::FileWriter;
use super::state::Session;
use crate::ddl::print::quoted;
use crate::parse::statement::parse_declaring;
use crate::run::answer::Answer;
use crate::text::errors::{not_supported, sql_error};
use crate::text::params::Parameters;
use crate::text::source_position::SourcePosition;
use crate::text::table_names::table_name;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    CopyLegacyCsvOption, CopyLegacyOption, CopyOption, CopySource, CopyTarget, Statement as Ast,
};
use std::borrow::Cow;
use std::sync::Arc;

/// The rows, and the file that they are written to.
#[derive(Debug, PartialEq, Eq)]
struct CopyTo {
    query: String,
    path: String,
    may_replace: bool,
}

impl CopyTo {
    /// Parses the statement; `None` if it reads a file instead.
    fn parse(text: &str, place: SourcePosition, parameters: &Parameters) -> Result<Option<Self>> {
        let is_copy = text.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("COPY"));
        if !is_copy {
            return Ok(None);
        }
        let (text, may_replace) = without_overwrite(text);
        let Ast::Copy { source, to: true, target, options, legacy_options, .. } =
            parse_declaring(&text, place, parameters)?
        else {
            return Ok(None);
        };
        let CopyTarget::File { filename } = target else {
            return Err(not_supported(format_args!("COPY ... TO {target}")).with_hint("name a file"));
        };
        let is_csv = filename.to_ascii_lowercase().contains(".csv");
        let agrees = |option: &CopyOption| match option {
            CopyOption::Format(format) => format.value.eq_ignore_ascii_case("csv") && is_csv,
            CopyOption::Header(header) => *header,
            _ => false,
        };
        let agrees_too = |option: &CopyLegacyOption| match option {
            CopyLegacyOption::Csv(options) => {
                is_csv && options.iter().all(|option| matches!(option, CopyLegacyCsvOption::Header))
            }
            CopyLegacyOption::Header => true,
            _ => false,
        };
        if !options.iter().all(agrees) || !legacy_options.iter().all(agrees_too) {
            return Err(not_supported("COPY ... TO with options").with_hint(
                "the file's ending says the format: .csv, .tsv, .json, .jsonl, .parquet; csv has a header; \
                 WITH (OVERWRITE) replaces a file that is there",
            ));
        }
        let query = match source {
            CopySource::Query(query) => query.to_string(),
            CopySource::Table { table_name: name, columns } => {
                let columns: Vec<String> = columns.iter().map(|column| quoted(&column.value)).collect();
                let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
                format!("SELECT {columns} FROM {}", quoted(&table_name(&name)?))
            }
        };
        Ok(Some(Self { query, path: filename, may_replace }))
    }
}

/// The statement without the option `OVERWRITE`, which the parser does not know, and whether it had the option.
fn without_overwrite(text: &str) -> (Cow<'_, str>, bool) {
    let body = text.trim_end().trim_end_matches(';').trim_end();
    let is_asked = |option: &&str| option.trim().eq_ignore_ascii_case("overwrite");
    let Some((before, options)) = body.strip_suffix(')').and_then(|body| body.rsplit_once('(')) else {
        return (Cow::Borrowed(text), false);
    };
    if !options.split(',').any(|option| is_asked(&option)) {
        return (Cow::Borrowed(text), false);
    }
    let others: Vec<&str> = options.split(',').filter(|option| !is_asked(option)).collect();
    if !others.is_empty() {
        return (Cow::Owned(format!("{before}({})", others.join(","))), true);
    }
    let before = before.trim_end();
    let with = before.len().checked_sub(4).and_then(|start| before.get(start..));
    let is_with = with.is_some_and(|word| word.eq_ignore_ascii_case("with"));
    (Cow::Owned(before[..before.len() - if is_with { 4 } else { 0 }].to_owned()), true)
}

impl Session {
    /// Lets statements write files through a writer, for a session that runs with the rights of the program's user.
    pub fn with_file_writer(mut self, writer: Arc<dyn FileWriter>) -> Self {
        self.file_writer = Some(writer);
        self
    }

    /// `COPY ... TO`; `None` if the statement is another one.
    pub(super) fn copy_to(&self, text: &str, place: SourcePosition, parameters: &Parameters) -> Result<Option<Answer>> {
        let Some(CopyTo { query, path, may_replace }) = CopyTo::parse(text, place, parameters)? else {
            return Ok(None);
        };
        let Some(writer) = self.file_writer.as_ref().filter(|_| self.options.file_access) else {
            return Err(sql_error("SQL may not write files here").with_hint("use `atsdb export`"));
        };
        let row_count =
            writer.write(&path, may_replace, self.rows_of(&query, SourcePosition::START, &Parameters::none())?)?;
        Ok(Some(Answer::Done { verb: "COPY", row_count: Some(row_count) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_queries_go_into_files_whose_ending_says_how() {
        let parsed = |text: &str| CopyTo::parse(text, SourcePosition::START, &Parameters::none());
        let query = |text: &str| parsed(text).unwrap().unwrap().query;
        assert_eq!(query("COPY t TO 'a.csv'"), "SELECT * FROM t");
        assert_eq!(query("copy t (b, \"a c\") to 'a.csv' WITH (FORMAT csv, HEADER)"), "SELECT b, \"a c\" FROM t");
        assert_eq!(query("COPY (SELECT f(a) AS x FROM t) TO 'a.parquet'"), "SELECT f(a) AS x FROM t");
        assert!(parsed("COPY t FROM 'a.csv'").unwrap().is_none());
        for (text, may_replace) in [
            ("COPY t TO 'a(overwrite)'", false),
            ("COPY t TO 'a.csv' (HEADER)", false),
            ("COPY t TO 'a.csv' (OVERWRITE);", true),
            ("COPY t TO 'a.csv' WITH (header, overwrite)", true),
            ("COPY (SELECT f(overwrite)) TO 'a.csv' with (Overwrite)", true),
        ] {
            assert_eq!(parsed(text).unwrap().unwrap().may_replace, may_replace, "{text}");
        }
        for text in ["COPY t TO 'a.json' CSV", "COPY t TO 'a.csv' (HEADER false)", "COPY t TO STDOUT"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
