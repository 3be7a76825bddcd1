//! Prints a definition as the `CREATE TABLE` that declares it.

use super::defaults::default_sql;
use super::enumerations::type_sql;
use super::identity::{identity_sql, sequence_options};
use super::options::{TableOptions, list_name};
use super::references::declared_sql;
use atsdb_core::size::format_size;
use atsdb_core::{
    Check, Column, ColumnId, ColumnType, ConflictPolicy, MaterializedView, Rollup, Table, TableDefinition, TimeUnit,
    Unique,
};
use atsdb_dialect::text::quoted_names::{always_quoted, qualified, quoted};
use atsdb_engine::TemporaryTables;
use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;
use datafusion::sql::sqlparser::parser::Parser;
use std::borrow::Cow;

/// The `CREATE TABLE` that declares a table, the `CREATE VIEW` of a view, the `CREATE ROLLUP` of a rollup, or the
/// `CREATE MATERIALIZED VIEW` of a materialized view. Executing it yields the same definition. It has several
/// statements if a materialized view has indexes, or a table constraints that are [not valid](unvalidated_sql).
pub fn create_table_sql(definition: &TableDefinition) -> String {
    if let Some(view) = &definition.view {
        return format!("CREATE VIEW {} AS {}", qualified(definition), view.query);
    }
    if let Some(materialized) = &definition.materialized {
        return materialized_sql(definition, materialized);
    }
    if let Some(rollup) = &definition.rollup {
        return rollup_sql(definition, rollup);
    }
    if definition.sequence {
        return sequence_sql(definition);
    }
    let mut lines: Vec<String> = definition.columns.iter().map(|column| column_sql(definition, column)).collect();
    for unique in &definition.unique {
        if unique.index {
            lines.push(unique_index_sql(definition, unique));
            continue;
        }
        let name = unique.name.as_ref().map_or_else(String::new, |name| format!("CONSTRAINT {} ", quoted(name)));
        let kind = match unique {
            unique if unique.primary => "PRIMARY KEY",
            unique if unique.nulls_equal => "UNIQUE NULLS NOT DISTINCT",
            _ => "UNIQUE",
        };
        lines.push(format!("{name}{kind} ({})", column_list(definition, &unique.columns)));
    }
    lines.extend(definition.checks.iter().filter(|check| !check.not_valid).map(check_sql));
    let valid = definition.foreign_keys.iter().filter(|key| !key.not_valid);
    lines.extend(valid.map(|key| declared_sql(definition, key)));
    for index in &definition.indexes {
        lines.push(format!("INDEX {} ({})", quoted(&index.name), column_list(definition, &index.columns)));
    }
    let sql = format!("CREATE TABLE {} (\n    {}\n)", qualified(definition), lines.join(",\n    "));
    let unvalidated = unvalidated_sql(definition).into_iter().map(|statement| format!(";\n{statement}"));
    format!("{sql}{}{}", with_sql(options_of(definition)), unvalidated.collect::<String>())
}

/// The statements that add the constraints which older rows need not satisfy.
pub fn unvalidated_sql(definition: &TableDefinition) -> Vec<String> {
    let checks = definition.checks.iter().filter(|check| check.not_valid).map(check_sql);
    let references = definition.foreign_keys.iter().filter(|key| key.not_valid);
    let declared = checks.chain(references.map(|key| declared_sql(definition, key)));
    declared.map(|declared| format!("ALTER TABLE {} ADD {declared} NOT VALID", qualified(definition))).collect()
}

fn check_sql(check: &Check) -> String {
    format!("CONSTRAINT {} CHECK ({})", quoted(&check.name), check.condition)
}

/// The declaration of a table, a view or a rollup, which may be temporary.
pub(crate) fn declaration_of(table: &Table) -> String {
    if !TemporaryTables::contain(table) {
        return create_table_sql(&table.definition);
    }
    let mut definition = table.definition.clone();
    // It is in memory without saying so.
    definition.memory = definition.memory.filter(|memory| memory.bytes_max.is_some());
    create_table_sql(&definition).replacen("CREATE ", "CREATE TEMPORARY ", 1)
}

/// The `CREATE ROLLUP` of a rollup. Its columns follow from its query, its time is its bucket, and its dictionaries all
/// have the same width.
fn rollup_sql(definition: &TableDefinition, rollup: &Rollup) -> String {
    let source = TableDefinition { schema: rollup.schema.clone(), ..TableDefinition::new(&rollup.table) };
    let (name, table, every) = (qualified(definition), qualified(&source), rollup.every.replace('\'', "''"));
    let is_said = |(name, _): &(&str, String)| !matches!(*name, "time" | "time_unit" | "map");
    let options = with_sql(options_of(definition).into_iter().filter(is_said).collect());
    format!("CREATE ROLLUP {name} ON {table} EVERY '{every}'{options} AS {}", rollup.query)
}

