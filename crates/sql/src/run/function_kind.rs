//! The kinds of functions.

use strum::IntoStaticStr;

/// The kind of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum FunctionKind {
    /// A value for each row.
    Scalar,
    /// A value for each group of rows.
    Aggregate,
    /// A value for each row, from the rows around it. Every aggregate is one, too.
    Window,
    /// Rows.
    Table,
}

impl FunctionKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
