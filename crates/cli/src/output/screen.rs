//! Results for a terminal: a limited number of rows, as a table or, if a row is too wide, with each value on its own
//! line.

use super::grid::{self, Heading};
use super::table;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::Result;
use strum::{EnumString, IntoStaticStr};
use unicode_width::UnicodeWidthStr;

/// When each value is shown on its own line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Expanded {
    /// Each value is shown on its own line if a row does not fit the terminal.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Expanded {
    /// The argument of `.expanded`.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// How results appear on a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    /// When each value is shown on its own line.
    pub(crate) expanded: Expanded,
    /// The maximum number of rows that are shown.
    pub(crate) row_limit: Option<usize>,
    /// Columns of the terminal.
    pub(crate) width: usize,
}

/// A result on a screen.
#[derive(Debug)]
pub(crate) struct ScreenText {
    /// The lines of the result.
    pub(crate) text: String,
    /// The number of rows that it shows.
    pub(crate) row_count: u64,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

impl Screen {
    /// Formats a result. Only the rows that are shown are read.
    pub(crate) fn text(
        &self,
        schema: &SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<ScreenText> {
        let headings = table::headings(schema);
        let (mut rows, mut is_cut) = (Vec::new(), false);
        for batch in batches {
            crate::console::interrupt::check()?;
            table::cells(&batch?, &mut rows)?;
            if let Some(limit) = self.row_limit.filter(|limit| rows.len() > *limit) {
                rows.truncate(limit);
                is_cut = true;
                break;
            }
        }
        let widths = grid::widths(&headings, &rows);
        let line_width = widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * 3;
        let is_expanded = match self.expanded {
            Expanded::Auto => line_width > self.width && !rows.is_empty(),
            Expanded::On => !rows.is_empty(),
            Expanded::Off => false,
        };
        let row_count = rows.len() as u64;
        let text = if is_expanded { expanded(&headings, &rows) } else { grid::render(&headings, &rows) };
        Ok(ScreenText { text, row_count, is_cut })
    }
}

/// Each value on its own line, after its column's name.
fn expanded(headings: &[Heading], rows: &[Vec<String>]) -> String {
    let name_width = headings.iter().map(|heading| heading.text.width()).max().unwrap_or(0);
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let title = format!("-[ row {} ]", number + 1);
        out.push_str(&title);
        out.extend(std::iter::repeat_n('-', (name_width + 20).saturating_sub(title.len())));
        out.push('\n');
        for (heading, cell) in headings.iter().zip(row) {
            for (line, text) in cell.split('\n').enumerate() {
                let name = if line == 0 { heading.text.as_str() } else { "" };
                out.push_str(name);
                out.extend(std::iter::repeat_n(' ', name_width - name.width()));
                out.push_str(" | ");
                out.push_str(text);
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    fn shown(screen: Screen) -> ScreenText {
        let columns: [(&str, ArrayRef); 2] = [
            ("n", Arc::new(Int64Array::from(vec![1, 2, 3]))),
            ("text", Arc::new(StringArray::from(vec!["a", "b\nc", "d"]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        screen.text(&batch.schema(), std::iter::once(Ok(batch))).unwrap()
    }

    #[test]
    fn rows_that_do_not_fit_are_expanded_and_rows_beyond_the_limit_are_left_out() {
        let screen = Screen { expanded: Expanded::Auto, row_limit: Some(2), width: 80 };
        let table = shown(screen);
        assert_eq!(
            (table.text.as_str(), table.row_count, table.is_cut),
            ("n | text\n--+-----\n1 | a\n2 | b   +\n  | c\n", 2, true)
        );
        let narrow = shown(Screen { width: 7, row_limit: None, ..screen });
        assert!(!narrow.is_cut && narrow.text.contains("\nn    | 2\ntext | b\n     | c\n"), "{}", narrow.text);
        assert!(narrow.text.starts_with("-[ row 1 ]--------------\n"), "{}", narrow.text);
        assert!(shown(Screen { expanded: Expanded::Off, width: 7, ..screen }).text.starts_with("n | text"));
    }
}
