//! Aligned columns of text for people.
//!
//! Control characters in values show as escapes, so that data cannot drive the terminal.

use unicode_width::UnicodeWidthStr;

/// A heading and how its column is aligned.
#[derive(Debug, Clone)]
pub(crate) struct Heading {
    /// The text.
    pub(crate) text: String,
    /// Whether values stand at the right: numbers.
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

/// How wide each column is.
pub(crate) fn widths(headings: &[Heading], rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.text.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
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
    for (position, ((cell, heading), width)) in cells.iter().zip(headings).zip(widths).enumerate() {
        out.push_str(if position > 0 { " | " } else { "" });
        let padding = std::iter::repeat_n(' ', width.saturating_sub(cell.width()));
        if heading.is_right {
            out.extend(padding);
            out.push_str(cell);
        } else {
            out.push_str(cell);
            if position + 1 < cells.len() {
                out.extend(padding);
            }
        }
    }
    out.push('\n');
}

/// A whole table at once.
pub(crate) fn render(headings: &[Heading], rows: &[Vec<String>]) -> String {
    let widths = widths(headings, rows);
    let mut out = String::new();
    write_head(headings, &widths, &mut out);
    for row in rows {
        write_row(row, headings, &widths, &mut out);
    }
    out
}

/// The text with its control characters as escapes.
pub(crate) fn printable(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars().fold(String::new(), |mut out, character| {
        match character.is_control() {
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
    }
}
