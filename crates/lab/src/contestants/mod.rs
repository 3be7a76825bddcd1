//! The contestants: one file each, or one folder for a family with a table of its variants.

mod arrow_rows;
mod atsdb;
mod clickhouse;
mod duckdb;
mod files;
mod http;
mod influxdb;
mod insert_text;
mod json_cells;
mod json_scan;
mod line_protocol;
mod lines;
mod mariadb;
mod parquet_files;
mod postgres;
mod questdb;
mod series;
mod served;
mod sliced;
mod sql_tokens;
mod sqlite;
mod time_unit;
mod victoria_metrics;

use crate::contestant::Contestant;
use std::sync::LazyLock;

static ALL: LazyLock<Vec<&'static dyn Contestant>> = LazyLock::new(|| {
    let mut all: Vec<&dyn Contestant> = Vec::new();
    all.extend(sqlite::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(mariadb::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(postgres::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.push(&duckdb::Duckdb);
    all.push(&clickhouse::Clickhouse);
    all.push(&questdb::Questdb);
    all.push(&influxdb::Influxdb);
    all.push(&victoria_metrics::VictoriaMetrics);
    all.extend(files::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(sliced::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(atsdb::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(served::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all
});

/// All contestants, in the order of reports. Answers are compared with the first contestant's.
pub fn all() -> &'static [&'static dyn Contestant] {
    &ALL
}
