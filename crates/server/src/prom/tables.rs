//! The tables for the data that Prometheus sends.
//!
//! ```text
//! CREATE TABLE prom_samples (time TIMESTAMP(3), metric TEXT, series TEXT, value DOUBLE, UNIQUE (series, time))
//!     WITH (time = 'time', slice = 'day', key = 'series', map = 'metric:u32, series:u32', on_conflict = 'replace')
//! CREATE TABLE prom_histograms (time TIMESTAMP(3), metric TEXT, series TEXT,
//!         schema SMALLINT, count DOUBLE, sum DOUBLE, zero_threshold DOUBLE, zero_count DOUBLE, reset_hint TEXT,
//!         positive_offsets INT[], positive_lengths INT[], positive_counts DOUBLE[],
//!         negative_offsets INT[], negative_lengths INT[], negative_counts DOUBLE[],
//!         custom_bounds DOUBLE[], UNIQUE (series, time))
//!     WITH (time = 'time', slice = 'day', key = 'series', map = 'metric:u32, series:u32, reset_hint:u8',
//!         on_conflict = 'replace')
//! CREATE TABLE prom_exemplars (time TIMESTAMP(3), metric TEXT, series TEXT, value DOUBLE, labels TEXT,
//!         UNIQUE (series, time, value, labels))
//!     WITH (time = 'time', slice = 'day', key = 'series', map = 'metric:u32, series:u32', on_conflict = 'replace')
//! CREATE TABLE prom_labels (series TEXT, name TEXT, value TEXT, UNIQUE (series, name))
//!     WITH (map = 'series:u32, name:u16', on_conflict = 'replace')
//! CREATE TABLE prom_metadata (metric TEXT, kind TEXT, help TEXT, unit TEXT, UNIQUE (metric))
//!     WITH (on_conflict = 'replace')
//! ```

use atsdb::{
    Batch, ColumnId, ColumnType, ConflictPolicy, ElementType, Error, MapWidth, Result, Table, TableDefinition,
    TimeUnit, Unique,
};
use atsdb_prom::remote::HISTOGRAM_COLUMNS;

pub(crate) const SAMPLES: &str = "prom_samples";
pub(crate) const HISTOGRAMS: &str = "prom_histograms";
pub(crate) const EXEMPLARS: &str = "prom_exemplars";
pub(crate) const LABELS: &str = "prom_labels";
pub(crate) const METADATA: &str = "prom_metadata";

/// The positions of the columns of `prom_samples` and of `prom_exemplars`. The first three are also those of
/// `prom_histograms`.
pub(crate) const TIME: usize = 0;
pub(crate) const METRIC: usize = 1;
pub(crate) const SERIES: usize = 2;
pub(crate) const VALUE: usize = 3;

/// The position of the labels of exemplars.
pub(crate) const EXEMPLAR_LABELS: usize = 4;

/// The position of the first of the columns of `prom_histograms` that hold the histogram.
pub(crate) const HISTOGRAM: usize = 3;

fn keyed(mut definition: TableDefinition, key: &[u16]) -> TableDefinition {
    definition.unique = vec![Unique::new(key.iter().map(|id| ColumnId(*id)).collect())];
    definition.on_conflict = ConflictPolicy::Replace;
    for column in &mut definition.columns {
        column.nullable = false;
    }
    definition
}

/// A table with rows by series and time, but for the other columns.
fn by_series(name: &str) -> TableDefinition {
    TableDefinition::new(name)
        .with_column("time", ColumnType::Timestamp(TimeUnit::Millisecond), None)
        .with_column("metric", ColumnType::Text, Some(MapWidth::U32))
        .with_column("series", ColumnType::Text, Some(MapWidth::U32))
}

/// The same with all columns. Rows of a series and a time are distinguished by further columns of the key, if there are
/// any.
fn keyed_by_series(definition: TableDefinition, further: &[u16]) -> Result<TableDefinition> {
    let mut definition = definition.with_time("time", TimeUnit::Millisecond)?;
    definition.key = vec![ColumnId(SERIES as u16)];
    Ok(keyed(definition, &[&[SERIES as u16, TIME as u16][..], further].concat()))
}

fn samples() -> Result<TableDefinition> {
    keyed_by_series(by_series(SAMPLES).with_column("value", ColumnType::Float64, None), &[])
}

