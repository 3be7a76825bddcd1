//! `CREATE TABLE` between text and definition, both ways.

use crate::error::{as_sql_error, not_supported, sql_error};
use crate::table_options::{TableOptions, list_name};
use crate::type_names::column_type;
use atsdb_core::{ColumnType, Result, TableDefinition, TimeUnit};
use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, CreateTableOptions, Expr, ObjectName, Statement, TableConstraint, Value,
};
use datafusion::sql::sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_IDENTIFIER,
    RESERVED_FOR_TABLE_ALIAS,
};

/// The table that a `CREATE TABLE` declares. Whatever cannot be honoured is an error.
pub(crate) fn table_definition(create: &CreateTable) -> Result<TableDefinition> {
    refuse_other_clauses(create)?;
    let mut definition = TableDefinition::new(table_name(&create.name)?);
    for column in &create.columns {
        definition = with_column(definition, column)?;
    }
    if let Some(constraint) = create.constraints.first() {
        return Err(not_supported(constraint_name(constraint)).with_hint("leave it out"));
    }
    let options = match &create.table_options {
        CreateTableOptions::None => TableOptions::default(),
        CreateTableOptions::With(options) => TableOptions::read(options).map_err(as_sql_error)?,
        other => return Err(not_supported(other).with_hint("use WITH (NAME = 'VALUE', ...)")),
    };
    let definition = options.apply(definition).map_err(as_sql_error)?;
    definition.check().map_err(as_sql_error)?;
    Ok(definition)
}

/// The definition that a `CREATE TABLE` text declares; the inverse of [`create_table_sql`].
pub fn parse_create_table(text: &str) -> Result<TableDefinition> {
    match crate::parse::parse_declaring(text.trim_end().trim_end_matches(';'), crate::script::Place::START, &[])? {
        Statement::CreateTable(create) => table_definition(&create),
        other => Err(crate::refuse::refused(&other).with_hint("a CREATE TABLE is wanted here")),
    }
}

/// The last part of a table's name; what stands before may only be the one schema there is.
pub(crate) fn table_name(name: &ObjectName) -> Result<String> {
    let parts: Vec<&str> = name.0.iter().filter_map(|part| part.as_ident()).map(|ident| ident.value.as_str()).collect();
    match parts.as_slice() {
        [table] => Ok((*table).to_owned()),
        [schema, table] if ["main", "public"].iter().any(|known| known.eq_ignore_ascii_case(schema)) => {
            Ok((*table).to_owned())
        }
        _ => Err(sql_error(format!("no schema of the table {name}")).with_hint("write the table's name alone")),
    }
}

fn with_column(definition: TableDefinition, declared: &ColumnDef) -> Result<TableDefinition> {
    let name = &declared.name.value;
    let place = format!("table {}, column {name}", definition.name);
    let ty = column_type(&declared.data_type, &place)?;
    let mut definition = definition.with_column(name, ty, None);
    for option in &declared.options {
        match &option.option {
            ColumnOption::Null => {}
            ColumnOption::NotNull => {
                if let Some(column) = definition.columns.last_mut() {
                    column.nullable = false;
                }
            }
            ColumnOption::Default(Expr::Value(value)) if value.value == Value::Null => {}
            other => return Err(not_supported(option_name(other)).context(place).with_hint("leave it out")),
        }
    }
    Ok(definition)
}

/// Everything that the parser read and that is not looked at here.
fn refuse_other_clauses(create: &CreateTable) -> Result<()> {
    if create.query.is_some() {
        return Err(
            not_supported("CREATE TABLE ... AS").with_hint("create the table first, then INSERT INTO it SELECT ...")
        );
    }
    if create.or_replace {
        return Err(not_supported("CREATE OR REPLACE TABLE").with_hint("DROP TABLE IF EXISTS first"));
    }
    if create.temporary {
        return Err(not_supported("CREATE TEMPORARY TABLE"));
    }
    let known = CreateTableBuilder::new(create.name.clone())
        .if_not_exists(create.if_not_exists)
        .columns(create.columns.clone())
        .constraints(create.constraints.clone())
        .table_options(create.table_options.clone())
        .build();
    if known != *create {
        return Err(not_supported("a clause of this CREATE TABLE")
            .with_hint("after the columns there may be WITH (NAME = 'VALUE', ...) and nothing else"));
    }
    Ok(())
}

