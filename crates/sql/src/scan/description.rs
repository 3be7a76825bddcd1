//! The description of a scan in EXPLAIN.

use atsdb_core::time::format_time;
use atsdb_core::{ColumnType, TimeRange};
use atsdb_engine::{Comparison, Predicate, Scan, ScanRequest, Value};

/// The text after table, columns and chunks: the conditions on the rows that are read.
pub(super) fn describe(scan: &Scan, request: &ScanRequest, limit: Option<usize>) -> String {
    let definition = &scan.table().definition;
    let mut text = String::new();
    if let (Some(column), TimeRange { start, end }) = (definition.time_column(), request.range) {
        let show = |time: i64| match column.column_type {
            ColumnType::Timestamp(unit) => format_time(time, unit),
            _ => (time / definition.time_scale()).to_string(),
        };
        start.iter().for_each(|start| text.push_str(&format!(", {}>={}", column.name, show(*start))));
        end.iter().for_each(|end| text.push_str(&format!(", {}<{}", column.name, show(*end))));
    }
    if !request.predicates.is_empty() {
        let predicates: Vec<String> = request
            .predicates
            .iter()
            .map(|predicate| describe_predicate(predicate, &definition.columns[predicate.column].name))
            .collect();
        text.push_str(&format!(", predicates=[{}]", predicates.join(", ")));
    }
    for (index, chunk_count) in scan.index_pruned() {
        text.push_str(&format!(", skipped by index {index}: {chunk_count}"));
    }
    limit.iter().for_each(|limit| text.push_str(&format!(", limit={limit}")));
    text
}

fn describe_predicate(predicate: &Predicate, column: &str) -> String {
    let values: Vec<String> = predicate.values.iter().take(8).map(describe_value).collect();
    let more = if predicate.values.len() > 8 { ", ..." } else { "" };
    let first = values.first().cloned().unwrap_or_default();
    match predicate.operator {
        Comparison::Equal => format!("{column} = {first}"),
        Comparison::NotEqual => format!("{column} <> {first}"),
        Comparison::Less => format!("{column} < {first}"),
        Comparison::LessOrEqual => format!("{column} <= {first}"),
        Comparison::Greater => format!("{column} > {first}"),
        Comparison::GreaterOrEqual => format!("{column} >= {first}"),
        Comparison::In => format!("{column} IN ({}{more})", values.join(", ")),
        Comparison::IsNull => format!("{column} IS NULL"),
        Comparison::IsNotNull => format!("{column} IS NOT NULL"),
    }
}

fn describe_value(value: &Value) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(value) => format!("'{value:.40}'"),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Value::Bool(value) => value.to_string(),
    }
}