/// The `CREATE MATERIALIZED VIEW` of a materialized view, whose columns follow from its query, and the `CREATE INDEX`
/// of each index.
fn materialized_sql(definition: &TableDefinition, materialized: &MaterializedView) -> String {
    let name = qualified(definition);
    // The query may end with a comment.
    let no_data = if materialized.populated { "" } else { "\nWITH NO DATA" };
    let mut sql = format!("CREATE MATERIALIZED VIEW {name} AS {}{no_data}", materialized.query);
    for unique in &definition.unique {
        let columns = column_list(definition, &unique.columns);
        let nulls = if unique.nulls_equal { " NULLS NOT DISTINCT" } else { "" };
        sql += &format!(";\nCREATE UNIQUE INDEX {} ON {name} ({columns}){nulls}", quoted(&definition.key_name(unique)));
    }
    for index in &definition.indexes {
        let columns = column_list(definition, &index.columns);
        sql += &format!(";\nCREATE INDEX {} ON {name} ({columns})", quoted(&index.name));
    }
    sql
}

/// The `CREATE SEQUENCE` of a sequence.
fn sequence_sql(definition: &TableDefinition) -> String {
    let options = definition.columns.iter().filter_map(|column| {
        let type_name = Some(column.column_type.sql_name()).filter(|_| column.column_type != ColumnType::Int64);
        let type_name = type_name.map_or_else(String::new, |name| format!(" AS {name}"));
        Some(format!("{type_name}{}", sequence_options(column.identity.as_ref()?, column.column_type)))
    });
    format!("CREATE SEQUENCE {}{}", qualified(definition), options.collect::<String>())
}

/// ` WITH (...)`, if there are any options.
fn with_sql(options: Vec<(&'static str, String)>) -> String {
    let shown = options.into_iter().map(|(name, value)| format!("{name} = '{}'", value.replace('\'', "''")));
    match shown.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        options => format!(" WITH ({options})"),
    }
}

fn column_sql(definition: &TableDefinition, column: &Column) -> String {
    let is_time = definition.time.is_some_and(|time| time.column == column.id);
    let is_primary = definition.unique.iter().any(|unique| unique.primary && unique.columns.contains(&column.id));
    let is_implied = column.nullable || is_time || is_primary || column.identity.is_some();
    let not_null = if is_implied { "" } else { " NOT NULL" };
    let identity = column.identity.as_ref();
    let identity = identity.map_or_else(String::new, |identity| identity_sql(identity, column.column_type));
    let default = default_sql(column).map_or_else(String::new, |default| format!(" DEFAULT {default}"));
    format!("{} {}{not_null}{default}{identity}", quoted(&column.name), column_type_sql(column))
}

/// The type of a column, as it is declared.
pub(crate) fn column_type_sql(column: &Column) -> Cow<'static, str> {
    match (&column.enumeration, column.length) {
        (Some(enumeration), _) => type_sql(&enumeration.type_name).into(),
        (None, Some(length)) => length.sql_name().into(),
        (None, None) => column.column_type.sql_name(),
    }
}

fn column_list(definition: &TableDefinition, columns: &[ColumnId]) -> String {
    let columns = columns.iter().filter_map(|id| definition.column_by_id(*id));
    let name = |column: &Column| match reads_as_name(&column.name) {
        true => quoted(&column.name),
        false => always_quoted(&column.name),
    };
    columns.map(name).collect::<Vec<_>>().join(", ")
}

/// A unique index among the columns of a table. Keywords such as `NULLS` would be read as clauses before its name.
fn unique_index_sql(definition: &TableDefinition, unique: &Unique) -> String {
    let nulls = if unique.nulls_equal { " NULLS NOT DISTINCT" } else { "" };
    let name = unique.name.as_ref().map_or_else(String::new, |name| match is_keyword(name) {
        true => format!(" {}", always_quoted(name)),
        false => format!(" {}", quoted(name)),
    });
    format!("UNIQUE INDEX{nulls}{name} ({})", column_list(definition, &unique.columns))
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
        .filter(|column| column.enumeration.is_none())
        .filter_map(|column| column.map.map(|width| format!("{}:{width}", list_name(&column.name))))
        .collect();
    if !mapped.is_empty() {
        options.push(("map", mapped.join(", ")));
    }
    if definition.key != crate::ddl::constraints::series_key_of_primary(definition) {
        let names: Vec<String> = definition
            .key
            .iter()
            .filter_map(|id| definition.column_by_id(*id))
            .map(|column| list_name(&column.name))
            .collect();
        // A `key` with the time, or in a plain table, would forbid duplicates, which `sort` does not.
        let tells_apart = definition.time.is_none_or(|time| definition.key.contains(&time.column));
        let forbids = tells_apart && !definition.unique.first().is_some_and(|unique| unique.primary);
        options.push((if forbids { "sort" } else { "key" }, names.join(", ")));
    }
    if definition.on_conflict != ConflictPolicy::Error {
        options.push(("on_conflict", definition.on_conflict.name().to_owned()));
    }
    if let Some(memory) = definition.memory {
        options.push(("engine", "memory".to_owned()));
        options.extend(memory.bytes_max.map(|bytes| ("max_memory", format_size(bytes))));
    }
    if let Some(retention) = definition.retention {
        options.push(("retention", retention.to_string()));
    }
    if let Some(preload) = definition.preload {
        options.push(("preload", preload.to_string()));
    }
    options
}

/// Returns whether a name that is a keyword is read as a name where an expression is allowed, as in a key.
fn reads_as_name(name: &str) -> bool {
    if !is_keyword(name) {
        return true;
    }
    let parsed = Parser::new(&GenericDialect).try_with_sql(name).and_then(|mut parser| parser.parse_expr());
    matches!(parsed, Ok(Expr::Identifier(read)) if read.value == name)
}

fn is_keyword(name: &str) -> bool {
    ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_ok()
}
