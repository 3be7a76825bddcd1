//! The contestants: one file each, or one folder for a family with a table of its variants.

mod atsdb;
mod duckdb;
mod files;
mod insert_text;
mod lines;
mod mariadb;
mod postgres;
mod sliced;
mod sqlite;

use crate::contestant::Contestant;
use ::atsdb::TableDefinition;
use std::sync::LazyLock;

static ALL: LazyLock<Vec<&'static dyn Contestant>> = LazyLock::new(|| {
    let mut all: Vec<&dyn Contestant> = Vec::new();
    all.extend(sqlite::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(mariadb::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(postgres::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.push(&duckdb::Duckdb);
    all.extend(files::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(sliced::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all.extend(atsdb::VARIANTS.iter().map(|variant| variant as &dyn Contestant));
    all
});

/// All of them, in the order in which reports show them. Answers are compared with those of the first.
pub fn all() -> &'static [&'static dyn Contestant] {
    &ALL
}

/// How much of a table's time is a second.
fn per_second(table: &TableDefinition) -> i64 {
    table.time.map_or(1, |time| time.unit.per_second())
}