fn constraint_name(constraint: &TableConstraint) -> String {
    match constraint {
        TableConstraint::PrimaryKey(_) | TableConstraint::PrimaryKeyUsingIndex(_) => "PRIMARY KEY".to_owned(),
        TableConstraint::Unique(_) | TableConstraint::UniqueUsingIndex(_) => "UNIQUE".to_owned(),
        TableConstraint::ForeignKey(_) => "FOREIGN KEY".to_owned(),
        TableConstraint::Check(_) => "CHECK".to_owned(),
        TableConstraint::Index(_) | TableConstraint::FulltextOrSpatial(_) => "KEY or INDEX".to_owned(),
        #[allow(unreachable_patterns)]
        other => other.to_string(),
    }
}

fn option_name(option: &ColumnOption) -> String {
    match option {
        ColumnOption::PrimaryKey(_) => "PRIMARY KEY".to_owned(),
        ColumnOption::Unique(_) => "UNIQUE".to_owned(),
        ColumnOption::Check(_) => "CHECK".to_owned(),
        ColumnOption::ForeignKey(_) => "REFERENCES".to_owned(),
        other => other.to_string(),
    }
}

/// The `CREATE TABLE` that declares a table; reading it gives the same definition.
pub fn create_table_sql(definition: &TableDefinition) -> String {
    let mut sql = format!("CREATE TABLE {} (", quoted(&definition.name));
    for (position, column) in definition.columns.iter().enumerate() {
        let is_time = definition.time.is_some_and(|time| time.column == column.id);
        let separator = if position == 0 { "" } else { "," };
        let not_null = if column.nullable || is_time { "" } else { " NOT NULL" };
        sql.push_str(&format!("{separator}\n    {} {}{not_null}", quoted(&column.name), column.column_type.sql_name()));
    }
    sql.push_str("\n)");
    let options: Vec<String> = options_of(definition)
        .into_iter()
        .map(|(name, value)| format!("{name} = '{}'", value.replace('\'', "''")))
        .collect();
    if !options.is_empty() {
        sql.push_str(&format!(" WITH ({})", options.join(", ")));
    }
    sql
}

fn options_of(definition: &TableDefinition) -> Vec<(&'static str, String)> {
    let mut options = Vec::new();
    match definition.time_column() {
        Some(column) => {
            options.push(("time", column.name.clone()));
            if !matches!(column.column_type, ColumnType::Timestamp(_) | ColumnType::Date)
                && definition.time_unit() != TimeUnit::Second
            {
                options.push(("time_unit", definition.time_unit().to_string()));
            }
            options.push(("slice", definition.slice.to_string()));
        }
        None => {
            if TableOptions::default().apply(definition.clone()).is_ok_and(|inferred| inferred.time.is_some()) {
                options.push(("time", "none".to_owned()));
            }
        }
    }
    let mapped: Vec<String> = definition
        .columns
        .iter()
        .filter_map(|column| column.map.map(|width| format!("{}:{width}", list_name(&column.name))))
        .collect();
    if !mapped.is_empty() {
        options.push(("map", mapped.join(", ")));
    }
    let key: Vec<String> = definition
        .key
        .iter()
        .filter_map(|id| definition.column_by_id(*id))
        .map(|column| list_name(&column.name))
        .collect();
    if !key.is_empty() {
        options.push(("key", key.join(", ")));
    }
    if let Some(retention) = definition.retention {
        options.push(("retention", retention.to_string()));
    }
    options
}

/// A name as SQL text: in double quotes where the parser would not take it for a name without them.
pub fn quoted(name: &str) -> String {
    let mut characters = name.chars();
    let plain = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|character| character.is_ascii_alphanumeric() || character == '_');
    if plain && !is_reserved(name) { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn is_reserved(name: &str) -> bool {
    const BEGIN_A_CONSTRAINT: [Keyword; 9] = [
        Keyword::CONSTRAINT,
        Keyword::PRIMARY,
        Keyword::UNIQUE,
        Keyword::FOREIGN,
        Keyword::CHECK,
        Keyword::INDEX,
        Keyword::KEY,
        Keyword::FULLTEXT,
        Keyword::SPATIAL,
    ];
    const BEGIN_AN_EXPRESSION: [Keyword; 9] = [
        Keyword::CASE,
        Keyword::CAST,
        Keyword::NOT,
        Keyword::NULL,
        Keyword::TRUE,
        Keyword::FALSE,
        Keyword::LIKE,
        Keyword::ALL,
        Keyword::DISTINCT,
    ];
    let Ok(position) = ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()) else {
        return false;
    };
    let keyword = ALL_KEYWORDS_INDEX[position];
    RESERVED_FOR_COLUMN_ALIAS.contains(&keyword)
        || RESERVED_FOR_TABLE_ALIAS.contains(&keyword)
        || RESERVED_FOR_IDENTIFIER.contains(&keyword)
        || BEGIN_A_CONSTRAINT.contains(&keyword)
        || BEGIN_AN_EXPRESSION.contains(&keyword)
}
