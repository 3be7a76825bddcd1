//! A cut: the contents of a copy, all from one moment.
//!
//! Tables are listed as they will be in the copy: without change logs and origins, which belong to one store. A cut of
//! the whole store also has the program's own tables, such as the one of users, and the entries of schemas. A rollup
//! has its rows and all its stale times of that moment, so that the change log is not needed. The definition of an
//! identity column records where counting continues.

use crate::read::snapshot::ReadSnapshot;
use arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;
use atsdb_codec::decode_descriptor;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::time_text::{TimeForms, parse_time};
use atsdb_core::{
    ChunkEntry, ChunkUid, Error, QualifiedName, Result, Snapshot, Table, TableDefinition, TableId, TimeRange, TimeUnit,
    hex,
};
use atsdb_resident::TableState;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The number of rows of a table in memory that become one chunk, or several if they are in several slices.
const RESIDENT_ROWS: usize = 131_072;

/// A point in time, for tables of any time unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nanoseconds since the Unix epoch.
    Nanoseconds(i128),
    /// A count of each table's own unit.
    Count(i64),
}

impl Moment {
    /// Parses a text: a time in one of the forms of SQL, such as `2024-03-01`, `2024-03-01 12:00:00.5` or
    /// `2024-03-01T12:00:00+01:00` (UTC without an offset), or an integer, which counts each table's own unit. Digits
    /// beyond nanoseconds are rounded.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim();
        if let Ok(count) = text.parse() {
            return Ok(Self::Count(count));
        }
        if let Some(time) = parse_time(text.as_bytes(), &TimeForms::SQL) {
            return Ok(Self::Nanoseconds(time.nearest(TimeUnit::Nanosecond)));
        }
        // Arrow resolves the names of time zones.
        match string_to_timestamp_nanos(text) {
            Ok(nanoseconds) => Ok(Self::Nanoseconds(nanoseconds.into())),
            Err(_) => Err(Error::usage(format!("cannot read the time {text:?}")).with_hint(
                "write it as 2024-03-01 or '2024-03-01 12:00:00', in UTC, or as a count of the table's unit",
            )),
        }
    }

    /// The first count of a unit that is not before this point in time.
    fn in_unit(self, unit: TimeUnit) -> i64 {
        match self {
            Self::Count(count) => count,
            Self::Nanoseconds(nanoseconds) => {
                let step = 1_000_000_000 / i128::from(unit.per_second());
                let count = nanoseconds.div_euclid(step) + i128::from(nanoseconds.rem_euclid(step) > 0);
                i64::try_from(count).unwrap_or(if count < 0 { i64::MIN } else { i64::MAX })
            }
        }
    }
}

/// The tables and times to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names of tables, ignoring case. Empty means all tables.
    pub tables: Vec<String>,
    /// The earliest time of the rows.
    pub from: Option<Moment>,
    /// The end of the times of the rows, exclusive.
    pub to: Option<Moment>,
}

impl Selection {
    fn range(&self, definition: &TableDefinition) -> TimeRange {
        let in_unit = |moment: Option<Moment>| moment.map(|moment| moment.in_unit(definition.time_unit()));
        match definition.time {
            Some(_) => TimeRange { start: in_unit(self.from), end: in_unit(self.to) },
            None => TimeRange::ALL,
        }
    }
}

/// All or some tables of a store at one moment.
pub struct Cut {
    pub(super) source: [u8; 16],
    /// The source's URL, for messages.
    pub(super) location: String,
    /// The time it was taken, in milliseconds since the Unix epoch.
    pub(super) taken_ms: i64,
    /// Whether it has all tables of the source.
    pub(super) is_whole: bool,
    /// All tables of the source, copied or not.
    pub(super) source_tables: Vec<TableId>,
    pub(super) snapshot: CutSnapshot,
    /// The number of threads that read it.
    pub(super) readers: usize,
    tables: Vec<CutTable>,
}

/// The snapshot that a cut is read from.
pub(super) enum CutSnapshot {
    Engine(ReadSnapshot),
    Other(Box<dyn Snapshot>),
}

/// One table of a cut.
#[derive(Debug)]
pub struct CutTable {
    /// The table, with its number in the source.
    pub table: Table,
    /// The times that are copied.
    pub range: TimeRange,
    /// The sources of its rows, ordered by the numbers of chunks.
    pub chunks: Vec<CutChunk>,
}

