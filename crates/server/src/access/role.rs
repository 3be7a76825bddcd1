//! Roles: what a user may do with the store.

use atsdb::Result;
use atsdb::name::parse_name;
use atsdb::sql::Permission;
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// The rights of a user. Each role also has the rights of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Role {
    /// Query, and copy rows out.
    Read,
    /// Add, change and remove rows; create the tables and columns that rows over line protocol need.
    Write,
    /// Create, alter and drop tables, views, indexes and rollups.
    Admin,
}

impl Role {
    /// All roles, the weakest first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// `read`, `write` or `admin`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses a [`name`](Self::name) in either case. Everything else is a [`Usage`](atsdb::ErrorKind::Usage) error.
    pub fn parse(text: &str) -> Result<Self> {
        parse_name("role", text)
    }

    /// The permission that statements of a user with this role have.
    pub(crate) fn permission(self) -> Permission {
        match self {
            Self::Read => Permission::Read,
            Self::Write => Permission::Change,
            Self::Admin => Permission::Define,
        }
    }

    /// The message for a statement that a user with this role may not execute.
    pub(crate) fn refusal(self) -> String {
        match self {
            Self::Read => format!("{PERMISSION_DENIED}: the role read may not change anything"),
            _ => format!("{PERMISSION_DENIED}: the role {self} may not create, alter or drop"),
        }
    }
}

/// The start of the message if a role is not sufficient.
pub(crate) const PERMISSION_DENIED: &str = atsdb::sql::PERMISSION_DENIED;

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
