//! Batches whose rows follow from their number: a reader can tell which batches a store has, whether each is complete,
//! and whether every value is right.

use arrow::array::{ArrayRef, AsArray, BinaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::{SortColumn, cast, concat_batches, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use atsdb::{
    BatchId, ColumnType, CommitOutcome, Database, MapWidth, ReadSnapshot, Result, ScanRequest, TableDefinition,
    TimeUnit,
};
use atsdb_testkit::sample::Random;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The contents of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Rows of two tables and two slices.
    Small,
    /// The same, plus 60,000 bytes that do not compress.
    Bulky,
    /// The same, plus one of these in turn: nothing, a table of its own with more rows than a chunk takes, or more
    /// bytes than a batch keeps in memory. The latter two are written ahead into a stage.
    Import,
}

/// The rows of a batch for one table.
pub(crate) struct ContentPart {
    pub(crate) table: String,
    pub(crate) creates: bool,
    pub(crate) rows: RecordBatch,
}

pub(crate) const READINGS_PER_BATCH: u64 = 24;
pub(crate) const EVENTS_PER_BATCH: u64 = 7;
const DAY: i64 = 86_400;

fn definition(name: &str) -> TableDefinition {
    TableDefinition::new(name)
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("batch", ColumnType::Int64, None)
        .with_column("position", ColumnType::Int32, None)
}

fn with_time(definition: TableDefinition) -> TableDefinition {
    definition.with_time("time", TimeUnit::Second).unwrap()
}

pub(crate) fn own_table(number: u64) -> TableDefinition {
    with_time(definition(&format!("file_{number}")).with_column("device", ColumnType::Text, Some(MapWidth::U16)))
}

/// Creates the tables that all batches write to.
pub(crate) fn create_tables(db: &Database) {
    let readings = definition("readings")
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
        .with_column("status", ColumnType::Text, Some(MapWidth::U8))
        .with_column("value", ColumnType::Float64, None);
    let events = definition("events").with_column("kind", ColumnType::Text, Some(MapWidth::U16)).with_column(
        "note",
        ColumnType::Text,
        None,
    );
    let noise = definition("noise").with_column("bytes", ColumnType::Binary, None);
    for definition in [readings, events, noise] {
        db.engine().create_table(&with_time(definition)).unwrap();
    }
}

/// Returns the parts of a batch.
pub(crate) fn parts(shape: Shape, number: u64) -> Vec<ContentPart> {
    let mut parts = vec![
        part(
            "readings",
            number,
            READINGS_PER_BATCH as usize,
            |row| row as i64 % 2 * DAY,
            |rows| {
                let sensors: StringArray = rows.map(|row| Some(sensor(number, row))).collect();
                let states = ["ok", "late", "off", ""];
                let states: StringArray = rows.map(|row| states.get((number as usize + row) % 5)).collect();
                let values: Float64Array =
                    rows.map(|row| (row % 7 > 0).then(|| number as f64 / (row + 3) as f64)).collect();
                vec![
                    ("sensor", Arc::new(sensors) as ArrayRef),
                    ("status", Arc::new(states)),
                    ("value", Arc::new(values)),
                ]
            },
        ),
        part(
            "events",
            number,
            EVENTS_PER_BATCH as usize,
            |row| row as i64 % 3 * DAY,
            |rows| {
                let kinds: StringArray =
                    rows.map(|row| Some(format!("kind {}", (number as usize + row) % 90))).collect();
                let notes: StringArray = rows.map(|row| Some(format!("note {number} {row}"))).collect();
                vec![("kind", Arc::new(kinds) as ArrayRef), ("note", Arc::new(notes))]
            },
        ),
    ];
    match (shape, number % 6) {
        (Shape::Bulky, _) => parts.push(noise(number, 60, 1_000)),
        (Shape::Import, 1 | 4) => {
            let device = |row: usize| format!("device {}", (number as usize + row) % 40);
            let mut own = part(
                &format!("file_{number}"),
                number,
                140_000,
                |_| 0,
                |rows| {
                    vec![("device", Arc::new(rows.map(|row| Some(device(row))).collect::<StringArray>()) as ArrayRef)]
                },
            );
            own.creates = true;
            parts.push(own);
        }
        (Shape::Import, 3) => parts.push(noise(number, 300, 64_000)),
        _ => {}
    }
    parts
}

/// Some strings are common to all batches, some are new in each.
fn sensor(number: u64, row: usize) -> String {
    match row % 4 {
        0 => format!("sensor of {number}"),
        _ => format!("sensor {}", number as usize % 1_000 + row % 11),
    }
}

fn noise(number: u64, row_count: usize, row_bytes: usize) -> ContentPart {
    part(
        "noise",
        number,
        row_count,
        |_| 0,
        |rows| {
            let value = |row: usize| {
                let mut random = Random::new(number << 20 | row as u64);
                let mut bytes = Vec::with_capacity(row_bytes + 8);
                while bytes.len() < row_bytes {
                    bytes.extend_from_slice(&random.bits().to_le_bytes());
                }
                bytes
            };
            vec![("bytes", Arc::new(BinaryArray::from_iter_values(rows.map(value))) as ArrayRef)]
        },
    )
}

#[derive(Clone, Copy)]
struct Rows(usize);

impl Rows {
    fn map<T>(self, value: impl FnMut(usize) -> T) -> impl Iterator<Item = T> {
        (0..self.0).map(value)
    }
}

fn part(
    table: &str,
    number: u64,
    row_count: usize,
    day: impl Fn(usize) -> i64,
    columns: impl FnOnce(Rows) -> Vec<(&'static str, ArrayRef)>,
) -> ContentPart {
    let times =
        (0..row_count).map(|row| 1_700_000_000 / DAY * DAY + day(row) + (number as i64 * 41 + row as i64) % DAY);
    let mut all = vec![
        ("time", Arc::new(times.collect::<Int64Array>()) as ArrayRef),
        ("batch", Arc::new(Int64Array::from(vec![number as i64; row_count]))),
        ("position", Arc::new(Int32Array::from_iter_values(0..row_count as i32))),
    ];
    all.extend(columns(Rows(row_count)));
    ContentPart { table: table.into(), creates: false, rows: RecordBatch::try_from_iter(all).unwrap() }
}

/// Sends a batch under its own id.
pub(crate) fn send(db: &Database, shape: Shape, number: u64) -> Result<CommitOutcome> {
    send_as(db, shape, number, &format!("batch {number}"))
}

pub(crate) fn send_as(db: &Database, shape: Shape, number: u64, id: &str) -> Result<CommitOutcome> {
    let snapshot = db.snapshot()?;
    let mut batch = db.batch(Some(BatchId::new(id)?));
    for part in parts(shape, number) {
        // If the first attempt created the table, the second attempt uses it.
        let known = snapshot.table(&part.table);
        let table = match known {
            Err(_) if part.creates => batch.create_table(&own_table(number))?,
            known => known?.clone(),
        };
        batch.append(&table, &part.rows)?;
    }
    drop(snapshot);
    batch.commit()
}

/// All rows of all tables, ordered by batch and position. Mapped strings are returned as strings.
pub(crate) fn read(snapshot: &ReadSnapshot) -> Result<BTreeMap<String, RecordBatch>> {
    snapshot.tables().iter().map(|table| Ok((table.definition.name.clone(), read_table(snapshot, table)?))).collect()
}

fn read_table(snapshot: &ReadSnapshot, table: &atsdb::Table) -> Result<RecordBatch> {
    let scan = snapshot.scan(table, &ScanRequest::all(table))?;
    let plain = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, value) => value.as_ref().clone(),
        DataType::Timestamp(..) => DataType::Int64,
        other => other.clone(),
    };
    let fields = scan
        .schema()
        .fields()
        .iter()
        .map(|field| Field::new(field.name(), plain(field.data_type()), true))
        .collect::<Vec<_>>();
    let schema = Arc::new(Schema::new(fields));
    let batches = scan.batches().map(|batch| {
        let batch = batch?;
        let columns = batch.columns().iter().map(|column| cast(column, &plain(column.data_type())).unwrap());
        Ok(RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap())
    });
    let batches = batches.collect::<Result<Vec<_>>>()?;
    let rows = concat_batches(&schema, &batches).unwrap();
    let key = |position: usize| SortColumn { values: Arc::clone(rows.column(position)), options: None };
    let order = lexsort_to_indices(&[key(1), key(2)], None).unwrap();
    Ok(take_record_batch(&rows, &order).unwrap())
}

