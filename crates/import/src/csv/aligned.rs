//! Recognises tables whose columns are aligned with blanks, as programs for terminals and instruments write them.

use crate::csv::header::LOOK_RECORDS;
use crate::csv::separator::Separator;
use crate::records::Field;
use crate::values::numbers::is_number;

/// Returns whether blanks separate the fields of a text that has no other separator. Most of its lines have several
/// blanks between two words, all have equally many words, most have a number, and the first one has names, or nothing
/// but numbers.
pub(super) fn is_aligned(blanks: Separator, text: &[u8]) -> bool {
    if !are_most_lines(text, |line| gap_count(line) > 0) {
        return false;
    }
    let (records, bad) = blanks.records(text, None);
    let mut rows = records.fields.chunks(records.width.max(1));
    let Some(first) = rows.next().filter(|first| first.len() > 1 && bad.is_empty()) else { return false };
    let is_name =
        |field: &Field| field.bytes(text).first().is_some_and(|byte| !byte.is_ascii_digit()) && !is_value(text, field);
    let is_ruler = |row: &[Field]| row.iter().all(|field| field.bytes(text).iter().all(|byte| b"-=".contains(byte)));
    let (mut count, mut number_count) = (0, 0);
    for row in rows {
        if is_ruler(row) {
            return false;
        }
        count += 1;
        number_count += usize::from(row.iter().any(|field| is_value(text, field)));
    }
    let is_first_right = first.iter().all(is_name) || first.iter().all(|field| is_value(text, field));
    is_first_right && number_count * 2 > count
}

/// Returns whether the lines are aligned for people, with several gaps in most of them, but are no records. The texts
/// of one column may have gaps, too: in quotes, or below its name. So the first line has gaps, or is a title of several
/// words above an empty line.
pub(super) fn is_drawn(text: &[u8]) -> bool {
    let mut lines = text.trim_ascii().split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let begins_drawn = gap_count(first) > 0 || (first.contains(&b' ') && lines.any(<[u8]>::is_empty));
    begins_drawn && are_most_lines(text, |line| !line.starts_with(b"\"") && gap_count(line) > 1)
}

fn is_value(text: &[u8], field: &Field) -> bool {
    is_number(field.bytes(text))
}

/// Returns whether most of the first lines, empty ones aside, are such lines. One line is not enough.
fn are_most_lines(text: &[u8], is_such: impl Fn(&[u8]) -> bool) -> bool {
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let (mut count, mut such_count) = (0, 0);
    for line in lines.take(LOOK_RECORDS) {
        count += 1;
        such_count += usize::from(is_such(line));
    }
    count > 1 && such_count * 2 > count
}

/// Returns the number of gaps of several blanks between words of a line.
fn gap_count(line: &[u8]) -> usize {
    line.split(|byte| *byte != b' ').filter(|blanks| blanks.len() > 1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_separate_where_columns_are_aligned() {
        let aligned = |text: &str| is_aligned(Separator::blanks(), text.as_bytes());
        assert!(aligned("time        temp  hum\n2024-03-01  21.5   40\n2024-03-02   9.5   41\n"));
        assert!(aligned("  1.0e+00   2.0\n -1.5e+01  13.0\n"));
        for text in [
            "time temp\n2024-03-01 21.5\n2024-03-02 9.5\n",
            "Mar  1 12:30:05 host cron: began\nMar  1 12:30:06 host cron: ended\n",
            "id    name\n----  ----\n   1  a\n   2  b\n",
            "id   name\n  1  a b\n  2  c\n",
            "it   began\nit   ended\n",
            "one   line\n",
        ] {
            assert!(!aligned(text), "{text}");
        }
    }

    #[test]
    fn lines_with_several_gaps_are_drawn() {
        assert!(is_drawn(b"Size  Used  Mounted on\n  1G  0.5G  /\n"));
        assert!(is_drawn(b"disk usage\n\nSize  Used  Mounted\n  1G  0.5G  /a b\n"));
        for text in [
            "Mar  1 12:30:05 a\nMar  1 12:30:06 b\n",
            "a  b  c\n",
            "text\n\nOne.  Two.  Three.\nFour.  Five.  Six.\n",
            "log message\nERROR   main   failed\nINFO    main   began\n",
            "log  message\n\"ERROR   main   failed\"\n\"INFO    main   began\"\n",
        ] {
            assert!(!is_drawn(text.as_bytes()), "{text}");
        }
    }
}
