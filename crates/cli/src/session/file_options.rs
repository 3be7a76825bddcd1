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

/// Options of other programs, and what does the same here.
const ELSEWHERE: [(&str, &str); 9] = [
    ("filename", "write file_column = 'filename', which adds the name of each file without folder and extensions"),
    ("names", "write columns = 'a,b,c' with header = false"),
    ("types", CASTS),
    ("dtypes", CASTS),
    ("all_varchar", CASTS),
    ("compression", "leave it out: gzip and zstd are recognized by the first bytes"),
    ("dateformat", TIMES),
    ("timestampformat", TIMES),
    ("union_by_name", "leave it out: columns are always matched by name"),
];

const CASTS: &str = "types are detected from all values: cast columns in the query, CAST(x AS TEXT)";
const TIMES: &str = "times are detected; date_order = 'dmy' or 'mdy' says what comes first";

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
        let option = first_name(name);
        let repeated = request.options[..position].iter().find(|(other, _)| first_name(other) == option);
        if let Some((other, _)) = repeated.filter(|_| option != "null") {
            let what = match other == name {
                true => "the option is given twice".to_owned(),
                false => format!("the option is given twice, also as {other}"),
            };
            return Err(refused(name, value, &what).with_hint("leave one of them out"));
        }
        match (option, value.as_str()) {
            ("header", "true" | "1") => options.header = Some(true),
            ("header", "false" | "0") => options.header = Some(false),
            ("sep", text) => {
                options.delimiter = Some(parse_delimiter(text).map_err(in_option)?);
            }
            ("skip", lines) => match lines.parse() {
                Ok(count) => options.skip = Some(count),
                Err(_) => return Err(refused(name, value, "it is a number of lines")),
            },
            ("null", text) => options.null.push(text.to_owned()),
            ("quote", "") => options.no_quotes = true,
            ("quote", "\"") | ("all_varchar", "false") | ("auto_detect" | "union_by_name", "true") => {}
            ("decimal_separator", ",") => options.decimal_comma = true,
            ("decimal_separator", ".") => {}
            ("encoding", name) => options.encoding = Some(Encoding::parse(name)?),
            ("format", wanted) => {
                let wanted = Format::parse(wanted).map_err(in_option)?;
                if format.is_some_and(|own| own != wanted) {
                    return Err(refused(name, value, "the function reads another format")
                        .with_hint("leave the option out, or use read_csv"));
                }
                options.format = Some(wanted);
            }
            ("path", path) => options.path = Some(path.to_owned()),
            ("sheet", sheet) => options.sheet = Some(sheet.to_owned()),
            ("zone", zone) => options.zone = Some(Zone::parse(zone)?),
            ("skip_bad", "true" | "1") => options.skip_bad = true,
            ("skip_bad", "false" | "0") => {}
            ("date_order", "dmy") => options.date_order = Some(DateOrder::DayFirst),
            ("date_order", "mdy") => options.date_order = Some(DateOrder::MonthFirst),
            ("columns", list) => options.columns = list.split(',').map(ColumnChoice::parse).collect(),
            ("omit", list) => options.omit = names(list),
            ("time", list) => options.time = names(list),
            ("time_unit", unit) => options.time_unit = Some(TimeUnit::parse(unit).map_err(in_option)?),
            ("unpivot", list) => options.unpivot = Some(UnpivotChoice::new(names(list))),
            ("unpivot_into", list) => into = Some(list),
            ("file_column", name) => options.file_column = Some(name.to_owned()),
            ("header" | "quote" | "decimal_separator" | "date_order" | "skip_bad", _) => {
                return Err(refused(name, value, "it cannot be that"));
            }
            _ => {
                let instead = ELSEWHERE.iter().find(|(known, _)| *known == option).map(|(_, hint)| (*hint).to_owned());
                let hint = instead.unwrap_or_else(|| format!("the options are {}", NAMES.join(", ")));
                return Err(refused(name, value, "it is not an option of a file").with_hint(hint));
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

/// The first name of an option that has several.
fn first_name(name: &str) -> &str {
    match name {
        "delim" | "delimiter" => "sep",
        "nullstr" | "na_values" => "null",
        "decimal" => "decimal_separator",
        "ignore_errors" => "skip_bad",
        name => name,
    }
}

fn refused(name: &str, value: &str, what: &str) -> Error {
    let hint = match first_name(name) {
        "header" | "skip_bad" => "write true or false",
        "skip" => "write a number: skip = 3",
        "quote" => "write quote = '' to read quotes as text",
        "decimal_separator" => "write decimal_separator = ','",
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
        file_options(&FileTableRequest { paths: vec!["a.csv".to_owned()], format: Some("csv"), options, bytes_max: 0 })
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
        let both = |one: &str, other: &str| {
            let options = vec![(one.to_owned(), "1".to_owned()), (other.to_owned(), "0".to_owned())];
            file_options(&FileTableRequest {
                paths: vec!["a.csv".to_owned()],
                format: Some("csv"),
                options,
                bytes_max: 0,
            })
        };
        assert_eq!(both("null", "null").unwrap().null, ["1", "0"]);
        assert_eq!(both("nullstr", "na_values").unwrap().null, ["1", "0"]);
        assert!(both("header", "header").unwrap_err().message().ends_with("given twice"));
        let error = both("skip_bad", "ignore_errors").unwrap_err();
        assert!(error.message().ends_with("given twice, also as skip_bad"), "{error:?}");
        let seps = [("sep", ";"), ("delim", ",")].map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec();
        let request = FileTableRequest { paths: vec!["a.csv".to_owned()], format: None, options: seps, bytes_max: 0 };
        assert!(file_options(&request).unwrap_err().message().ends_with("given twice, also as sep"));
    }

    #[test]
    fn a_function_reads_its_own_format() {
        let format = |function: &'static str, format: &str| {
            let options = vec![("format".to_owned(), format.to_owned())];
            file_options(&FileTableRequest {
                paths: vec!["a".to_owned()],
                format: Some(function),
                options,
                bytes_max: 0,
            })
        };
        assert!(format("parquet", "csv").unwrap_err().message().contains("reads another format"));
        assert!(format("xlsx", "json").is_err() && format("json", "text").is_err());
        assert_eq!(format("parquet", "parquet").unwrap().format, Some(Format::Parquet));
        assert_eq!(format("csv", "text").unwrap().format, Some(Format::Text));
    }
}
