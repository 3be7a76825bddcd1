//! A snapshot of a store, for reading rows.

use crate::shared::Shared;
use crate::shared::definitions::changed_meanwhile;
use crate::shared::greatest_keys::Moment;
use crate::shared::listed_tables::{ListedTables, SharedTable};
use crate::shared::temporary::TemporaryTables;
use arrow::array::ArrayRef;
use atsdb_codec::{decode_descriptor, decode_page, stored_type};
use atsdb_core::name::{name_key, same_name, unknown_name};
use atsdb_core::{
    ChunkDescriptor, ChunkEntry, ChunkId, ChunkUid, Column, ColumnId, DefinitionGuard, Error, Result, SearchPath,
    Snapshot, Table, TableId,
};
use atsdb_resident::ResidentSnapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A consistent view of all tables. Clones are cheap. Later changes do not show in it.
#[derive(Clone)]
pub struct ReadSnapshot {
    pub(crate) inner: Arc<Inner>,
    /// The temporary tables of a session, and after them those of the store. `None` without temporary tables.
    shown: Option<Arc<[Table]>>,
    /// The session's search path.
    search_path: SearchPath,
}

pub(crate) struct Inner {
    pub(crate) store: Box<dyn Snapshot>,
    pub(crate) tables: Arc<[Table]>,
    /// Tables that are hidden from users: change logs, and those of the program.
    pub(crate) hidden: Arc<[Table]>,
    /// The chunks in the batch's stage, in the snapshot of a batch.
    pub(crate) staged: BTreeSet<ChunkId>,
    /// The state that a batch has read, in the snapshot of the batch.
    pub(crate) seen: Option<ReadSnapshot>,
    /// A moment before the snapshot was taken from the store. `None` in the snapshot of a batch.
    pub(crate) begun: Option<Moment>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) residents: ResidentSnapshot,
    /// Whether pages are read from the store even if this machine has them.
    pub(crate) past_caches: bool,
}

impl fmt::Debug for ReadSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadSnapshot").field("tables", &self.inner.tables.len()).finish_non_exhaustive()
    }
}

impl ReadSnapshot {
    /// Takes a snapshot of the present state.
    pub(crate) fn take(shared: &Arc<Shared>) -> Result<Self> {
        Self::take_with(shared, false)
    }

    /// Takes a snapshot that reads all pages from the store, even if this machine has them.
    pub(crate) fn take_past_caches(shared: &Arc<Shared>) -> Result<Self> {
        Self::take_with(shared, true)
    }

    fn take_with(shared: &Arc<Shared>, past_caches: bool) -> Result<Self> {
        let shared = Arc::clone(shared);
        let begun = Some(shared.greatest_keys.now());
        // Both at one moment: a transaction over stored tables and tables in memory is seen as a whole or not at all.
        let (store, residents) = shared.residents.beside(|| shared.store.snapshot())?;
        let ListedTables { shown: tables, hidden } = shared.listed.of(store.as_ref())?;
        shared.note_tables(&tables);
        let (staged, seen) = (BTreeSet::new(), None);
        Ok(Self::of(Inner { store, tables, hidden, staged, seen, begun, shared, residents, past_caches }))
    }

    pub(crate) fn of(inner: Inner) -> Self {
        Self { inner: Arc::new(inner), shown: None, search_path: SearchPath::DEFAULT }
    }

    /// Returns the snapshot as a session with these temporary tables and this search path sees it.
    pub fn with_temporary(self, temporary: &TemporaryTables) -> Self {
        let search_path = temporary.search_path();
        match temporary.is_empty() {
            true => Self { search_path, ..self },
            false => self.with_shown(&temporary.tables(), search_path),
        }
    }

    pub(crate) fn with_shown(self, temporary: &[Table], search_path: SearchPath) -> Self {
        let shown =
            (!temporary.is_empty()).then(|| temporary.iter().chain(self.inner.tables.iter()).cloned().collect());
        Self { inner: self.inner, shown, search_path }
    }

