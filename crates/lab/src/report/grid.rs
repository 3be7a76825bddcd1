//! Figures in rows and columns of text, and formatting factors.

use std::fmt::Write;

/// The contestant whose advantage over each other one is shown.
pub(crate) const OURS: &str = "atsdb";

/// Rows of cells, of one width a column.
#[derive(Default)]
pub(crate) struct Grid {
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// Adds a row.
    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Writes the rows, the first column at the left, the others at the right of their width.
    pub(crate) fn write(&self, text: &mut String) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = widths[column];
                // Writing to a string cannot fail.
                let _ = match column {
                    0 => write!(line, "{cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

/// A factor, with the fewer digits the larger it is.
pub(crate) fn factor(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0} x"),
        value if value >= 10.0 => format!("{value:.1} x"),
        value if value < 0.1 => format!("{value:.4} x"),
        value => format!("{value:.2} x"),
    }
}
