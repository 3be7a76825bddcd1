//! Notes for the user about how a file of separated values is read, and which option reads it otherwise.

use crate::csv::separator::{Quoting, Separator};
use crate::options::Options;
use crate::records::error::shown;

/// The note about a file that is read line by line although separators were found in it.
pub(super) const WHOLE_LINES_NOTE: &str =
    "the lines are read whole, as those of a log; --delimiter space separates them at blanks, --delimiter , at commas";

/// The note about a file whose fields are separated by any number of blanks, though the caller did not say so.
pub(super) const BLANKS_NOTE: &str = "any number of blanks separates the fields; --format csv leaves the lines whole";

/// Notes about the meaning of quotes and backslashes.
pub(super) fn quoting_notes(separator: Separator, options: &Options) -> Vec<String> {
    match separator.quoting {
        Quoting::Escapes if options.format.is_none() => {
            vec![
                "read as PostgreSQL and ClickHouse write text: \\N is NULL, \\t and the like are escapes, quotes are \
                  text; otherwise pass --format csv"
                    .to_owned(),
            ]
        }
        Quoting::Nothing if !options.no_quotes => {
            vec![
                "quotes are read as text, because they do not enclose whole fields; otherwise pass --format csv"
                    .to_owned(),
            ]
        }
        Quoting::Quotes if separator.quote == b'\'' => {
            vec!["fields are enclosed in single quotes; otherwise pass --format csv".to_owned()]
        }
        _ => Vec::new(),
    }
}

/// The note about a first record that is not a header, with the text up to its end.
pub(super) fn first_record_note(text: &[u8]) -> String {
    let first = String::from_utf8_lossy(text);
    let first = shown(first.trim());
    format!("the first record is read as data: {first}; --header makes it the columns' names")
}

/// The note about a file of one column whose lines, or whose name, have several words. `is_first_name` says whether its
/// first line was taken for the column's name, `is_text` whether the others are text.
pub(super) fn single_column_note(text: &[u8], is_first_name: bool, is_text: bool) -> Option<String> {
    let first =
        if is_first_name { ", and the first line is its name (--no-header reads that line as a row)" } else { "" };
    let name = text.trim_ascii().split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let is_sentence = is_first_name && is_text && name.contains(&b' ');
    let blanks = if has_words(text) { "; --delimiter space separates at blanks" } else { "" };
    let is_worth_a_note = is_sentence || !blanks.is_empty();
    is_worth_a_note.then(|| format!("there is one column, as no separator was found{first}{blanks}"))
}

/// Returns whether the first lines have equal numbers of words, several in each.
fn has_words(text: &[u8]) -> bool {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let mut counts =
        lines.take(20).map(|line| line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count());
    let first = counts.next().unwrap_or(0);
    first > 1 && counts.next() == Some(first) && counts.all(|count| count == first)
}
