//! Foreign keys of a declaration. The names of the parent and its columns are as written: the session looks them up
//! (`session::references`). Not owned: which parents are allowed (`atsdb_core`).

use crate::text::errors::not_supported;
use crate::text::quoted_names::quoted;
use crate::text::table_names::{NamedSchema, TableName};
use atsdb_core::{ColumnId, ForeignKey, PUBLIC_SCHEMA, QualifiedName, ReferentialAction, Result, TableDefinition};
use datafusion::sql::sqlparser::ast::{
    ConstraintCharacteristics, ConstraintReferenceMatchKind, DeferrableInitial, ForeignKeyConstraint, Ident,
    ReferentialAction as Action,
};

/// A foreign key of a declaration whose columns may still be unknown.
#[derive(Debug)]
pub(crate) struct DeclaredReference {
    name: Option<String>,
    columns: Vec<String>,
    parent: QualifiedName,
    parent_columns: Vec<String>,
    on_delete: ReferentialAction,
    on_update: ReferentialAction,
}

impl DeclaredReference {
    /// The foreign key of a syntax tree, with the name that stands before it, over these columns.
    pub(crate) fn of(name: Option<&Ident>, columns: Vec<String>, key: &ForeignKeyConstraint) -> Result<Self> {
        let TableName { schema, name: parent } = TableName::of(&key.foreign_table)?;
        let schema = match schema {
            NamedSchema::Unsaid => None,
            NamedSchema::Public => Some(PUBLIC_SCHEMA.to_owned()),
            NamedSchema::Other(schema) => Some(schema),
            NamedSchema::Temporary => {
                return Err(not_supported("REFERENCES to a temporary table").with_hint("refer to a stored table"));
            }
        };
        if let Some(kind @ (ConstraintReferenceMatchKind::Full | ConstraintReferenceMatchKind::Partial)) =
            key.match_kind
        {
            return Err(not_supported(kind).with_hint("leave it out: a row with a NULL in the columns is accepted"));
        }
        refuse_deferred(key.characteristics.as_ref())?;
        Ok(Self {
            name: name.or(key.name.as_ref()).map(|name| name.value.clone()),
            columns,
            parent: QualifiedName { schema, name: parent },
            parent_columns: key.referred_columns.iter().map(|column| column.value.clone()).collect(),
            on_delete: action(key.on_delete, "DELETE")?,
            on_update: action(key.on_update, "UPDATE")?,
        })
    }

    /// The names of its columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Adds it to a definition, in which its columns have these numbers.
    pub(crate) fn apply(self, definition: &mut TableDefinition, columns: Vec<ColumnId>) {
        let Self { name, columns: _, parent, parent_columns, on_delete, on_update } = self;
        let name = name.unwrap_or_else(|| definition.free_foreign_key_name(&columns));
        definition.foreign_keys.push(ForeignKey { name, columns, parent, parent_columns, on_delete, on_update });
    }
}

fn action(declared: Option<Action>, event: &str) -> Result<ReferentialAction> {
    Ok(match declared {
        None | Some(Action::NoAction) => ReferentialAction::NoAction,
        Some(Action::Restrict) => ReferentialAction::Restrict,
        Some(Action::Cascade) if event == "DELETE" => ReferentialAction::Cascade,
        Some(Action::SetNull) if event == "DELETE" => ReferentialAction::SetNull,
        Some(other) => {
            return Err(not_supported(format_args!("ON {event} {other}"))
                .with_hint("write ON DELETE CASCADE, ON DELETE SET NULL, or RESTRICT"));
        }
    })
}

fn refuse_deferred(characteristics: Option<&ConstraintCharacteristics>) -> Result<()> {
    let Some(ConstraintCharacteristics { deferrable, initially, enforced }) = characteristics else { return Ok(()) };
    let is_plain =
        *deferrable != Some(true) && *initially != Some(DeferrableInitial::Deferred) && *enforced != Some(false);
    match (is_plain, characteristics) {
        (false, Some(other)) => {
            Err(not_supported(other).with_hint("leave it out: each statement is checked when it ends"))
        }
        _ => Ok(()),
    }
}

/// A foreign key as a table declares it: `FOREIGN KEY (a) REFERENCES p(id) ON DELETE CASCADE`. `parent` is how the
/// parent is named, and `quote` writes the names of columns.
pub fn foreign_key_sql(
    definition: &TableDefinition,
    key: &ForeignKey,
    parent: &str,
    quote: impl Fn(&str) -> String,
) -> String {
    let own = key.columns.iter().filter_map(|id| definition.column_by_id(*id));
    let own: Vec<String> = own.map(|column| quote(&column.name)).collect();
    let other: Vec<String> = key.parent_columns.iter().map(|name| quote(name)).collect();
    let action = |event: &str, action: ReferentialAction| match action {
        ReferentialAction::NoAction => String::new(),
        other => format!(" ON {event} {}", other.sql()),
    };
    format!(
        "FOREIGN KEY ({}) REFERENCES {parent}({}){}{}",
        own.join(", "),
        other.join(", "),
        action("UPDATE", key.on_update),
        action("DELETE", key.on_delete)
    )
}

/// A foreign key in a `CREATE TABLE`.
pub(crate) fn declared_sql(definition: &TableDefinition, key: &ForeignKey) -> String {
    let schema = key.parent.schema.as_ref().map_or_else(String::new, |schema| format!("{}.", quoted(schema)));
    let parent = format!("{schema}{}", quoted(&key.parent.name));
    format!("CONSTRAINT {} {}", quoted(&key.name), foreign_key_sql(definition, key, &parent, quoted))
}
