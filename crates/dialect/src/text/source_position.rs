//! Positions in a script, for errors.

/// A position in a script: line and column, in characters, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePosition {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl SourcePosition {
    /// The start of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The position after `passed`.
    pub fn after(self, passed: &str) -> Self {
        match passed.rfind('\n') {
            None => Self { line: self.line, column: self.column + passed.chars().count() },
            Some(last) => Self {
                line: self.line + passed.bytes().filter(|byte| *byte == b'\n').count(),
                column: passed[last + 1..].chars().count() + 1,
            },
        }
    }

    /// Converts a position that is relative to this one to a position in the script.
    pub fn of_inner(self, inner: Self) -> Self {
        match inner.line {
            0 | 1 => Self { line: self.line, column: self.column + inner.column.saturating_sub(1) },
            line => Self { line: self.line + line - 1, column: inner.column },
        }
    }
}
