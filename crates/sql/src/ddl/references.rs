//! Foreign keys of a declaration. The names of the parent and its columns are as written: the session looks them up
//! (`session::references`). Not owned: which parents are allowed (`atsdb_core`).

use atsdb_core::name::same_name;
use atsdb_core::{
    ColumnId, ForeignKey, Initially, PUBLIC_SCHEMA, QualifiedName, ReferentialAction, Result, TableDefinition,
};
use atsdb_dialect::parse::set_columns::parent_and_set_columns;
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
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
    /// The columns that a deletion sets; all if there are none here.
    set_columns: Vec<String>,
    on_update: ReferentialAction,
    match_full: bool,
    deferrable: Option<Initially>,
    not_valid: bool,
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
        if let Some(kind @ ConstraintReferenceMatchKind::Partial) = key.match_kind {
            return Err(not_supported(kind).with_hint("write MATCH FULL, or leave it out"));
        }
        let (parent_columns, set_columns) = parent_and_set_columns(&key.referred_columns);
        let is_other = |set: &&String| !columns.iter().any(|column| same_name(column, set));
        if let Some(other) = set_columns.iter().find(is_other) {
            let message = format!("column \"{other}\" referenced in ON DELETE SET action must be part of foreign key");
            return Err(sql_error(message));
        }
        Ok(Self {
            name: name.or(key.name.as_ref()).map(|name| name.value.clone()),
            columns,
            parent: QualifiedName { schema, name: parent },
            parent_columns,
            on_delete: key.on_delete.map_or(ReferentialAction::NoAction, action),
            set_columns,
            on_update: key.on_update.map_or(ReferentialAction::NoAction, action),
            match_full: key.match_kind == Some(ConstraintReferenceMatchKind::Full),
            deferrable: deferrable(key.characteristics.as_ref())?,
            not_valid: false,
        })
    }

    /// Requires parents only for rows that are written from now on.
    pub(crate) fn without_validation(self) -> Self {
        Self { not_valid: true, ..self }
    }

    /// The names of its columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Adds it to a definition, in which its columns have these numbers.
    pub(crate) fn apply(self, definition: &mut TableDefinition, columns: Vec<ColumnId>) {
        let is_set = |name: &String| self.set_columns.iter().any(|set| same_name(set, name));
        let set_columns =
            self.columns.iter().zip(&columns).filter(|(name, _)| is_set(name)).map(|(_, id)| *id).collect();
        let Self { name, parent, parent_columns, on_delete, on_update, match_full, deferrable, not_valid, .. } = self;
        let name = name.unwrap_or_else(|| definition.free_foreign_key_name(&columns));
        definition.foreign_keys.push(ForeignKey {
            name,
            columns,
            parent,
            parent_columns,
            on_delete,
            set_columns,
            on_update,
            match_full,
            deferrable,
            not_valid,
        });
    }
}

fn action(declared: Action) -> ReferentialAction {
    match declared {
        Action::NoAction => ReferentialAction::NoAction,
        Action::Restrict => ReferentialAction::Restrict,
        Action::Cascade => ReferentialAction::Cascade,
        Action::SetNull => ReferentialAction::SetNull,
        Action::SetDefault => ReferentialAction::SetDefault,
    }
}

/// Returns when a deferrable foreign key with these clauses is checked; `None` if it is not deferrable.
pub(super) fn deferrable(clauses: Option<&ConstraintCharacteristics>) -> Result<Option<Initially>> {
    let Some(clauses) = clauses else { return Ok(None) };
    if clauses.enforced == Some(false) {
        return Err(not_supported(clauses).with_hint("leave the constraint out"));
    }
    match (clauses.deferrable, clauses.initially) {
        (Some(false), Some(DeferrableInitial::Deferred)) => {
            Err(sql_error("constraint declared INITIALLY DEFERRED must be DEFERRABLE"))
        }
        (_, Some(DeferrableInitial::Deferred)) => Ok(Some(Initially::Deferred)),
        (Some(true), _) => Ok(Some(Initially::Immediate)),
        _ => Ok(None),
    }
}

/// A foreign key as a table declares it: `FOREIGN KEY (a) REFERENCES p(id) ON DELETE CASCADE`. `parent` is how the
/// parent is named, and `quote` writes the names of columns. `NOT VALID` is left out: only `ALTER TABLE` takes it.
pub fn foreign_key_sql(
    definition: &TableDefinition,
    key: &ForeignKey,
    parent: &str,
    quote: impl Fn(&str) -> String,
) -> String {
    let names = |ids: &[ColumnId]| {
        let columns = ids.iter().filter_map(|id| definition.column_by_id(*id));
        columns.map(|column| quote(&column.name)).collect::<Vec<_>>().join(", ")
    };
    let other: Vec<String> = key.parent_columns.iter().map(|name| quote(name)).collect();
    let action = |event: &str, action: ReferentialAction| match action {
        ReferentialAction::NoAction => String::new(),
        other => format!(" ON {event} {}", other.sql()),
    };
    let match_full = if key.match_full { " MATCH FULL" } else { "" };
    let deferrable = match key.deferrable {
        None => "",
        Some(Initially::Immediate) => " DEFERRABLE",
        Some(Initially::Deferred) => " DEFERRABLE INITIALLY DEFERRED",
    };
    let set = if key.set_columns.is_empty() { String::new() } else { format!(" ({})", names(&key.set_columns)) };
    format!(
        "FOREIGN KEY ({}) REFERENCES {parent}({}){match_full}{}{}{set}{deferrable}",
        names(&key.columns),
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
