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
    /// The action on the child rows when their parent row is deleted.
    #[serde(default, skip_serializing_if = "ReferentialAction::is_default")]
    pub on_delete: ReferentialAction,
    /// The columns that `on_delete` sets, some of those of the foreign key; all if there are none here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_columns: Vec<ColumnId>,
    /// The action on the child rows when their parent row gets another key.
    #[serde(default, skip_serializing_if = "ReferentialAction::is_default")]
    pub on_update: ReferentialAction,
    /// Whether a row with a NULL in one of the columns must have NULL in all of them: `MATCH FULL`. Otherwise such a
    /// row refers to nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub match_full: bool,
    /// When a deferrable foreign key is checked, unless the transaction sets something else. `None` if it cannot be
    /// deferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferrable: Option<Initially>,
    /// Whether only rows that were written since its declaration need a parent: `NOT VALID`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_valid: bool,
}

impl ForeignKey {
    /// Creates one without actions and other clauses.
    pub fn new(
        name: impl Into<String>,
        columns: Vec<ColumnId>,
        parent: QualifiedName,
        parent_columns: Vec<String>,
    ) -> Self {
        Self {
            name: name.into(),
            columns,
            parent,
            parent_columns,
            on_delete: ReferentialAction::NoAction,
            set_columns: Vec::new(),
            on_update: ReferentialAction::NoAction,
            match_full: false,
            deferrable: None,
            not_valid: false,
        }
    }
}

/// When a deferrable foreign key is checked, unless the transaction sets something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initially {
    /// At the end of each statement.
    Immediate,
    /// At the end of the transaction.
    Deferred,
}

/// The action on child rows when their parent row is deleted or gets another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferentialAction {
    /// The statement is refused.
    #[default]
    NoAction,
    /// The statement is refused, as by [`NoAction`](Self::NoAction).
    Restrict,
    /// They are deleted, or get the other key.
    Cascade,
    /// Their columns of the foreign key, or some of them, become NULL.
    SetNull,
    /// Their columns of the foreign key, or some of them, get their defaults.
    SetDefault,
}

impl ReferentialAction {
    /// The words of SQL: `NO ACTION`, `RESTRICT`, `CASCADE`, `SET NULL` or `SET DEFAULT`.
    pub fn sql(self) -> &'static str {
        match self {
            Self::NoAction => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }

    /// Returns whether the action refuses a statement that takes a key from rows that refer to it.
    pub fn refuses(self) -> bool {
        matches!(self, Self::NoAction | Self::Restrict)
    }

    fn is_default(&self) -> bool {
        *self == Self::NoAction
    }
}