/// The source of a chunk of the copy.
#[derive(Debug)]
pub enum CutChunk {
    /// A chunk that is copied unchanged, and its 128-bit name.
    Whole(ChunkEntry, ChunkUid),
    /// A chunk that is copied in part: only the rows in the time range, under a new name.
    Partial(ChunkEntry),
    /// Rows of a table in memory: the number of their part, and their numbers in it.
    Resident(Arc<TableState>, usize, Range<usize>),
}

impl CutChunk {
    /// Bytes of its pages, or 0 if they are not known before it is read.
    pub fn byte_count(&self) -> u64 {
        match self {
            Self::Whole(entry, _) | Self::Partial(entry) => entry.byte_count,
            Self::Resident(..) => 0,
        }
    }
}

impl fmt::Debug for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cut")
            .field("location", &self.location)
            .field("tables", &self.tables.len())
            .finish_non_exhaustive()
    }
}

impl Cut {
    /// Returns whether all rows of a table are copied. Foreign keys that refer to another one are left out of the copy:
    /// their rows may have no parents there.
    pub(super) fn has_all_of(&self, name: &QualifiedName) -> bool {
        let is_whole = |table: &CutTable| table.range == TimeRange::ALL && name.is_of(&table.table.definition);
        self.tables.iter().any(is_whole)
    }

    /// A cut of an engine's snapshot.
    pub(crate) fn of(snapshot: &ReadSnapshot, selection: &Selection) -> Result<Self> {
        let shared = &snapshot.inner.shared;
        let mut tables = selected(snapshot.tables(), snapshot.enumerations(), selection)?;
        if selection.tables.is_empty() {
            let hidden = snapshot.system_tables().chain(snapshot.entries());
            let hidden = hidden.cloned().map(|mut table| {
                table.definition.origin = None;
                table
            });
            tables.extend(hidden);
            tables.sort_by_key(|table| table.id);
        }
        let newest = snapshot.newest_chunk()?;
        // The counters are read later than the cut is taken, but no row of the cut has a number that is not reserved.
        for Table { id, definition, .. } in &mut tables {
            definition.continue_counters(|column| shared.counter(*id, column))?;
        }
        let has_range = selection.from.is_some() || selection.to.is_some();
        let all = snapshot.tables().iter().chain(snapshot.system_tables()).chain(snapshot.entries());
        for table in &mut tables {
            let Some(rollup) = &mut table.definition.rollup else { continue };
            let stale = match has_range {
                true => rollup.state.open_part((i64::MIN, i64::MAX)).into_iter().collect(),
                false => snapshot.stale_times(rollup)?,
            };
            rollup.state.stale = stale;
            rollup.state.accounted = newest;
        }
        Self {
            source: shared.store.uid(),
            location: shared.store.url().to_owned(),
            taken_ms: shared.environment.now_ms(),
            is_whole: selection.tables.is_empty(),
            source_tables: all.map(|table| table.id).collect(),
            snapshot: CutSnapshot::Engine(snapshot.clone()),
            readers: 1,
            tables: Vec::new(),
        }
        .with(tables, selection)
    }

    /// A cut of a copy, such as a backup, whose tables already have the form for a copy. `location` names the source in
    /// messages; `taken_ms` is when the copied cut was taken, in milliseconds since the Unix epoch.
    pub fn of_copy(
        source: [u8; 16],
        location: String,
        taken_ms: i64,
        is_whole: bool,
        snapshot: Box<dyn Snapshot>,
        selection: &Selection,
    ) -> Result<Self> {
        let all = snapshot.tables()?;
        let tables = selected(&all, all.iter(), selection)?;
        Self {
            source,
            location,
            taken_ms,
            is_whole: is_whole && selection.tables.is_empty(),
            source_tables: all.iter().map(|table| table.id).collect(),
            snapshot: CutSnapshot::Other(snapshot),
            readers: 1,
            tables: Vec::new(),
        }
        .with(tables, selection)
    }

    /// Sets how many threads read it, for sources where reading is mostly waiting.
    #[must_use]
    pub fn read_by(self, readers: usize) -> Self {
        Self { readers, ..self }
    }

