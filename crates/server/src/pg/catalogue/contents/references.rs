//! Foreign keys: their rows of `pg_constraint` and `information_schema`, and how they are declared.

use super::super::value::Value;
use super::objects::{IndexObject, Object, Objects};
use atsdb::name::same_name;
use atsdb::sql::{foreign_key_sql, identifier};
use atsdb::{ColumnId, ForeignKey, Initially, PUBLIC_SCHEMA, ReferentialAction, TableDefinition};
use std::collections::BTreeSet;

/// The numbers of foreign keys begin here, 32 for each table.
const REFERENCES_FROM: i64 = (6 << 28) + (1 << 27);

/// A foreign key.
pub(super) struct ReferenceObject<'a> {
    number: i64,
    pub(super) key: &'a ForeignKey,
    pub(super) child: &'a Object,
    pub(super) parent: &'a Object,
    definition: &'a TableDefinition,
    /// The positions of its columns in the child, from 1.
    columns: Vec<i64>,
    /// The positions of the parent's columns, from 1.
    parent_columns: Vec<i64>,
    /// The key of the parent.
    pub(super) unique: Option<&'a IndexObject>,
}

impl ReferenceObject<'_> {
    /// The position among the columns of the parent's key, from 1, of the column that a column refers to.
    pub(super) fn position_in_unique(&self, at: usize) -> Option<i64> {
        let column = self.parent_columns.get(at)?;
        (1..).zip(&self.unique?.columns).find(|(_, other)| *other == column).map(|(position, _)| position)
    }

    /// The names of the columns in the child.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        names(self.child, &self.columns)
    }

    /// The names of the columns in the parent.
    pub(super) fn parent_names(&self) -> impl Iterator<Item = &str> {
        names(self.parent, &self.parent_columns)
    }

    /// The columns of its row in `pg_constraint` that other constraints do not have.
    pub(super) fn constraint(&self) -> [(&'static str, Value); 15] {
        let array = |columns: &[i64]| Value::Array(columns.iter().copied().map(Value::Int).collect());
        let is_set = |(_, id): &(&i64, &ColumnId)| self.key.set_columns.contains(id);
        let set: Vec<i64> = self.columns.iter().zip(&self.key.columns).filter(is_set).map(|(at, _)| *at).collect();
        [
            ("oid", Value::Int(self.number)),
            ("conname", Value::text(self.key.name.as_str())),
            ("contype", Value::text("f")),
            ("conindid", Value::Int(self.unique.map_or(0, |unique| unique.number))),
            ("connoinherit", Value::Bool(true)),
            ("confrelid", Value::Int(self.parent.number)),
            ("confupdtype", Value::text(letter(self.key.on_update))),
            ("confdeltype", Value::text(letter(self.key.on_delete))),
            ("confmatchtype", Value::text(if self.key.match_full { "f" } else { "s" })),
            ("condeferrable", Value::Bool(self.key.deferrable.is_some())),
            ("condeferred", Value::Bool(self.key.deferrable == Some(Initially::Deferred))),
            ("convalidated", Value::Bool(!self.key.not_valid)),
            ("conkey", array(&self.columns)),
            ("confkey", array(&self.parent_columns)),
            ("confdelsetcols", if set.is_empty() { Value::Null } else { array(&set) }),
        ]
    }

    fn declaration(&self) -> String {
        let schema = match self.parent.schema.as_str() {
            PUBLIC_SCHEMA => String::new(),
            other => format!("{}.", identifier(other)),
        };
        let parent = format!("{schema}{}", identifier(&self.parent.name));
        let declared = foreign_key_sql(self.definition, self.key, &parent, identifier);
        if self.key.not_valid { format!("{declared} NOT VALID") } else { declared }
    }
}

fn names<'a>(object: &'a Object, positions: &'a [i64]) -> impl Iterator<Item = &'a str> {
    let attribute = |position: &i64| object.attributes.get(usize::try_from(position - 1).ok()?);
    positions.iter().filter_map(attribute).map(|attribute| attribute.name.as_str())
}

/// All foreign keys.
pub(super) fn references(objects: &Objects) -> impl Iterator<Item = ReferenceObject<'_>> {
    objects.own().flat_map(move |child| {
        let definition = child.table.as_ref().map(|table| &table.definition);
        definition.into_iter().flat_map(move |definition| {
            (0..).zip(&definition.foreign_keys).filter_map(move |(at, key)| {
                let schema = key.parent.schema.as_deref().unwrap_or(PUBLIC_SCHEMA);
                let parent = objects.named(schema, &key.parent.name)?;
                let own = key.columns.iter().filter_map(|id| {
                    (1..).zip(&definition.columns).find(|(_, column)| column.id == *id).map(|(position, _)| position)
                });
                let other = key.parent_columns.iter().filter_map(|name| {
                    let mut attributes = parent.numbered_attributes();
                    attributes.find(|(_, column)| same_name(&column.name, name)).map(|(position, _)| position)
                });
                let (columns, parent_columns): (Vec<i64>, Vec<i64>) = (own.collect(), other.collect());
                let is_it = |index: &&IndexObject| {
                    index.is_unique
                        && index.columns.len() == parent_columns.len()
                        && index.columns.iter().all(|column| parent_columns.contains(column))
                };
                let unique = parent.indexes.iter().find(is_it);
                let number = REFERENCES_FROM + child.number * 32 + at;
                Some(ReferenceObject { number, key, child, parent, definition, columns, parent_columns, unique })
            })
        })
    })
}

/// The number and the declaration of each foreign key.
pub(super) fn declarations(objects: &Objects) -> impl Iterator<Item = Vec<Value>> {
    references(objects).map(|reference| vec![Value::Int(reference.number), Value::Text(reference.declaration())])
}

/// The numbers of the tables that have a foreign key or are the parent of one. PostgreSQL has triggers for them.
pub(super) fn tables_with_triggers(objects: &Objects) -> BTreeSet<i64> {
    references(objects).flat_map(|reference| [reference.child.number, reference.parent.number]).collect()
}

fn letter(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "a",
        ReferentialAction::Restrict => "r",
        ReferentialAction::Cascade => "c",
        ReferentialAction::SetNull => "n",
        ReferentialAction::SetDefault => "d",
    }
}
