//! `SHOW TABLES`, `SHOW FUNCTIONS`, `DESCRIBE` and `SHOW CREATE TABLE`: tables, functions and columns as rows.

use crate::ddl::defaults::default_sql;
use crate::ddl::from_query::type_name_of;
use crate::ddl::identity::identity_sql;
use crate::ddl::print::{column_type_sql, declaration_of};
use crate::run::answer::{Answer, AnswerRows};
use crate::run::function_list::{FunctionInfo, functions};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow::compute::{filter_record_batch, ilike, like};
use arrow::datatypes::SchemaRef;
use atsdb_core::name::name_key;
use atsdb_core::{Result, Table, TableDefinition};
use atsdb_dialect::text::errors::not_supported;
use datafusion::sql::sqlparser::ast::ShowStatementFilter;
use std::sync::Arc;

/// One row for each table, by name.
pub(crate) fn show_tables(tables: &[Table]) -> Result<Answer> {
    let tables = tables.iter().map(|table| &table.definition).filter(|definition| !definition.sequence);
    let mut names: Vec<&str> = tables.map(|definition| definition.name.as_str()).collect();
    names.sort_by_key(|name| name.to_lowercase());
    // A stored table that a temporary one of the same name hides cannot be named.
    names.dedup_by_key(|name| name_key(name));
    answer(vec![("table", Arc::new(StringArray::from(names)))])
}

/// One row for each function that a query may call, by name; those whose names fit the pattern if there is one.
pub(crate) fn show_functions(filter: Option<&ShowStatementFilter>) -> Result<Answer> {
    let functions = functions()?;
    let texts = |text: fn(&FunctionInfo) -> &str| -> ArrayRef {
        Arc::new(functions.iter().map(|function| Some(text(function))).collect::<StringArray>())
    };
    let columns: [(&str, ArrayRef); 5] = [
        ("name", texts(|function| &function.name)),
        ("arguments", texts(|function| &function.arguments)),
        ("returns", texts(|function| &function.returns)),
        ("kind", texts(|function| function.kind.name())),
        ("description", texts(|function| &function.description)),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let names = batch.column(0);
    let fits = match filter {
        None => return Ok(Answer::Rows(AnswerRows::fixed(batch))),
        Some(ShowStatementFilter::Like(pattern)) => like(names, &StringArray::new_scalar(pattern)),
        Some(ShowStatementFilter::ILike(pattern)) => ilike(names, &StringArray::new_scalar(pattern)),
        Some(_) => return Err(not_supported("SHOW FUNCTIONS with a condition other than LIKE and ILIKE")),
    };
    let batch = filter_record_batch(&batch, &fits?)?;
    Ok(Answer::Rows(AnswerRows::fixed(batch)))
}

/// One row for each column, in order.
pub(crate) fn describe(definition: &TableDefinition) -> Result<Answer> {
    let columns = &definition.columns;
    let names: StringArray = columns.iter().map(|column| Some(column.name.as_str())).collect();
    let types: StringArray = columns.iter().map(|column| Some(column_type_sql(column))).collect();
    let nullable: BooleanArray = columns.iter().map(|column| Some(column.nullable)).collect();
    let notes: StringArray = columns.iter().map(|column| Some(notes_of(definition, column))).collect();
    answer(vec![
        ("column", Arc::new(names)),
        ("type", Arc::new(types)),
        ("nullable", Arc::new(nullable)),
        ("notes", Arc::new(notes)),
    ])
}

/// One row for each column of a view's query, in order.
pub(crate) fn describe_query(schema: &SchemaRef) -> Result<Answer> {
    let fields = schema.fields();
    let names: StringArray = fields.iter().map(|field| Some(field.name().as_str())).collect();
    let types: StringArray = fields.iter().map(|field| Some(type_name_of(field))).collect();
    let nullable: BooleanArray = fields.iter().map(|field| Some(field.is_nullable())).collect();
    let notes: StringArray = fields.iter().map(|_| Some("")).collect();
    answer(vec![
        ("column", Arc::new(names)),
        ("type", Arc::new(types)),
        ("nullable", Arc::new(nullable)),
        ("notes", Arc::new(notes)),
    ])
}

fn notes_of(definition: &TableDefinition, column: &atsdb_core::Column) -> String {
    let mut notes = Vec::new();
    if let Some(time) = definition.time.filter(|time| time.column == column.id) {
        notes.push(format!("time ({}), sliced by {}", time.unit, definition.slice));
        notes.extend(definition.retention.map(|retention| format!("kept for {retention}")));
    }
    notes.extend(column.map.map(|width| format!("mapped ({width})")));
    notes.extend(definition.key.contains(&column.id).then(|| "key".to_owned()));
    for unique in definition.unique.iter().filter(|unique| unique.columns.contains(&column.id)) {
        notes.push(if unique.primary { "primary key" } else { "unique" }.to_owned());
    }
    let indexes = definition.indexes.iter().filter(|index| index.columns.contains(&column.id));
    notes.extend(indexes.map(|index| format!("index {}", index.name)));
    notes.extend(
        column.identity.as_ref().map(|identity| identity_sql(identity, column.column_type).trim_start().to_lowercase()),
    );
    notes.extend(default_sql(column).map(|default| format!("default {default}")));
    notes.join(", ")
}

/// One row: the table's name and the statement that declares it.
pub(crate) fn show_create(table: &Table) -> Result<Answer> {
    answer(vec![
        ("table", Arc::new(StringArray::from(vec![table.definition.name.as_str()]))),
        ("sql", Arc::new(StringArray::from(vec![declaration_of(table)]))),
    ])
}

fn answer(columns: Vec<(&str, ArrayRef)>) -> Result<Answer> {
    let batch = RecordBatch::try_from_iter(columns)?;
    Ok(Answer::Rows(AnswerRows::fixed(batch)))
}