    fn with(mut self, tables: Vec<Table>, selection: &Selection) -> Result<Self> {
        for table in tables {
            let range = selection.range(&table.definition);
            let chunks = match &self.snapshot {
                CutSnapshot::Engine(snapshot) if table.definition.is_in_memory() => rows_of(snapshot, &table)?,
                _ => None,
            };
            let chunks = chunks.map_or_else(|| self.chunks_of(&table, range), Ok)?;
            self.tables.push(CutTable { table, range, chunks });
        }
        Ok(self)
    }

    fn chunks_of(&self, table: &Table, range: TimeRange) -> Result<Vec<CutChunk>> {
        let mut entries = self.store().chunks(table.id, range)?;
        entries.sort_by_key(|entry| entry.id);
        let chunk = |entry: ChunkEntry| {
            if !range.covers(entry.time_min, entry.time_max) {
                return Ok(CutChunk::Partial(entry));
            }
            let location = || format!("table {}, chunk {}", table.definition.name, entry.id.0);
            let uid = decode_descriptor(&entry.descriptor_bytes).map_err(|error| error.context(location()))?.uid;
            Ok(CutChunk::Whole(entry, uid))
        };
        entries.into_iter().map(chunk).collect()
    }

    /// The 128-bit identity of the source store.
    pub fn source(&self) -> [u8; 16] {
        self.source
    }

    /// The identity of the source store in hexadecimal.
    pub fn source_name(&self) -> String {
        hex::encode(&self.source)
    }

    /// Returns whether it is read from the source store itself.
    pub(super) fn is_of_a_store(&self) -> bool {
        matches!(self.snapshot, CutSnapshot::Engine(_))
    }

    /// Refuses a source store whose own structures are damaged, as its lists may be incomplete. This reads all
    /// structures, so it takes time proportional to the size of the store. Backups are checked while they are read.
    ///
    /// Errors: [`Corrupt`](atsdb_core::ErrorKind::Corrupt), which names the first damage found.
    pub fn check_source(&self) -> Result<()> {
        let CutSnapshot::Engine(snapshot) = &self.snapshot else { return Ok(()) };
        let findings = snapshot.inner.shared.store.verify()?;
        let Some(first) = findings.first() else { return Ok(()) };
        let more = match findings.len() {
            1 => String::new(),
            count => format!(" (and {} more places)", count - 1),
        };
        let message = format!("{} is damaged: {}: {}{more}", self.location, first.location, first.problem);
        Err(Error::corrupt(message).with_hint(
            "atsdb verify lists all damage; restore a backup, or copy what can be read to another store with --no-verify",
        ))
    }

    /// The URL of the source store.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Returns whether it has all tables of the source store.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the time at which it was taken, in milliseconds since the Unix epoch.
    pub fn taken_ms(&self) -> i64 {
        self.taken_ms
    }

    /// Returns the tables of the snapshot as a copy has them, ordered by number.
    pub fn tables(&self) -> &[CutTable] {
        &self.tables
    }

    /// Bytes of the pages of all chunks.
    pub fn byte_count(&self) -> u64 {
        self.tables.iter().flat_map(|table| &table.chunks).map(CutChunk::byte_count).sum()
    }

    /// The strings of a mapped column, in order of index.
    pub fn dictionary(&self, table: &CutTable, column: atsdb_core::ColumnId) -> Result<Vec<Vec<u8>>> {
        self.store().mapping(table.table.id, column, 0)
    }

    pub(super) fn store(&self) -> &dyn Snapshot {
        match &self.snapshot {
            CutSnapshot::Engine(snapshot) => snapshot.inner.store.as_ref(),
            CutSnapshot::Other(snapshot) => snapshot.as_ref(),
        }
    }

    pub(super) fn new_uid(&self) -> Result<ChunkUid> {
        use crate::shared::environment::{Environment, SystemEnvironment};
        match &self.snapshot {
            CutSnapshot::Engine(snapshot) => snapshot.inner.shared.environment.chunk_uid(),
            CutSnapshot::Other(_) => SystemEnvironment.chunk_uid(),
        }
    }
}

