//! The names of enumerated types in casts: `'sad'::mood`.

use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::table_names::TableName;
use atsdb_codec::enumeration_field;
use atsdb_core::Enumeration;
use atsdb_engine::ReadSnapshot;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, DataType as SqlType, ObjectName};
use std::sync::Arc;

/// Plans the types of one snapshot, after those that another planner knows.
#[derive(Debug)]
pub(crate) struct EnumTypes<T> {
    snapshot: ReadSnapshot,
    others: T,
}

impl<T: TypePlanner> EnumTypes<T> {
    pub(crate) fn new(snapshot: &ReadSnapshot, others: T) -> Self {
        Self { snapshot: snapshot.clone(), others }
    }

    fn named(&self, name: &ObjectName) -> Option<Enumeration> {
        let name = TableName::of(name).ok()?;
        let entries: Vec<_> = self.snapshot.enumerations().cloned().collect();
        name.find_by(self.snapshot.search_path(), &entries)?.definition.enumeration()
    }
}

impl<T: TypePlanner> TypePlanner for EnumTypes<T> {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        match sql_type {
            SqlType::Custom(name, modifiers) if modifiers.is_empty() => {
                if let Some(of) = self.named(name) {
                    return Ok(Some(Arc::new(enumeration_field(Field::new("", DataType::Utf8, true), &of))));
                }
            }
            SqlType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
                if let SqlType::Custom(name, _) = element.as_ref()
                    && self.named(name).is_some()
                {
                    let error = not_supported(format_args!("an array of the enumerated type {name}"));
                    return Err(external(error.with_hint("use an array of texts: TEXT[]")));
                }
            }
            _ => {}
        }
        self.others.plan_type_field(sql_type)
    }
}
