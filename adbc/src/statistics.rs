//! `GetStatistics`: how many rows each table has, and how many bytes a row takes in the store. Views have neither.

use crate::failure::of_store;
use crate::link::execute;
use crate::nested::{lists, structs};
use crate::pattern::NamePattern;
use adbc_core::constants::{ADBC_STATISTIC_AVERAGE_BYTE_WIDTH_KEY, ADBC_STATISTIC_ROW_COUNT_KEY};
use adbc_core::error::Result;
use adbc_core::schemas::{
    GET_STATISTIC_NAMES_SCHEMA, GET_STATISTICS_SCHEMA, STATISTIC_VALUE_SCHEMA, STATISTICS_DB_SCHEMA_SCHEMA,
    STATISTICS_SCHEMA,
};
use atsdb::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int16Array, Int64Array, RecordBatch, StringArray, UnionArray,
    new_empty_array, new_null_array,
};
use atsdb::arrow::buffer::ScalarBuffer;
use atsdb::arrow::compute::cast;
use atsdb::arrow::datatypes::{DataType, Float64Type, Int64Type};
use atsdb::sql::{Answer, CATALOG, Session, name_in_catalogue, schema_in_catalogue};
use atsdb::{Error, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The filter for the tables to describe.
pub(crate) struct StatisticsFilter {
    catalog: NamePattern,
    schema: NamePattern,
    table: NamePattern,
}

impl StatisticsFilter {
    pub(crate) fn new(catalog: Option<&str>, schema: Option<&str>, table: Option<&str>) -> Self {
        let [catalog, schema, table] = [catalog, schema, table].map(NamePattern::new);
        Self { catalog, schema, table }
    }
}

/// The figures of a table.
struct TableFigures {
    rows: i64,
    /// `None` if it has no rows, or is in memory.
    bytes_per_row: Option<f64>,
}

/// The names of statistics that only this driver has: none.
pub(crate) fn names() -> RecordBatch {
    RecordBatch::new_empty(Arc::clone(&GET_STATISTIC_NAMES_SCHEMA))
}

/// The statistics of the tables that the filter lets through, by schema.
pub(crate) fn statistics(session: &Session, filter: &StatisticsFilter) -> Result<RecordBatch> {
    let mut by_schema: BTreeMap<String, Vec<(String, TableFigures)>> = BTreeMap::new();
    let catalogs: Vec<&str> = [CATALOG].into_iter().filter(|name| filter.catalog.fits(name)).collect();
    if !catalogs.is_empty() {
        let mut figures = figures(session)?;
        let fits = |table: &Table| {
            filter.schema.fits(schema_in_catalogue(table)) && filter.table.fits(table.definition.local_name())
        };
        for table in session.tables().map_err(of_store)?.into_iter().filter(fits) {
            if let Some(of_table) = figures.remove(name_in_catalogue(&table).as_ref()) {
                let name = table.definition.local_name().to_owned();
                by_schema.entry(schema_in_catalogue(&table).to_owned()).or_default().push((name, of_table));
            }
        }
    }
    batch(&catalogs, by_schema).map_err(of_store)
}

/// The figures of all tables, by their names in the catalogue.
fn figures(session: &Session) -> Result<BTreeMap<String, TableFigures>> {
    let query = "SELECT name, CAST(rows AS BIGINT), CAST(bytes_per_row AS DOUBLE) FROM atsdb.tables \
                 WHERE kind NOT IN ('view', 'sequence') AND rows IS NOT NULL";
    let mut found = BTreeMap::new();
    let Answer::Rows(rows) = execute(session, query)? else { return Ok(found) };
    for batch in rows {
        let batch = batch.map_err(of_store)?;
        let names = cast(batch.column(0), &DataType::Utf8).map_err(|error| of_store(error.into()))?;
        let names = names.as_string::<i32>();
        let (counts, widths) =
            (batch.column(1).as_primitive::<Int64Type>(), batch.column(2).as_primitive::<Float64Type>());
        for row in 0..batch.num_rows() {
            let bytes_per_row = widths.is_valid(row).then(|| widths.value(row));
            let figures = TableFigures { rows: counts.value(row), bytes_per_row };
            found.insert(names.value(row).to_owned(), figures);
        }
    }
    Ok(found)
}

fn batch(catalogs: &[&str], by_schema: BTreeMap<String, Vec<(String, TableFigures)>>) -> atsdb::Result<RecordBatch> {
    let (mut schemas, mut lengths, mut tables) = (Vec::new(), Vec::new(), Vec::new());
    for (schema, mut of_schema) in by_schema {
        schemas.push(schema);
        let count_of = |(_, figures): &(String, TableFigures)| 1 + usize::from(figures.bytes_per_row.is_some());
        lengths.push(Some(of_schema.iter().map(count_of).sum()));
        tables.append(&mut of_schema);
    }
    let counts = vec![Some(schemas.len()); catalogs.len()];
    let of_schemas: ArrayRef = lists(&lengths, statistic_structs(&tables)?)?;
    let schemas = structs(&STATISTICS_DB_SCHEMA_SCHEMA, vec![Arc::new(StringArray::from(schemas)), of_schemas])?;
    let catalogs: ArrayRef = Arc::new(StringArray::from(catalogs.to_vec()));
    Ok(RecordBatch::try_new(Arc::clone(&GET_STATISTICS_SCHEMA), vec![catalogs, lists(&counts, schemas)?])?)
}

/// A position among the values of a union.
fn offset(position: usize) -> atsdb::Result<i32> {
    i32::try_from(position).map_err(|_| Error::internal("more statistics than a union holds"))
}

/// The statistics of tables: for each one the number of rows, which is exact, and the bytes of a row, if they are
/// known.
fn statistic_structs(tables: &[(String, TableFigures)]) -> atsdb::Result<ArrayRef> {
    let (mut names, mut keys, mut members, mut offsets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut counts, mut widths) = (Vec::new(), Vec::new());
    for (name, figures) in tables {
        names.push(name.as_str());
        keys.push(ADBC_STATISTIC_ROW_COUNT_KEY);
        members.push(0_i8);
        offsets.push(offset(counts.len())?);
        counts.push(figures.rows);
        if let Some(width) = figures.bytes_per_row {
            names.push(name.as_str());
            keys.push(ADBC_STATISTIC_AVERAGE_BYTE_WIDTH_KEY);
            members.push(2);
            offsets.push(offset(widths.len())?);
            widths.push(width);
        }
    }
    let DataType::Union(fields, _) = &*STATISTIC_VALUE_SCHEMA else {
        return Err(Error::internal("the values of GetStatistics are not a union"));
    };
    let children: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(counts)),
        new_empty_array(&DataType::UInt64),
        Arc::new(Float64Array::from(widths)),
        new_empty_array(&DataType::Binary),
    ];
    let is_approximate = BooleanArray::from(members.iter().map(|member| *member == 2).collect::<Vec<_>>());
    let (members, offsets) = (ScalarBuffer::from(members), ScalarBuffer::from(offsets));
    let values = UnionArray::try_new(fields.clone(), members, Some(offsets), children)?;
    let count = names.len();
    structs(
        &STATISTICS_SCHEMA,
        vec![
            Arc::new(StringArray::from(names)),
            new_null_array(&DataType::Utf8, count),
            Arc::new(Int16Array::from(keys)),
            Arc::new(values),
            Arc::new(is_approximate),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::arrow::util::display::array_value_to_string;

    fn shown(filter: &StatisticsFilter) -> String {
        let database = atsdb::open("memory:").unwrap();
        let session = database.session(atsdb::sql::SessionOptions::default()).unwrap();
        for statement in [
            "CREATE SCHEMA lab",
            "CREATE TABLE air (n INT)",
            "INSERT INTO air VALUES (1), (2), (3)",
            "CREATE TABLE lab.empty (n INT)",
            "CREATE VIEW v AS SELECT * FROM air",
        ] {
            execute(&session, statement).unwrap();
        }
        let batch = statistics(&session, filter).unwrap();
        assert_eq!(batch.schema_ref(), &*GET_STATISTICS_SCHEMA);
        let text = |row| array_value_to_string(batch.column(1).as_ref(), row).unwrap();
        (0..batch.num_rows()).map(text).collect()
    }

    #[test]
    fn tables_have_a_number_of_rows() {
        let all = shown(&StatisticsFilter::new(None, None, None));
        for part in ["db_schema_name: public", "table_name: air", "statistic_key: 6", "=3", "db_schema_name: lab", "=0"]
        {
            assert!(all.contains(part), "{part} in {all}");
        }
        assert!(!all.contains("table_name: v,"), "{all}");
        assert!(!shown(&StatisticsFilter::new(None, Some("la_"), None)).contains("air"));
        assert!(!shown(&StatisticsFilter::new(None, None, Some("e%"))).contains("air"));
        assert_eq!(shown(&StatisticsFilter::new(Some("x"), None, None)), "");
        assert_eq!(names().num_rows(), 0);
    }
}