/// The numbers of all batches, taken from the readings, of which every batch has some.
pub(crate) fn numbers(rows: &BTreeMap<String, RecordBatch>) -> Vec<u64> {
    let mut numbers: Vec<u64> =
        rows["readings"].column(1).as_primitive::<Int64Type>().values().iter().map(|number| *number as u64).collect();
    numbers.dedup();
    numbers
}

/// Fails unless the rows are exactly those of the batches with these numbers (ascending): each batch complete, each row
/// once, each value right.
pub(crate) fn assert_batches(
    rows: &BTreeMap<String, RecordBatch>,
    shape: Shape,
    numbers: impl IntoIterator<Item = u64>,
) {
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for number in numbers {
        for part in parts(shape, number) {
            let Some(table) = rows.get(&part.table) else { panic!("table {} is missing", part.table) };
            let end = ends.entry(part.table.clone()).or_default();
            let length = part.rows.num_rows().min(table.num_rows() - *end);
            let found = table.slice(*end, length);
            assert!(
                found.columns() == part.rows.columns(),
                "table {}, batch {number} is not what was sent",
                part.table
            );
            *end += length;
        }
    }
    for (name, table) in rows {
        let end = ends.get(name).copied().unwrap_or(0);
        assert_eq!(table.num_rows(), end, "table {name} has rows of other batches");
        assert!(end > 0 || !name.starts_with("file_"), "table {name} of a batch that is not there");
    }
}

/// Fails unless the store is undamaged and its dictionaries hold each string once.
pub(crate) fn assert_sound(db: &Database) {
    let report = db.engine().verify(None).unwrap();
    assert_eq!(report.findings, []);
    let snapshot = db.engine().store().snapshot().unwrap();
    for table in snapshot.tables().unwrap() {
        for column in table.definition.columns.iter().filter(|column| column.map.is_some()) {
            let strings = snapshot.mapping(table.id, column.id, 0).unwrap();
            let distinct: std::collections::BTreeSet<_> = strings.iter().collect();
            assert_eq!(distinct.len(), strings.len(), "{} has a string twice", column.name);
        }
    }
}
