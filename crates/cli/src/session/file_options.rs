//! The options of `read_csv`, `read_json`, `read_parquet` and `read_xlsx`, as the importer understands them.

use crate::console::clock::unix_seconds;
use atsdb::sql::FileTableRequest;
use atsdb::{Error, ErrorKind, Result, TimeUnit};
use atsdb_import::{ColumnChoice, DateOrder, Encoding, Format, Options, UnpivotChoice, Zone, parse_delimiter};

/// The names of the options, of those with several names the first.
const NAMES: [&str; 20] = [
    "columns",
    "date_order",
    "decimal_separator",
    "encoding",
    "file_column",
    "format",
    "header",
    "null",
    "omit",
    "path",
    "quote",
    "sep",
    "sheet",
    "skip",
    "skip_bad",
    "time",
    "time_unit",
    "unpivot",
    "unpivot_into",
    "zone",
];

/// Translates a query's options for a file to the importer's.
///
/// Errors: unknown options, with all that there are, and values that an option does not take.
pub(super) fn file_options(request: &FileTableRequest) -> Result<Options> {
    let format = match request.format {
        Some("parquet") => Some(Format::Parquet),
        Some("json") => Some(Format::Json),
        Some("xlsx") => Some(Format::Sheet),
        _ => None,
    };
    let times_until = Some(unix_seconds());
    let mut options = Options { format, times_until, for_query: true, ..Options::default() };
    let mut into = None;
    for (position, (name, value)) in request.options.iter().enumerate() {
        let in_option = |error: Error| error.context(name);
        let is_repeated = request.options[..position].iter().any(|(other, _)| other == name);
        if is_repeated && !matches!(name.as_str(), "nullstr" | "null" | "na_values") {
            return Err(refused(name, value, "the option is given twice").with_hint("leave one of them out"));
        }
        match (name.as_str(), value.as_str()) {
            ("header", "true" | "1") => options.header = Some(true),
            ("header", "false" | "0") => options.header = Some(false),
            ("sep" | "delim" | "delimiter", text) => {
                options.delimiter = Some(parse_delimiter(text).map_err(in_option)?);
            }
            ("skip", lines) => match lines.parse() {
                Ok(count) => options.skip = Some(count),
                Err(_) => return Err(refused(name, value, "it is a number of lines")),
            },
            ("nullstr" | "null" | "na_values", text) => options.null.push(text.to_owned()),
            ("quote", "") => options.no_quotes = true,
            ("quote", "\"") | ("all_varchar", "false") | ("auto_detect", "true") => {}
            ("decimal_separator" | "decimal", ",") => options.decimal_comma = true,
            ("decimal_separator" | "decimal", ".") => {}
            ("encoding", name) => options.encoding = Some(Encoding::parse(name)?),
            ("format", name) => options.format = Some(Format::parse(name).map_err(in_option)?),
            ("path", path) => options.path = Some(path.to_owned()),
            ("sheet", sheet) => options.sheet = Some(sheet.to_owned()),
            ("zone", zone) => options.zone = Some(Zone::parse(zone)?),
            ("skip_bad" | "ignore_errors", "true" | "1") => options.skip_bad = true,
            ("skip_bad" | "ignore_errors", "false" | "0") => {}
            ("date_order", "dmy") => options.date_order = Some(DateOrder::DayFirst),
            ("date_order", "mdy") => options.date_order = Some(DateOrder::MonthFirst),
            ("columns", list) => options.columns = list.split(',').map(ColumnChoice::parse).collect(),
            ("omit", list) => options.omit = names(list),
            ("time", list) => options.time = names(list),
            ("time_unit", unit) => options.time_unit = Some(TimeUnit::parse(unit).map_err(in_option)?),
            ("unpivot", list) => options.unpivot = Some(UnpivotChoice::new(names(list))),
            ("unpivot_into", list) => into = Some(list),
            ("file_column", name) => options.file_column = Some(name.to_owned()),
            ("header" | "quote" | "decimal_separator" | "decimal" | "date_order" | "skip_bad" | "ignore_errors", _) => {
                return Err(refused(name, value, "it cannot be that"));
            }
            _ => {
                return Err(refused(name, value, "it is not an option of a file")
                    .with_hint(format!("the options are {}", NAMES.join(", "))));
            }
        }
    }
    if let Some(list) = into {
        let unpivot = options.unpivot.take();
        let unpivot =
            unpivot.ok_or_else(|| refused("unpivot_into", list, "it names the columns that unpivot makes"))?;
        options.unpivot = Some(unpivot.into_columns(list).map_err(|error| error.context("unpivot_into"))?);
    }
    Ok(options)
}

fn refused(name: &str, value: &str, what: &str) -> Error {
    let hint = match name {
        "header" | "skip_bad" | "ignore_errors" => "write true or false",
        "skip" => "write a number: skip = 3",
        "quote" => "write quote = '' to read quotes as text",
        "decimal_separator" | "decimal" => "write decimal_separator = ','",
        "date_order" => "write dmy or mdy",
        _ => "add unpivot = 'COL,...', which names the columns that become rows",
    };
    Error::new(ErrorKind::Sql, format!("{name} = {value:?}: {what}")).with_hint(hint)
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(|name| name.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(name: &str, value: &str) -> Result<Options> {
        let options = vec![(name.to_owned(), value.to_owned())];
        file_options(&FileTableRequest { path: "a.csv".to_owned(), format: Some("csv"), options, bytes_max: 0 })
    }

    #[test]
    fn each_option_is_known_by_the_name_that_errors_list() {
        for name in NAMES {
            let outcome = options(name, "1");
            let is_unknown = |error: &Error| error.message().contains("not an option");
            assert!(!outcome.as_ref().is_err_and(is_unknown), "{name}: {outcome:?}");
        }
        let error = options("skp", "1").unwrap_err();
        assert!(error.hint().is_some_and(|hint| NAMES.iter().all(|name| hint.contains(name))), "{error:?}");
    }

    #[test]
    fn separators_are_those_of_the_flag() {
        for (text, byte) in [("tab", b'\t'), ("\\t", b'\t'), ("space", b' '), (";", b';')] {
            assert_eq!(options("sep", text).unwrap().delimiter, Some(byte), "{text}");
        }
        assert!(options("sep", "ab").is_err());
    }

    #[test]
    fn only_texts_that_mean_null_are_given_twice() {
        let twice = |name: &str| {
            let options = vec![(name.to_owned(), "1".to_owned()), (name.to_owned(), "0".to_owned())];
            file_options(&FileTableRequest { path: "a.csv".to_owned(), format: Some("csv"), options, bytes_max: 0 })
        };
        assert_eq!(twice("null").unwrap().null, ["1", "0"]);
        assert!(twice("header").unwrap_err().message().contains("given twice"));
    }
}
