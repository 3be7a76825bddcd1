//! Aligned columns of text for people.
//!
//! A value may have several lines, each but its last followed by a `+`. Other control characters are shown as escapes,
//! so that data cannot control the terminal.

use unicode_width::UnicodeWidthStr;

/// A heading, and the alignment of its column.
#[derive(Debug, Clone)]
pub(crate) struct Heading {
    /// The text.
    pub(crate) text: String,
    /// Whether values are right-aligned, as numbers are.
    pub(crate) is_right: bool,
}

impl Heading {
    /// A column of texts.
    pub(crate) fn left(text: &str) -> Self {
        Self { text: printable(text), is_right: false }
    }

    /// A column of numbers.
    pub(crate) fn right(text: &str) -> Self {
        Self { text: printable(text), is_right: true }
    }
}

/// The width of each column.
pub(crate) fn widths(headings: &[Heading], rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.text.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0));
        }
    }
    widths
}

/// Appends the headings and the rule below them.
pub(crate) fn write_head(headings: &[Heading], widths: &[usize], out: &mut String) {
    let texts: Vec<String> = headings.iter().map(|heading| heading.text.clone()).collect();
    write_row(&texts, headings, widths, out);
    for (position, width) in widths.iter().enumerate() {
        out.push_str(if position > 0 { "-+-" } else { "" });
        out.extend(std::iter::repeat_n('-', *width));
    }
    out.push('\n');
}

/// Appends one row; a cell wider than its column pushes the others to the right.
pub(crate) fn write_row(cells: &[String], headings: &[Heading], widths: &[usize], out: &mut String) {
    if !cells.iter().any(|cell| cell.contains('\n')) {
        return write_line(cells.iter().map(|cell| (cell.as_str(), false)), headings, widths, out);
    }
    let lines: Vec<Vec<&str>> = cells.iter().map(|cell| cell.split('\n').collect()).collect();
    for line in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
        let texts = lines.iter().map(|cell| (cell.get(line).copied().unwrap_or_default(), line + 1 < cell.len()));
        write_line(texts, headings, widths, out);
    }
}

/// Appends one line of a row: the text of each cell, and whether it continues on the next line.
fn write_line<'a>(
    texts: impl ExactSizeIterator<Item = (&'a str, bool)>,
    headings: &[Heading],
    widths: &[usize],
    out: &mut String,
) {
    let last = texts.len().saturating_sub(1);
    for (position, (((text, goes_on), heading), width)) in texts.zip(headings).zip(widths).enumerate() {
        let padding = std::iter::repeat_n(' ', width.saturating_sub(text.width()));
        if heading.is_right {
            out.extend(padding);
            out.push_str(text);
        } else {
            out.push_str(text);
            if position < last || goes_on {
                out.extend(padding);
            }
        }
        match (position < last, goes_on) {
            (true, true) => out.push_str("+| "),
            (true, false) => out.push_str(" | "),
            (false, true) => out.push('+'),
            (false, false) => {}
        }
    }
    out.push('\n');
}

/// Formats a whole table.
pub(crate) fn render(headings: &[Heading], rows: &[Vec<String>]) -> String {
    let widths = widths(headings, rows);
    let mut out = String::new();
    write_head(headings, &widths, &mut out);
    for row in rows {
        write_row(row, headings, &widths, &mut out);
    }
    out
}

/// Replaces the control characters of a text by escapes.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, char::is_control)
}

/// Like [`printable`], but line ends stay.
pub(crate) fn printable_lines(text: &str) -> String {
    escaped(text, |character| character.is_control() && character != '\n')
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    if !text.chars().any(&is_escaped) {
        return text.to_owned();
    }
    text.chars().fold(String::new(), |mut out, character| {
        match is_escaped(character) {
            true => out.extend(character.escape_default()),
            false => out.push(character),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_their_headings_whatever_the_script() {
        let headings = [Heading::left("unit"), Heading::right("value")];
        let rows = [vec!["µg/m³".to_owned(), "1".to_owned()], vec!["日本".to_owned(), "10".to_owned()]];
        let expected = "unit  | value\n------+------\nµg/m³ |     1\n日本  |    10\n";
        assert_eq!(render(&headings, &rows), expected);
    }

    #[test]
    fn values_cannot_drive_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(printable_lines("a\u{1b}[31m\nb\r\n"), "a\\u{1b}[31m\nb\\r\n");
    }

    #[test]
    fn a_value_of_several_lines_keeps_them_in_its_column() {
        let headings = [Heading::left("a"), Heading::right("b"), Heading::left("c")];
        let rows = [vec!["one\nlonger".to_owned(), "1".to_owned(), "x\ny".to_owned()]];
        assert_eq!(render(&headings, &rows), "a      | b | c\n-------+---+--\none   +| 1 | x+\nlonger |   | y\n");
    }
}