    /// Returns the snapshot as the query of a view or rollup sees it: without a search path and, unless the view is
    /// temporary itself, without temporary tables.
    pub fn seen_by(&self, table: &Table) -> Self {
        let shown = self.shown.clone().filter(|_| TemporaryTables::contain(table));
        Self { inner: Arc::clone(&self.inner), shown, search_path: SearchPath::DEFAULT }
    }

    /// The session's search path.
    pub fn search_path(&self) -> &SearchPath {
        &self.search_path
    }

    /// The tables: temporary ones, then those of the store, ordered by number. Of two tables with the same name, the
    /// first one is meant.
    pub fn tables(&self) -> &[Table] {
        self.shown.as_deref().unwrap_or(&self.inner.tables)
    }

    /// Looks a table up by name, ignoring case.
    pub fn table(&self, name: &str) -> Result<&Table> {
        find_table(self.tables(), name)
    }

    /// The table of the program with this name, which users do not see.
    pub fn system_table(&self, name: &str) -> Option<&Table> {
        self.system_tables().find(|table| table.definition.name == name)
    }

    /// The tables of the program, which copies of the whole store include.
    pub(crate) fn system_tables(&self) -> impl Iterator<Item = &Table> {
        self.inner.hidden.iter().filter(|table| table.definition.system)
    }

    /// The names of the schemas besides `public`, in order: those that were created, and those of tables.
    pub fn schemas(&self) -> Vec<String> {
        schema_names(self.inner.tables.iter().chain(self.inner.hidden.iter()))
    }

    /// The entries of the schemas that were created, and of the enumerated types.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Table> {
        self.inner.hidden.iter().filter(|table| table.definition.is_entry())
    }

    /// The entries of the enumerated types.
    pub fn enumerations(&self) -> impl Iterator<Item = &Table> {
        self.entries().filter(|table| table.definition.is_enumeration())
    }

    /// Looks a table, hidden or not, up by number.
    pub fn table_by_id(&self, id: TableId) -> Option<&Table> {
        self.tables().iter().chain(self.inner.hidden.iter()).find(|table| table.id == id)
    }

    /// The same table. It is not copied if it is one of the snapshot's.
    pub fn shared_table(&self, table: &Table) -> SharedTable {
        let mut lists = self.shown.iter().chain([&self.inner.tables, &self.inner.hidden]);
        lists.find_map(|list| SharedTable::among(list, table)).unwrap_or_else(|| SharedTable::from(table.clone()))
    }

    /// The definitions that a change of a table's chunks relies on: the table's own, which also determines whether the
    /// change must be logged, and that of its change log.
    pub(crate) fn based_on(&self, table: &Table) -> Vec<DefinitionGuard> {
        let tables = std::iter::once(table).chain(self.log_of(table));
        tables.map(DefinitionGuard::of).collect()
    }

    /// Refuses a table with another definition than the snapshot's: positions and types of columns may differ.
    pub(crate) fn require(&self, table: &Table) -> Result<()> {
        match self.table_by_id(table.id) {
            Some(own) if own.version == table.version => Ok(()),
            Some(_) => Err(changed_meanwhile(&table.definition)),
            None => Err(Error::not_found(format!("table {} was dropped", table.definition.name))),
        }
    }
}

impl Inner {
    /// The descriptor of a chunk, checked against the store's list.
    pub(crate) fn descriptor(&self, table: &Table, entry: &ChunkEntry) -> Result<Arc<ChunkDescriptor>> {
        let location = || format!("table {}, chunk {}", table.definition.name, entry.id.0);
        let descriptor = if self.past_caches {
            decode_descriptor(&entry.descriptor_bytes).map(Arc::new)
        } else {
            self.shared.cache.descriptor(&entry.descriptor_bytes)
        };
        let descriptor = descriptor.map_err(|error| error.context(location()))?;
        let same = descriptor.row_count == entry.row_count
            && descriptor.slice.start == entry.slice_start
            && descriptor.sealed == entry.sealed
            && descriptor.byte_count() == entry.byte_count
            && (descriptor.time_min, descriptor.time_max) == (entry.time_min, entry.time_max);
        match same {
            true => Ok(descriptor),
            false => Err(Error::corrupt("the store's list and the chunk's descriptor disagree").context(location())),
        }
    }

