//! The table, the columns and the constraint that an error concerns. Clients of PostgreSQL read them from fields of
//! their own. They are found in the messages that the store has for a key that exists, for a NULL that a column does
//! not take, for a text that is too long, for a row that a CHECK constraint refuses, and for one that refers to none.

use atsdb::name::same_name;
use atsdb::{Error, ErrorKind, PUBLIC_SCHEMA, Table, TableDefinition};

/// A violated constraint, as the message of an error names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) enum Violation {
    /// A key exists: the table, the columns of the key, and the values of a row, as the message lists them.
    Key { table: String, columns: String, values: String },
    /// A key cannot be declared: its name, its columns, and the values that two rows have.
    DeclaredKey { name: String, columns: String, values: String },
    /// A column does not take NULL.
    NotNull { table: String, column: String },
    /// A row does not satisfy a CHECK constraint: the table's name in its schema, and the constraint.
    Check { table: String, name: String },
    /// A text is longer than its column allows: PostgreSQL's message, and what is before it, which says where.
    LongText { message: String, place: String },
    /// A row refers to one that does not exist: the beginning of the message, the child table's name in its schema, the
    /// constraint, and what is wrong.
    Reference { message: String, table: String, name: String, detail: String },
}

/// The fields of an error that name the object that it concerns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::pg) struct ErrorObject {
    pub(in crate::pg) schema: String,
    pub(in crate::pg) table: String,
    pub(in crate::pg) column: Option<String>,
    pub(in crate::pg) constraint: Option<String>,
}

impl Violation {
    /// Returns the violation that an error reports: of a key, NOT NULL, the length of a text, a CHECK constraint or a
    /// foreign key. `None` for other errors.
    pub(in crate::pg) fn of(error: &Error, code: &str) -> Option<Self> {
        let message = error.message();
        match error.kind() {
            ErrorKind::DuplicateKey => Self::of_declared_key(message).or_else(|| Self::of_key(message)),
            ErrorKind::CheckViolation => Self::of_check(message),
            ErrorKind::ForeignKeyViolation => Self::of_reference(message),
            ErrorKind::InvalidValue if code == "23502" => Self::of_null(message),
            ErrorKind::InvalidValue if code == "22001" => Self::of_long_text(message),
            _ => None,
        }
    }

    /// `table T, key (A, B): (1, 2) already exists`.
    fn of_key(message: &str) -> Option<Self> {
        let (table, rest) = after_table(message)?.split_once(", key (")?;
        let (columns, rest) = rest.split_once("): (")?;
        let values = rest.strip_suffix(") already exists")?;
        Some(Self::Key { table: table.to_owned(), columns: columns.to_owned(), values: values.to_owned() })
    }

    /// `could not create unique index "N": Key (A, B)=(1, 2) is duplicated`.
    fn of_declared_key(message: &str) -> Option<Self> {
        let (_, rest) = message.split_once("could not create unique index \"")?;
        let (name, rest) = rest.split_once("\": Key (")?;
        let (columns, rest) = rest.split_once(")=(")?;
        let values = rest.strip_suffix(") is duplicated")?;
        Some(Self::DeclaredKey { name: name.to_owned(), columns: columns.to_owned(), values: values.to_owned() })
    }

    /// `table T, column C: row 3: a value is NULL` and the like, or `column "C" of table "T" contains null values`.
    fn of_null(message: &str) -> Option<Self> {
        let (table, column) = match message.strip_suffix("\" contains null values") {
            Some(rest) => {
                let (_, rest) = rest.split_once("column \"")?;
                let (column, table) = rest.split_once("\" of table \"")?;
                (table, column)
            }
            None => {
                let rest = after_table(message)?;
                let (table, rest) = rest.split_once(", column ").or_else(|| rest.split_once(": column "))?;
                let end = rest.find(", row ").or_else(|| rest.find(':')).or_else(|| rest.find(" is NOT NULL"));
                let end = end.or_else(|| rest.find(" is missing"))?;
                (table, &rest[..end])
            }
        };
        Some(Self::NotNull { table: table.to_owned(), column: column.to_owned() })
    }

    /// `table T, column C: row 3: value too long for type character varying(5)`.
    fn of_long_text(message: &str) -> Option<Self> {
        let (place, type_name) = message.split_once(": value too long for type ")?;
        let message = format!("value too long for type {type_name}");
        Some(Self::LongText { message, place: place.to_owned() })
    }

