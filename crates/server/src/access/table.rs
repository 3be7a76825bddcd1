//! The table of users: docs/format/access.md. Statements cannot name it, and every change rewrites it as a whole.

use super::crypto::random_32;
use atsdb::arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, TimestampMillisecondArray};
use atsdb::arrow::datatypes::TimestampMillisecondType;
use atsdb::name::ACCESS_TABLE;
use atsdb::{
    ColumnType, Database, Error, ErrorKind, ReadSnapshot, Result, ScanRequest, Table, TableDefinition, TimeUnit, hex,
};
use std::sync::Arc;
use strum::{IntoStaticStr, VariantArray};

/// The format of the rows.
pub(super) const FORMAT: &str = "1";

/// The maximum number of attempts at a change while others change users.
const ATTEMPTS_MAX: usize = 50;

const COLUMNS: [&str; 5] = ["user", "kind", "label", "value", "created"];

/// A row.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct AccessRow {
    pub(super) user: String,
    pub(super) kind: String,
    /// The name of a token; otherwise empty.
    pub(super) label: String,
    pub(super) value: String,
    pub(super) created_ms: i64,
}

/// The kind of a row. Its name is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub(super) enum RowKind {
    /// The format of all rows. There is always one such row, so that concurrent changes conflict.
    Format,
    /// 32 random bytes, from which the verifiers of users that do not exist are derived.
    Nobody,
    Role,
    Password,
    Token,
}

impl RowKind {
    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|kind| kind.name() == name)
    }
}

impl AccessRow {
    pub(super) fn new(user: &str, kind: RowKind, value: String, created_ms: i64) -> Self {
        let kind = kind.name().to_owned();
        Self { user: user.to_owned(), kind, label: String::new(), value, created_ms }
    }

    pub(super) fn is(&self, user: &str, kind: RowKind) -> bool {
        self.user == user && self.kind == kind.name()
    }
}

/// The contents of the table, and its revision, which shows whether it has changed.
pub(super) struct AccessTable {
    snapshot: ReadSnapshot,
    table: Option<Table>,
}

/// The revision of the rows, which differs after each change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Revision(Vec<i64>);

impl AccessTable {
    pub(super) fn of(snapshot: ReadSnapshot) -> Self {
        let table = snapshot.system_table(ACCESS_TABLE).cloned();
        Self { snapshot, table }
    }

    pub(super) fn revision(&self) -> Result<Revision> {
        let Some(table) = &self.table else { return Ok(Revision::default()) };
        let chunks = self.snapshot.chunks(table)?;
        Ok(Revision(std::iter::once(table.id.0).chain(chunks.iter().map(|chunk| chunk.id.0)).collect()))
    }

    pub(super) fn rows(&self) -> Result<Vec<AccessRow>> {
        let Some(table) = &self.table else { return Ok(Vec::new()) };
        let mut rows = Vec::new();
        for batch in self.snapshot.scan(table, &ScanRequest::all(table))?.batches() {
            read(&batch?, &mut rows)?;
        }
        Ok(rows)
    }
}

/// Changes the rows in one commit. If another writer was faster, `change` is called again with the new rows.
pub(super) fn change<T>(
    database: &Database,
    mut change: impl FnMut(&mut Vec<AccessRow>, i64) -> Result<T>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        match change_once(database, &mut change) {
            Ok(done) => return done,
            Err(error)
                if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Exists | ErrorKind::NotFound)
                    && attempt < ATTEMPTS_MAX =>
            {
                attempt += 1;
            }
            Err(error) => return Err(error.context("the users could not be changed")),
        }
    }
}

/// One attempt. The inner error is that of `change`.
fn change_once<T>(
    database: &Database,
    change: &mut impl FnMut(&mut Vec<AccessRow>, i64) -> Result<T>,
) -> Result<Result<T>> {
    let now_ms = database.engine().now_ms();
    let mut batch = database.batch(None);
    let there = AccessTable::of(batch.snapshot()?);
    let mut rows = match there.table {
        Some(_) => there.rows()?,
        None => first_rows(now_ms)?,
    };
    let done = match change(&mut rows, now_ms) {
        Ok(done) => done,
        Err(error) => return Ok(Err(error)),
    };
    let table = match there.table {
        Some(table) => {
            for chunk in there.snapshot.chunks(&table)? {
                batch.replace(&table, chunk.id, None)?;
            }
            table
        }
        None => batch.create_table(&definition())?,
    };
    batch.append(&table, &written(&rows)?)?;
    batch.commit()?;
    Ok(Ok(done))
}

fn definition() -> TableDefinition {
    let mut definition = TableDefinition { system: true, ..TableDefinition::new(ACCESS_TABLE) };
    for name in &COLUMNS[..4] {
        definition = definition.with_column(*name, ColumnType::Text, None);
    }
    let mut definition = definition.with_column(COLUMNS[4], ColumnType::Timestamp(TimeUnit::Millisecond), None);
    definition.columns.iter_mut().for_each(|column| column.nullable = false);
    definition
}

fn first_rows(now_ms: i64) -> Result<Vec<AccessRow>> {
    Ok(vec![
        AccessRow::new("", RowKind::Format, FORMAT.to_owned(), now_ms),
        AccessRow::new("", RowKind::Nobody, hex::encode(&random_32()?), now_ms),
    ])
}

fn read(batch: &RecordBatch, rows: &mut Vec<AccessRow>) -> Result<()> {
    let missing = || Error::corrupt("the table of users has other columns than this program writes");
    let column = |name| batch.column_by_name(name).ok_or_else(missing);
    let texts = |name| column(name).and_then(|column| column.as_string_opt::<i32>().ok_or_else(missing));
    let [user, kind, label, value] = [texts("user")?, texts("kind")?, texts("label")?, texts("value")?];
    let created = column("created")?.as_primitive_opt::<TimestampMillisecondType>().ok_or_else(missing)?;
    rows.extend((0..batch.num_rows()).map(|row| AccessRow {
        user: user.value(row).to_owned(),
        kind: kind.value(row).to_owned(),
        label: label.value(row).to_owned(),
        value: value.value(row).to_owned(),
        created_ms: created.value(row),
    }));
    Ok(())
}

fn written(rows: &[AccessRow]) -> Result<RecordBatch> {
    let texts =
        |of: fn(&AccessRow) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(of))) };
    let created = TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.created_ms));
    let columns: [ArrayRef; 5] = [
        texts(|row| &row.user),
        texts(|row| &row.kind),
        texts(|row| &row.label),
        texts(|row| &row.value),
        Arc::new(created.with_timezone("UTC")),
    ];
    RecordBatch::try_from_iter(COLUMNS.into_iter().zip(columns))
        .map_err(|error| Error::internal("the rows of users are of different lengths").with_source(error))
}
