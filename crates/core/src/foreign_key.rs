//! One foreign key of a table.

use crate::id::ColumnId;
use crate::qualified_name::QualifiedName;
use serde::{Deserialize, Serialize};

/// A foreign key: each row whose columns are all not NULL has the key of a row of another table, the parent, or of the
/// table itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// The columns, in the declared order.
    pub columns: Vec<ColumnId>,
    /// The parent.
    pub parent: QualifiedName,
    /// The names of the parent's columns, each beside the one that refers to it. Together they are a unique key of the
    /// parent.
    pub parent_columns: Vec<String>,
    /// What happens to the rows when the row that they refer to is deleted.
    #[serde(default, skip_serializing_if = "ReferentialAction::is_default")]
    pub on_delete: ReferentialAction,
    /// What happens to the rows when the row that they refer to gets another key. It is not allowed in any case:
    /// [`NoAction`](ReferentialAction::NoAction) or [`Restrict`](ReferentialAction::Restrict).
    #[serde(default, skip_serializing_if = "ReferentialAction::is_default")]
    pub on_update: ReferentialAction,
}

/// What happens to rows when the row that they refer to goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferentialAction {
    /// The statement is refused.
    #[default]
    NoAction,
    /// The statement is refused, as by [`NoAction`](Self::NoAction).
    Restrict,
    /// They are deleted.
    Cascade,
    /// Their columns of the foreign key become NULL.
    SetNull,
}

impl ReferentialAction {
    /// The words of SQL: `NO ACTION`, `RESTRICT`, `CASCADE` or `SET NULL`.
    pub fn sql(self) -> &'static str {
        match self {
            Self::NoAction => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::NoAction
    }
}