    /// `new row for relation "T" violates check constraint "N"`, or `check constraint "N" of relation "T" is violated
    /// by some row`.
    fn of_check(message: &str) -> Option<Self> {
        let (table, name) = match message.split_once("new row for relation \"") {
            Some((_, rest)) => rest.strip_suffix('"')?.split_once("\" violates check constraint \"")?,
            None => {
                let (_, rest) = message.split_once("check constraint \"")?;
                let rest = rest.strip_suffix("\" is violated by some row")?;
                let (name, table) = rest.split_once("\" of relation \"")?;
                (table, name)
            }
        };
        Some(Self::Check { table: table.to_owned(), name: name.to_owned() })
    }

    /// `insert or update on table "C" violates foreign key constraint "N": DETAIL`, or `update or delete on table "P"
    /// violates foreign key constraint "N" on table "C": DETAIL`. The detail names a key, or `MATCH FULL`.
    fn of_reference(message: &str) -> Option<Self> {
        let (beginning, detail) = match message.split_once("\": Key (") {
            Some((beginning, detail)) => (beginning, format!("Key ({detail}.")),
            None => message.split_once("\": MATCH FULL").map(|(start, rest)| (start, format!("MATCH FULL{rest}.")))?,
        };
        let (before, constraint) = beginning.split_once("\" violates foreign key constraint \"")?;
        let (name, table) = match constraint.split_once("\" on table \"") {
            Some((name, table)) => (name, table),
            None => (constraint, before.split_once(" on table \"")?.1),
        };
        Some(Self::Reference {
            message: format!("{beginning}\""),
            table: table.to_owned(),
            name: name.to_owned(),
            detail,
        })
    }

    /// The text of PostgreSQL's `DETAIL` field.
    pub(in crate::pg) fn detail(&self) -> Option<String> {
        match self {
            Self::Key { columns, values, .. } => Some(format!("Key ({columns})=({values}) already exists.")),
            Self::DeclaredKey { columns, values, .. } => Some(format!("Key ({columns})=({values}) is duplicated.")),
            Self::Reference { detail, .. } => Some(detail.clone()),
            Self::LongText { place, .. } => Some(format!("In {place}.")),
            Self::NotNull { .. } | Self::Check { .. } => None,
        }
    }

    /// The fields of the error, if its table is among these.
    pub(in crate::pg) fn object(&self, tables: &[Table]) -> Option<ErrorObject> {
        let named = |name: &str| tables.iter().map(|table| &table.definition).find(|of| same_name(&of.name, name));
        match self {
            Self::Key { table, columns, .. } => {
                let definition = named(table)?;
                let constraint = definition.unique.iter().find(|key| {
                    let names = key.columns.iter().filter_map(|id| definition.column_by_id(*id));
                    names.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ") == *columns
                });
                let constraint = constraint.map(|key| definition.key_name(key));
                Some(ErrorObject { constraint, ..object_of(definition) })
            }
            // The key is not in the definition of its table yet. PostgreSQL names no column of a long text.
            Self::DeclaredKey { .. } | Self::LongText { .. } => None,
            Self::NotNull { table, column } => {
                Some(ErrorObject { column: Some(column.clone()), ..object_of(named(table)?) })
            }
            // The message does not name the schema. Of several tables of this name, one with such a constraint is
            // meant.
            Self::Check { table, name } => {
                let named = tables.iter().map(|table| &table.definition).filter(|of| same_name(of.local_name(), table));
                let definition = named.max_by_key(|of| of.check_position(name).is_some())?;
                Some(ErrorObject { constraint: Some(name.clone()), ..object_of(definition) })
            }
            Self::Reference { table, name, .. } => {
                let named = tables.iter().map(|table| &table.definition).filter(|of| same_name(of.local_name(), table));
                let definition = named.max_by_key(|of| of.foreign_key_position(name).is_some())?;
                Some(ErrorObject { constraint: Some(name.clone()), ..object_of(definition) })
            }
        }
    }
}

fn object_of(definition: &TableDefinition) -> ErrorObject {
    let schema = definition.schema.as_deref().unwrap_or(PUBLIC_SCHEMA).to_owned();
    ErrorObject { schema, table: definition.local_name().to_owned(), ..ErrorObject::default() }
}