/// The selected tables, as a copy has them. `entries` has the entries of enumerated types, among others.
fn selected<'a>(all: &[Table], entries: impl Iterator<Item = &'a Table>, selection: &Selection) -> Result<Vec<Table>> {
    for name in &selection.tables {
        if !all.iter().any(|table| same_name(&table.definition.name, name)) {
            return Err(unknown_name("table", name, all.iter().map(|table| table.definition.name.as_str())));
        }
    }
    let is_meant = |table: &Table| {
        let mut names = selection.tables.iter();
        selection.tables.is_empty() || names.any(|name| same_name(&table.definition.name, name))
    };
    let drawn_from = all.iter().filter(|table| is_meant(table)).flat_map(|table| &table.definition.columns);
    let drawn_from: Vec<&QualifiedName> = drawn_from.filter_map(|column| column.sequence.as_ref()).collect();
    // A table comes with the sequences that it takes numbers from.
    let is_drawn_from =
        |table: &Table| table.definition.sequence && drawn_from.iter().any(|name| name.is_of(&table.definition));
    let is_copied = |table: &&Table| is_meant(table) || is_drawn_from(table);
    let mut tables: Vec<Table> = all.iter().filter(is_copied).cloned().collect();
    if !selection.tables.is_empty() {
        let types = types_of(&tables, entries);
        tables.extend(types);
        tables.sort_by_key(|table| table.id);
    }
    for table in &mut tables {
        (table.definition.change_log, table.definition.origin) = (None, None);
    }
    for table in &tables {
        if let Some(rollup) = &table.definition.rollup
            && !tables.iter().any(|other| other.id == rollup.source)
        {
            let message = format!("{} is a rollup of table {}", table.definition.name, rollup.table);
            return Err(Error::usage(message).with_hint(format!("copy {} with it", rollup.table)));
        }
    }
    Ok(tables)
}

/// The entries of the enumerated types of the columns of tables: a table comes with the types that it needs.
fn types_of<'a>(tables: &[Table], all: impl Iterator<Item = &'a Table>) -> Vec<Table> {
    let is_needed = |entry: &&Table| {
        let mut needed = tables.iter().flat_map(|table| table.definition.enumerations());
        entry.definition.is_enumeration() && needed.any(|needed| needed.type_name.is_of(&entry.definition))
    };
    let entries = all.filter(is_needed).filter(|entry| tables.iter().all(|table| table.id != entry.id)).cloned();
    entries
        .map(|mut entry| {
            entry.definition.origin = None;
            entry
        })
        .collect()
}

/// The rows of a table in memory that this process uses. `None` for other tables, whose rows are in their chunks.
fn rows_of(snapshot: &ReadSnapshot, table: &Table) -> Result<Option<Vec<CutChunk>>> {
    let Some(state) = snapshot.resident_in_use(snapshot.table(&table.definition.name)?)? else { return Ok(None) };
    let ranges = state.row_ranges(RESIDENT_ROWS).into_iter();
    Ok(Some(ranges.map(|(part, rows)| CutChunk::Resident(Arc::clone(&state), part, rows)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_between_two_counts_is_the_later_one() {
        let moment = Moment::Nanoseconds(1_500_000_000);
        assert_eq!(moment.in_unit(TimeUnit::Second), 2);
        assert_eq!(moment.in_unit(TimeUnit::Millisecond), 1_500);
        assert_eq!(Moment::Nanoseconds(-1).in_unit(TimeUnit::Second), 0);
        assert_eq!(Moment::Nanoseconds(i128::MAX).in_unit(TimeUnit::Nanosecond), i64::MAX);
        assert_eq!(Moment::parse("1970-01-01T00:00:01.5Z").unwrap(), moment);
        assert_eq!(Moment::parse(" 1970-01-02 ").unwrap(), Moment::Nanoseconds(86_400_000_000_000));
        let noon = Moment::Nanoseconds(43_200_000_000_000);
        for text in ["1970/01/01 12:00", "1970-1-1 12:00 PM", "19700101T120000Z", "1970-01-01 13:00:00 Europe/Berlin"] {
            assert_eq!(Moment::parse(text).unwrap(), noon, "{text}");
        }
        assert_eq!(Moment::parse("-7").unwrap(), Moment::Count(-7));
        assert!(Moment::parse("yesterday").is_err());
        assert_eq!(Moment::Count(-7).in_unit(TimeUnit::Second), -7);
    }
}
