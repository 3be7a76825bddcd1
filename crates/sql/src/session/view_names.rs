//! `ALTER VIEW` and `ALTER MATERIALIZED VIEW`: other names of views and of their columns. Also the columns for which a
//! `*` stands in the query of a new view.

use super::state::Session;
use crate::ddl::alter::altered;
use crate::ddl::view_columns::ColumnChange;
use crate::ddl::view_stars::with_written_stars;
use crate::ddl::views::{RenameView, materialized_as, with_columns};
use crate::run::answer::Answer;
use arrow::datatypes::{DataType, Schema};
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{CurrentTimes, ErrorKind, Result, Table, TableDefinition};
use atsdb_dialect::text::errors::{as_sql_error, sql_error};
use atsdb_dialect::text::relation_kind::RelationKind;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{TableName, exact_name};
use datafusion::sql::sqlparser::ast::{AlterTableOperation, Ident, ObjectName};

impl Session {
    pub(super) fn rename_view(&self, rename: &RenameView) -> Result<Answer> {
        let RenameView { kind, name, if_exists, operation } = rename;
        self.retried(|| {
            let table = match self.table(name) {
                Err(error) if *if_exists && error.kind() == ErrorKind::Sql => {
                    self.skip_missing("relation", name);
                    return Ok(());
                }
                table => table?,
            };
            kind.require(&table.definition, RelationKind::alter_verb)?;
            let (to, columns) = match operation {
                AlterTableOperation::RenameColumn { old_column_name, new_column_name }
                    if *kind == RelationKind::View =>
                {
                    self.view_with_column(&table, old_column_name, new_column_name)?
                }
                operation => {
                    let times = CurrentTimes::at(self.engine.now_us());
                    let renamed = altered(&table.definition, std::slice::from_ref(operation), times, &mut Vec::new())?;
                    let to = materialized_as(&table.definition, renamed)?;
                    let columns = ColumnChange::between(&table.definition, &to);
                    (to, columns)
                }
            };
            if to == table.definition {
                return Ok(());
            }
            let views = self.views_after(&table, &to, &columns)?;
            self.redefine_with_views(&table, to, views, &[]).map(drop)
        })?;
        Ok(Answer::Done { verb: kind.alter_verb(), row_count: None })
    }

    /// The definition of a view with another name of a column, and how its columns change.
    fn view_with_column(&self, table: &Table, from: &Ident, to: &Ident) -> Result<(TableDefinition, ColumnChange)> {
        let mut definition = table.definition.clone();
        let all = format!("SELECT * FROM {}", exact_name(table));
        let columns = self.columns_of(&all, SourcePosition::START)?;
        let names: Vec<String> = columns.fields().iter().map(|field| field.name().clone()).collect();
        let position = names
            .iter()
            .position(|name| same_name(name, &from.value))
            .ok_or_else(|| as_sql_error(unknown_name("column", &from.value, names.iter().map(String::as_str))))?;
        if names.iter().enumerate().any(|(at, name)| at != position && same_name(name, &to.value)) {
            return Err(sql_error(format!("view {} would have two columns named {}", definition.name, to.value)));
        }
        let columns = ColumnChange::renaming(names, position, &to.value);
        if let Some(view) = &mut definition.view {
            view.query = with_columns(&view.query, columns.after.iter().map(|column| column.name.as_str()));
        }
        Ok((definition, columns))
    }

    /// The query of a new view or materialized view with these columns, with the columns of tables and views in
    /// place of each `*`. One with which the query would show other columns stays as it is.
    pub(super) fn with_present_columns(&self, query: &str, columns: &Schema) -> Result<String> {
        fn shown(schema: &Schema) -> impl Iterator<Item = (&String, &DataType)> {
            schema.fields().iter().map(|field| (field.name(), field.data_type()))
        }
        let tables = self.tables()?;
        let columns_of = |name: &ObjectName| {
            let table = TableName::of(name).ok()?.find(&tables)?;
            let all = format!("SELECT * FROM {}", exact_name(table));
            let columns = self.columns_of(&all, SourcePosition::START).ok()?;
            Some(columns.fields().iter().map(|field| field.name().clone()).collect::<Vec<String>>())
        };
        let is_same = |written: &str| {
            self.columns_of(written, SourcePosition::START).is_ok_and(|after| shown(&after).eq(shown(columns)))
        };
        Ok(with_written_stars(query, &columns_of, &is_same))
    }
}