/// Returns the text after `table ` in a message, whose beginning may say where the error occurred; `None` without that
/// word.
fn after_table(message: &str) -> Option<&str> {
    match message.strip_prefix("table ") {
        Some(rest) => Some(rest),
        None => message.split_once(": table ").map(|(_, rest)| rest),
    }
}

#[cfg(test)]
mod tests {
    use super::Violation;
    use atsdb::{Error, ErrorKind};

    #[test]
    fn messages_are_read_in_every_form() {
        let key = |message: &str| Violation::of(&Error::new(ErrorKind::DuplicateKey, message), "23505");
        for message in [
            "table a.t, key (x, y): (1, (2) already exists",
            "the transaction is rolled back: table a.t, key (x, y): (1, (2) already exists",
        ] {
            let found = key(message).unwrap();
            let expected =
                Violation::Key { table: "a.t".to_owned(), columns: "x, y".to_owned(), values: "1, (2".to_owned() };
            assert_eq!(found, expected);
            assert_eq!(found.detail().as_deref(), Some("Key (x, y)=(1, (2) already exists."));
        }
        let declared = key("could not create unique index \"one\": Key (x)=(7) is duplicated").unwrap();
        assert_eq!(declared.detail().as_deref(), Some("Key (x)=(7) is duplicated."));
        assert_eq!(key("the key is there"), None);
        for message in [
            "new row for relation \"t\" violates check constraint \"t_a_check\"",
            "file.csv: new row for relation \"t\" violates check constraint \"t_a_check\"",
            "check constraint \"t_a_check\" of relation \"t\" is violated by some row",
        ] {
            let found = Violation::of(&Error::new(ErrorKind::CheckViolation, message), "23514");
            let expected = Violation::Check { table: "t".to_owned(), name: "t_a_check".to_owned() };
            assert_eq!(found, Some(expected), "{message}");
        }
        for (message, beginning, detail) in [
            (
                "insert or update on table \"c\" violates foreign key constraint \"c_a_fkey\": Key (a)=(5) is not present in \
                 table \"p\"",
                "insert or update on table \"c\" violates foreign key constraint \"c_a_fkey\"",
                "Key (a)=(5) is not present in table \"p\".",
            ),
            (
                "update or delete on table \"p\" violates foreign key constraint \"c_a_fkey\" on table \"c\": Key (id)=(1) is \
                 still referenced from table \"c\"",
                "update or delete on table \"p\" violates foreign key constraint \"c_a_fkey\" on table \"c\"",
                "Key (id)=(1) is still referenced from table \"c\".",
            ),
            (
                "insert or update on table \"c\" violates foreign key constraint \"c_a_fkey\": MATCH FULL does not allow \
                 mixing of null and nonnull key values",
                "insert or update on table \"c\" violates foreign key constraint \"c_a_fkey\"",
                "MATCH FULL does not allow mixing of null and nonnull key values.",
            ),
        ] {
            let found = Violation::of(&Error::new(ErrorKind::ForeignKeyViolation, message), "23503").unwrap();
            let (table, name) = ("c".to_owned(), "c_a_fkey".to_owned());
            let (message, detail) = (beginning.to_owned(), detail.to_owned());
            assert_eq!(found, Violation::Reference { message, table, name, detail });
        }
        for message in [
            "table t, column c, row 3: NULL in a NOT NULL column",
            "table t, column c: row 3: a value is NULL",
            "table t, column c: a value is NULL",
            "table t: column c is NOT NULL, and the INSERT gives it no value",
            "table t: column c is missing",
            "column \"c\" of table \"t\" contains null values",
        ] {
            let found = Violation::of(&Error::invalid(message), "23502");
            let expected = Violation::NotNull { table: "t".to_owned(), column: "c".to_owned() };
            assert_eq!(found, Some(expected), "{message}");
        }
        let message = "value too long for type character varying(3)".to_owned();
        let found = Violation::of(&Error::invalid(format!("table t, column c: row 3: {message}")), "22001").unwrap();
        assert_eq!(found.detail().unwrap(), "In table t, column c: row 3.");
        assert_eq!(found, Violation::LongText { message, place: "table t, column c: row 3".to_owned() });
    }
}