    /// Returns the result of `present` for a column, or the filter of an index, that this process has in memory:
    /// preloaded, or cached if `use_cache` is set. `None` if it has none. `present` returns `None` for an array of an
    /// older definition.
    pub(crate) fn in_memory<T>(
        &self,
        chunk: ChunkUid,
        id: ColumnId,
        use_cache: bool,
        present: impl Fn(ArrayRef) -> Option<T>,
    ) -> Option<T> {
        let preloaded = if self.past_caches { None } else { self.shared.preloaded.get(chunk, id) };
        let cached = || if use_cache { self.shared.cache.get(chunk, id) } else { None };
        preloaded.and_then(&present).or_else(|| cached().and_then(&present))
    }

    /// Returns the columns of a chunk that are in memory, in stored form and in the order requested; `None` for the
    /// others.
    pub(crate) fn columns_in_memory(
        &self,
        descriptor: &ChunkDescriptor,
        columns: &[&Column],
        use_cache: bool,
    ) -> Vec<Option<ArrayRef>> {
        let cached = |column: &&Column| {
            // The array may be from before the column was widened.
            self.in_memory(descriptor.uid, column.id, use_cache, |array| {
                (*array.data_type() == stored_type(column)).then_some(array)
            })
        };
        columns.iter().map(cached).collect()
    }

    /// Columns of a chunk in stored form, in the order requested. A column that is newer than the chunk is `None`.
    pub(crate) fn columns(
        &self,
        table: &Table,
        entry: &ChunkEntry,
        descriptor: &ChunkDescriptor,
        columns: &[&Column],
        use_cache: bool,
    ) -> Result<Vec<Option<ArrayRef>>> {
        let mut arrays = self.columns_in_memory(descriptor, columns, use_cache);
        let wanted = |position: &usize| arrays[*position].is_none() && descriptor.page(columns[*position].id).is_some();
        let missing: Vec<usize> = (0..columns.len()).filter(wanted).collect();
        if missing.is_empty() {
            return Ok(arrays);
        }
        let ids: Vec<_> = missing.iter().map(|position| columns[*position].id).collect();
        let location = || format!("table {}, chunk {}", table.definition.name, entry.id.0);
        let pages = self.pages(table, entry, descriptor, &ids).map_err(|error| error.context(location()))?;
        for (position, page) in missing.into_iter().zip(pages) {
            let column = columns[position];
            let array = decode_page(descriptor.uid, column, entry.row_count as usize, &page)
                .map_err(|error| error.context(format_args!("{}, column {}", location(), column.name)))?;
            if use_cache {
                self.shared.cache.put(descriptor.uid, column.id, &array);
            }
            arrays[position] = Some(array);
        }
        Ok(arrays)
    }
}

/// The names of the schemas of tables and of entries, in order, each once.
pub(crate) fn schema_names<'a>(tables: impl IntoIterator<Item = &'a Table>) -> Vec<String> {
    let named = tables.into_iter().filter_map(|table| table.definition.schema.as_ref());
    let by_key: BTreeMap<String, &String> = named.map(|schema| (name_key(schema), schema)).collect();
    by_key.into_values().cloned().collect()
}

/// Looks a table up by name, ignoring case. The error names the most similar name.
pub(crate) fn find_table<'a>(tables: &'a [Table], name: &str) -> Result<&'a Table> {
    tables
        .iter()
        .find(|table| same_name(&table.definition.name, name))
        .ok_or_else(|| unknown_name("table", name, tables.iter().map(|table| table.definition.name.as_str())))
}
