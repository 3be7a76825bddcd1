//! `INSERT`: where rows go, and the way there for the result of a query. Literals go straight into columns
//! ([`insert_run`](crate::insert_run)). Either way one batch, all or nothing.

use crate::answer::Rows;
use crate::assign::assign;
use crate::conflict::OnDuplicate;
use crate::ddl::defaults::{default_array, default_type};
use crate::error::{as_sql_error, not_supported, sql_error};
use crate::provider::unknown_table;
use crate::returning::Returning;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, new_null_array};
use arrow::datatypes::{DataType, Field, Schema};
use atsdb_core::name::same_name;
use atsdb_core::{Column, ConflictPolicy, Error, ErrorKind, Result, Table};
use atsdb_engine::Batch;
use datafusion::sql::sqlparser::ast::{Insert, ObjectName, TableObject};
use std::sync::Arc;

/// Where the rows of an `INSERT` go.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) table: String,
    /// What the statement calls it.
    pub(crate) alias: String,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) on_duplicate: OnDuplicate,
    pub(crate) returning: Option<Returning>,
}

impl Target {
    /// The target of a parsed `INSERT`; what else it asks for is refused.
    pub(crate) fn of(insert: &Insert) -> Result<Self> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(not_supported("INSERT INTO anything but a table"));
        };
        let refused = [
            (insert.output.is_some(), "OUTPUT"),
            (insert.overwrite, "INSERT OVERWRITE"),
            (insert.partitioned.is_some(), "PARTITION"),
            (!insert.assignments.is_empty(), "INSERT ... SET"),
            (!insert.after_columns.is_empty(), "a second list of columns"),
            (insert.format_clause.is_some() || insert.settings.is_some(), "FORMAT"),
        ];
        if let Some((_, what)) = refused.into_iter().find(|(found, _)| *found) {
            return Err(not_supported(what));
        }
        let last = |name: &ObjectName| name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone());
        let columns: Option<Vec<String>> = insert.columns.iter().map(last).collect();
        let columns = columns.filter(|columns| !columns.is_empty());
        let table = crate::ddl::table_name(name)?;
        let written =
            || insert.table_alias.as_ref().map_or_else(|| last(name), |alias| Some(alias.alias.value.clone()));
        let alias = written().unwrap_or_else(|| table.clone());
        let returning = insert.returning.clone().map(|items| Returning { items, alias: alias.clone() });
        Ok(Self { table, alias, columns, on_duplicate: OnDuplicate::of(insert)?, returning })
    }

    /// A table, under its own name.
    pub(crate) fn new(table: String, columns: Option<Vec<String>>, on_duplicate: OnDuplicate) -> Self {
        Self { alias: table.clone(), table, columns, on_duplicate, returning: None }
    }

    /// All columns of a table.
    pub(crate) fn all_of(table: &Table) -> Self {
        Self::new(table.definition.name.clone(), None, OnDuplicate::default())
    }

    /// The table, and where the columns stand in it.
    pub(crate) fn resolve_among(&self, tables: &[Table]) -> Result<(Table, Vec<usize>)> {
        let table = tables
            .iter()
            .find(|table| same_name(&table.definition.name, &self.table))
            .ok_or_else(|| unknown_table(&self.table, tables))?;
        if table.definition.view.is_some() {
            return Err(sql_error(format!("{} is a view: no rows go into it", table.definition.name))
                .with_hint("INSERT INTO the table it reads"));
        }
        let positions = self.positions(table)?;
        Ok((table.clone(), positions))
    }

    fn positions(&self, table: &Table) -> Result<Vec<usize>> {
        let definition = &table.definition;
        let Some(columns) = &self.columns else { return Ok((0..definition.columns.len()).collect()) };
        let mut positions: Vec<usize> = Vec::with_capacity(columns.len());
        for name in columns {
            let position = definition.position(name).map_err(as_sql_error)?;
            if positions.contains(&position) {
                return Err(sql_error(format!("column {name} stands twice in the INSERT into {}", definition.name)));
            }
            positions.push(position);
        }
        let missing = |(position, column): (usize, _)| {
            let column: &Column = column;
            let given = column.nullable || column.default.is_some() || positions.contains(&position);
            (!given).then_some(column)
        };
        match definition.columns.iter().enumerate().find_map(missing) {
            Some(column) => Err(Error::invalid(format!(
                "table {}: column {} takes no NULL, and the INSERT gives it no value",
                definition.name, column.name
            ))),
            None => Ok(positions),
        }
    }
}