fn histograms() -> Result<TableDefinition> {
    let column = |definition: TableDefinition, name: &str| {
        let (column_type, map) = match name {
            "schema" => (ColumnType::Int16, None),
            "reset_hint" => (ColumnType::Text, Some(MapWidth::U8)),
            "positive_offsets" | "positive_lengths" | "negative_offsets" | "negative_lengths" => {
                (ColumnType::Array(ElementType::Int32), None)
            }
            "positive_counts" | "negative_counts" | "custom_bounds" => (ColumnType::Array(ElementType::Float64), None),
            _ => (ColumnType::Float64, None),
        };
        definition.with_column(name, column_type, map)
    };
    keyed_by_series(HISTOGRAM_COLUMNS.into_iter().fold(by_series(HISTOGRAMS), column), &[])
}

/// A series may have several exemplars at one time: those of a native histogram. So the whole row is the key.
fn exemplars() -> Result<TableDefinition> {
    let definition = by_series(EXEMPLARS).with_column("value", ColumnType::Float64, None);
    keyed_by_series(definition.with_column("labels", ColumnType::Text, None), &[3, 4])
}

fn labels() -> TableDefinition {
    let definition = TableDefinition::new(LABELS)
        .with_column("series", ColumnType::Text, Some(MapWidth::U32))
        .with_column("name", ColumnType::Text, Some(MapWidth::U16))
        .with_column("value", ColumnType::Text, None);
    keyed(definition, &[0, 1])
}

fn metadata() -> TableDefinition {
    let definition = TableDefinition::new(METADATA)
        .with_column("metric", ColumnType::Text, None)
        .with_column("kind", ColumnType::Text, None)
        .with_column("help", ColumnType::Text, None)
        .with_column("unit", ColumnType::Text, None);
    keyed(definition, &[0])
}

/// The tables that a request needs and most servers do without.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RareTables {
    pub(crate) histograms: bool,
    pub(crate) exemplars: bool,
}

/// The tables, which exist or are created by a batch.
pub(crate) struct PromTables {
    pub(crate) samples: Table,
    pub(crate) histograms: Option<Table>,
    pub(crate) exemplars: Option<Table>,
    pub(crate) labels: Table,
    pub(crate) metadata: Table,
}

impl PromTables {
    /// Finds the tables, and lets the batch create those that are missing.
    pub(crate) fn of(batch: &mut Batch, existing: &[Table], needed: RareTables) -> Result<Self> {
        let mut table = |wanted: TableDefinition| {
            let found = existing.iter().find(|table| table.definition.name.eq_ignore_ascii_case(&wanted.name));
            match found {
                Some(table) => check(table, &wanted).map(|()| table.clone()),
                None => batch.create_table(&wanted),
            }
        };
        Ok(Self {
            samples: table(samples()?)?,
            histograms: if needed.histograms { Some(table(histograms()?)?) } else { None },
            exemplars: if needed.exemplars { Some(table(exemplars()?)?) } else { None },
            labels: table(labels())?,
            metadata: table(metadata())?,
        })
    }
}

/// Fails if a table with that name exists that has another form.
pub(crate) fn check(table: &Table, wanted: &TableDefinition) -> Result<()> {
    let own = |definition: &TableDefinition| -> Vec<(String, ColumnType, bool)> {
        let columns = definition.columns.iter().take(wanted.columns.len());
        columns.map(|column| (column.name.to_lowercase(), column.column_type, column.map.is_some())).collect()
    };
    if own(&table.definition) == own(wanted) {
        return Ok(());
    }
    let name = &wanted.name;
    Err(Error::usage(format!("table {name} is not one of the server's own")).with_hint(format!(
        "rename it: what Prometheus sends is stored in {SAMPLES}, {HISTOGRAMS}, {EXEMPLARS}, {LABELS} and {METADATA}"
    )))
}

/// Checks a table of samples before it is read.
pub(crate) fn check_samples(table: &Table) -> Result<()> {
    check(table, &samples()?)
}

/// Checks a table of histograms before it is read.
pub(crate) fn check_histograms(table: &Table) -> Result<()> {
    check(table, &histograms()?)
}

/// Checks a table of exemplars before it is read.
pub(crate) fn check_exemplars(table: &Table) -> Result<()> {
    check(table, &exemplars()?)
}
