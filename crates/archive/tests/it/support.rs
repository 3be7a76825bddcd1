//! Shared helpers: stores of every kind, tables with many kinds of columns, and comparisons.

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use atsdb_core::{
    ChunkId, ColumnId, ColumnType, Durability, Index, MapWidth, RollupState, SliceWidth, Store, Table, TableDefinition,
    TableId, TimeRange, TimeUnit,
};
use atsdb_engine::{ContentHash, CopyOptions, CopyReport, Engine, EngineOptions, Selection};
use atsdb_memory::MemoryStore;
use atsdb_mysql::MysqlStore;
use atsdb_postgres::PostgresStore;
use atsdb_sqlite::{SplitLayout, SqliteOptions, SqliteStore};
use atsdb_sqlstore::ServerOptions;
use atsdb_testkit::sample::Random;
use atsdb_testkit::server::{self, ServerKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const DAY: i64 = 86_400;

pub(crate) fn engine(store: Arc<dyn Store>) -> Engine {
    Engine::new(store, EngineOptions { maintenance: false, ..EngineOptions::default() }).unwrap()
}

pub(crate) fn memory() -> Engine {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let mut uid = [7; 16];
    uid[..4].copy_from_slice(&NEXT.fetch_add(1, Ordering::SeqCst).to_le_bytes());
    engine(Arc::new(MemoryStore::new(uid)))
}

pub(crate) fn sqlite(path: &Path) -> Engine {
    let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
    engine(Arc::new(SqliteStore::open(path, &options).unwrap()))
}

/// A store that is split into many files.
pub(crate) fn split(path: &Path) -> Engine {
    let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
    engine(Arc::new(SqliteStore::open_split(path, &options, SplitLayout::parse("split=slice").unwrap()).unwrap()))
}

/// An empty store on a server of that kind, if one is installed.
pub(crate) fn on_server(kind: ServerKind) -> Option<Engine> {
    let url = server::shared(kind)?.database();
    let options = ServerOptions { durability: Durability::Off, ..ServerOptions::default() };
    let opened = match kind {
        ServerKind::Postgres => PostgresStore::open(&url, None, &options),
        ServerKind::Mariadb | ServerKind::Mysql => MysqlStore::open(&url, None, &options),
    };
    Some(engine(Arc::new(opened.unwrap().0)))
}

pub(crate) fn everything() -> Selection {
    Selection::default()
}

pub(crate) fn copy(source: &Engine, target: &Engine) -> atsdb_core::Result<CopyReport> {
    copy_with(source, target, &CopyOptions { verify: true, ..CopyOptions::default() })
}

pub(crate) fn copy_with(source: &Engine, target: &Engine, options: &CopyOptions) -> atsdb_core::Result<CopyReport> {
    target.copy_from(&source.cut(&options.selection)?, options)
}

pub(crate) fn readings(name: &str) -> TableDefinition {
    let mut definition = TableDefinition::new(name)
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
        .with_column("value", ColumnType::Float64, None)
        .with_column("note", ColumnType::Text, None)
        .with_time("time", TimeUnit::Second)
        .unwrap();
    definition.slice = SliceWidth::Day;
    let id = definition.next_index_id();
    definition.indexes.push(Index { id, name: "by_sensor".to_owned(), columns: vec![ColumnId(1)] });
    definition.indexes_given = 1;
    definition
}

/// Rows of one day whose values do not compress.
pub(crate) fn rows(day: i64, count: usize) -> RecordBatch {
    let mut random = Random::new(day as u64 + 1);
    let mut pick = |most: u64| random.below(most);
    let times = Int64Array::from_iter_values((0..count as i64).map(|row| day * DAY + row % DAY));
    let times = arrow::compute::cast(&times, &atsdb_codec::logical_type(&readings("t").columns[0])).unwrap();
    let sensors: StringArray = (0..count).map(|_| Some(format!("sensor {}", pick(20) + day as u64))).collect();
    let values: Float64Array =
        (0..count)
            .map(|row| {
                if row % 11 == 0 { None } else { Some(f64::from_bits(pick(u64::MAX) & !(0x7ff << 52) | (1023 << 52))) }
            })
            .collect();
    let notes: StringArray = (0..count).map(|row| (row % 3 > 0).then(|| format!("note \0 {row}"))).collect();
    let columns: Vec<(&str, ArrayRef)> =
        vec![("time", times), ("sensor", Arc::new(sensors)), ("value", Arc::new(values)), ("note", Arc::new(notes))];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

pub(crate) fn append(engine: &Engine, table: &Table, rows: &RecordBatch) {
    let mut batch = engine.batch(None);
    batch.append(table, rows).unwrap();
    batch.commit().unwrap();
}

/// Creates tables of every kind: sealed, half sealed, fresh, without time, empty, and a view.
pub(crate) fn fill(engine: &Engine) -> Table {
    let table = engine.create_table(&readings("Readings")).unwrap();
    for day in 0..4 {
        append(engine, &table, &rows(day, 400));
        append(engine, &table, &rows(day, 300));
        if day == 2 {
            engine.recompress(Some(&table)).unwrap();
        }
    }
    let plain = TableDefinition::new("sensors").with_column("name", ColumnType::Text, Some(MapWidth::U16));
    let plain = engine.create_table(&plain).unwrap();
    let names: ArrayRef = Arc::new(StringArray::from(vec!["a", "", "B"]));
    append(engine, &plain, &RecordBatch::try_from_iter([("name", names)]).unwrap());
    engine.create_table(&readings("empty")).unwrap();
    engine.create_table(&TableDefinition::new_view("v", "SELECT count(*) FROM readings")).unwrap();
    table
}

pub(crate) fn hashes(engine: &Engine) -> Vec<ContentHash> {
    engine.content_hashes(None).unwrap()
}

/// Returns each table's definition, without the fields that differ between stores, and its numbers of sealed and fresh
/// chunks.
pub(crate) fn shape(engine: &Engine) -> Vec<(TableDefinition, usize, usize)> {
    let snapshot = engine.snapshot().unwrap();
    let of_table = |table: &Table| {
        let mut definition = table.definition.clone();
        (definition.origin, definition.change_log) = (None, None);
        if let Some(rollup) = &mut definition.rollup {
            (rollup.source, rollup.state) = (TableId(0), RollupState::new(ChunkId(0)));
        }
        let chunks = snapshot.chunks(table).unwrap();
        let sealed = chunks.iter().filter(|entry| entry.sealed).count();
        (definition, sealed, chunks.len() - sealed)
    };
    let mut shape: Vec<_> = snapshot.tables().iter().map(of_table).collect();
    shape.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    shape
}

#[track_caller]
pub(crate) fn assert_same(source: &Engine, target: &Engine) {
    assert_eq!(hashes(source), hashes(target));
    assert_eq!(shape(source), shape(target));
    let report = target.verify(None).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

/// Returns the descriptors of a table's chunks, sorted.
pub(crate) fn descriptors(engine: &Engine, table: &str) -> Vec<Vec<u8>> {
    let snapshot = engine.store().snapshot().unwrap();
    let table = engine.table(table).unwrap();
    let chunks = snapshot.chunks(table.id, TimeRange::ALL).unwrap();
    let mut all: Vec<_> = chunks.into_iter().map(|entry| entry.descriptor_bytes).collect();
    all.sort();
    all
}

/// Returns a command that runs one test of this program, with the folder in the environment.
pub(crate) fn other_process(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env("ATSDB_TEST_FOLDER", folder);
    command.stdout(Stdio::null());
    command
}

/// Returns the folder, if this is such a process.
pub(crate) fn as_other_process() -> Option<PathBuf> {
    std::env::var_os("ATSDB_TEST_FOLDER").map(PathBuf::from)
}