/// Adds what a query answers to a batch, by position. Says how many rows.
pub(crate) fn append_rows(batch: &mut Batch, table: &Table, target: &Target, rows: Rows) -> Result<u64> {
    let policy = target.on_duplicate.policy(table)?;
    let mut row_count = 0_u64;
    for_named_rows(table, target, rows, |rows| {
        batch.append_with(table, &rows, policy).map_err(|error| match (error.kind(), row_count) {
            (ErrorKind::InvalidValue, 1..) => error.context(format_args!("after {row_count} rows")),
            _ => error,
        })?;
        row_count += rows.num_rows() as u64;
        Ok(())
    })?;
    Ok(row_count)
}

/// Does something with what a query answers, by position, as rows with the columns' names and the defaults.
pub(crate) fn for_named_rows(
    table: &Table,
    target: &Target,
    rows: Rows,
    mut take: impl FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let positions = target.positions(table)?;
    let found = rows.schema().fields().len();
    if found != positions.len() {
        return Err(wrong_width(table, found, positions.len()));
    }
    let names: Vec<&str> = positions.iter().map(|at| table.definition.columns[*at].name.as_str()).collect();
    let unnamed = Unnamed::of(table, &positions);
    let mut row_count = 0_u64;
    for rows in rows {
        let rows = rows?;
        let assigned = rows.columns().iter().zip(&positions);
        let mut arrays: Vec<ArrayRef> = assigned
            .map(|(array, position)| assign(&table.definition, *position, &with_values(array), Some(row_count)))
            .collect::<Result<_>>()?;
        let found = arrays.iter().zip(&names);
        let mut fields: Vec<Field> =
            found.map(|(array, name)| Field::new(*name, array.data_type().clone(), true)).collect();
        fields.extend(unnamed.fields());
        arrays.extend(unnamed.arrays(rows.num_rows())?);
        let named = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
        take(named.map_err(|error| Error::internal(error.to_string()))?)?;
        row_count += rows.num_rows() as u64;
    }
    Ok(())
}

/// Adds rows that have the columns at some positions, in this order.
pub(crate) fn append_named(
    batch: &mut Batch,
    table: &Table,
    positions: &[usize],
    rows: RecordBatch,
    policy: ConflictPolicy,
) -> Result<()> {
    let unnamed = Unnamed::of(table, positions);
    let names = positions.iter().map(|position| &table.definition.columns[*position].name);
    let mut fields: Vec<Field> = rows
        .columns()
        .iter()
        .zip(names)
        .map(|(array, name)| Field::new(name, array.data_type().clone(), true))
        .collect();
    fields.extend(unnamed.fields());
    let mut arrays = rows.columns().to_vec();
    arrays.extend(unnamed.arrays(rows.num_rows())?);
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
    batch.append_with(table, &rows.map_err(|error| Error::internal(error.to_string()))?, policy)
}

/// The columns that an `INSERT` does not name and that must be given all the same: those with a default, and mapped
/// ones, whose NULLs are given as plain text, which has no dictionary to be empty.
pub(crate) struct Unnamed<'a>(Vec<&'a Column>);

impl<'a> Unnamed<'a> {
    pub(crate) fn of(table: &'a Table, positions: &[usize]) -> Self {
        let columns = table.definition.columns.iter().enumerate();
        let unnamed = columns.filter(|(position, column)| {
            (column.map.is_some() || column.default.is_some()) && !positions.contains(position)
        });
        Self(unnamed.map(|(_, column)| column).collect())
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = Field> {
        self.0.iter().map(|column| Field::new(&column.name, default_type(column), true))
    }

    pub(crate) fn arrays(&self, row_count: usize) -> Result<Vec<ArrayRef>> {
        self.0.iter().map(|column| default_array(column, row_count)).collect()
    }
}

/// An array of NULLs of no type, or with an empty dictionary, as plain text.
fn with_values(array: &ArrayRef) -> ArrayRef {
    if array.data_type().is_null() {
        return new_null_array(&DataType::Utf8, array.len());
    }
    match array.as_any_dictionary_opt() {
        None if array.data_type().is_null() => new_null_array(&DataType::Utf8, array.len()),
        Some(dictionary) if dictionary.values().is_empty() => new_null_array(&DataType::Utf8, array.len()),
        _ => Arc::clone(array),
    }
}

pub(crate) fn wrong_width(table: &Table, found: usize, wanted: usize) -> Error {
    sql_error(format!("{found} values for {wanted} columns of table {}", table.definition.name))
        .with_hint("name the columns: INSERT INTO table (a, b) VALUES (1, 2)")
}
