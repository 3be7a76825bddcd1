//! The stage of a copy before its commit: tables and chunks in the target, which no reader sees.
//!
//! An interrupted copy leaves its stage behind. The next copy of the same source finds the stage by its contents, uses
//! what it still needs and discards the rest.

use crate::copy::cut::{Cut, CutChunk, CutTable};
use crate::copy::options::CopyReport;
use crate::copy::plan::{Plan, TableAction};
use crate::copy::read::check_pages;
use crate::shared::environment::Environment;
use crate::shared::origin::fingerprint;
use atsdb_codec::decode_descriptor;
use atsdb_core::{
    Amendment, ChunkEntry, ChunkId, ChunkUid, Column, ColumnId, Error, ErrorKind, Origin, Result, Snapshot, StageId,
    Store, Table, TableDefinition, TableId, TimeRange,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The number of strings that are sent to the target's dictionaries at a time.
const STRINGS_PER_CALL: usize = 20_000;

/// Chunks that the target lacks, each with the position of its table in the cut.
type MissingChunks<'c> = Vec<(usize, &'c CutChunk)>;

/// The stage of a copy. It is opened when it is first needed.
pub(super) struct CopyStage<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) environment: &'a dyn Environment,
    pub(super) stage: Option<StageId>,
    /// The staged tables, by the number of their table in the cut.
    pub(super) tables: BTreeMap<TableId, Table>,
}

/// The changes of one table of the target, and its chunks after the commit.
pub(super) struct TargetTable {
    /// The number of the table in the target.
    pub(super) id: TableId,
    /// Visible chunks to remove.
    pub(super) remove: Vec<ChunkId>,
    /// Visible chunks that get further pages.
    pub(super) amend: Vec<Amendment>,
    /// The encoded descriptors of all its chunks after the commit, and whether the chunk is staged.
    pub(super) descriptors: Vec<(Vec<u8>, bool)>,
}

impl TargetTable {
    /// The fingerprint of the table after the commit, under this definition.
    pub(super) fn fingerprint(&self, definition: &TableDefinition) -> Result<u64> {
        fingerprint(definition, self.descriptors.iter().map(|(bytes, _)| bytes.as_slice()))
    }
}

/// A chunk of the target.
struct TargetChunk {
    entry: ChunkEntry,
    is_staged: bool,
}

impl<'a> CopyStage<'a> {
    /// The stage left by an interrupted copy of the same source, or a new one.
    pub(super) fn find(cut: &Cut, plan: &Plan, store: &'a dyn Store, environment: &'a dyn Environment) -> Result<Self> {
        let mut staged = Self { store, environment, stage: None, tables: BTreeMap::new() };
        for stage in store.stages()? {
            let Some(tables) = staged.left_behind(cut, plan, stage)? else { continue };
            if staged.stage.is_some() {
                store.abandon_stage(stage)?;
                continue;
            }
            staged.stage = Some(stage);
            for table in tables {
                match staged.resumable(cut, plan, stage, &table)? {
                    Some(number) => drop(staged.tables.insert(number, table)),
                    None => store.unstage_table(stage, table.id)?,
                }
            }
        }
        Ok(staged)
    }

    /// The tables of a stage, if an interrupted copy of the same source left it.
    fn left_behind(&self, cut: &Cut, plan: &Plan, stage: StageId) -> Result<Option<Vec<Table>>> {
        let snapshot = match self.store.stage_snapshot(stage) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            snapshot => snapshot?,
        };
        let tables = snapshot.tables()?;
        let source = cut.source_name();
        let is_ours = |table: &Table| table.definition.origin.as_ref().is_some_and(|origin| origin.store == source);
        if tables.iter().any(is_ours) {
            return Ok(Some(tables));
        }
        // A copy that only updates tables creates none. Its chunks identify it: no other stage has chunks of these
        // names.
        for (table, action) in cut.tables().iter().zip(&plan.actions) {
            let TableAction::Update(there) = action else { continue };
            let known = uids(table);
            let chunks = snapshot.chunks(there.id, TimeRange::ALL)?;
            let mut names = chunks.iter().filter_map(|entry| decode_descriptor(&entry.descriptor_bytes).ok());
            if names.any(|descriptor| known.contains(&descriptor.uid)) {
                return Ok(Some(tables));
            }
        }
        Ok(None)
    }

    /// The number in the cut of the table for which a staged table can be resumed.
    fn resumable(&self, cut: &Cut, plan: &Plan, stage: StageId, table: &Table) -> Result<Option<TableId>> {
        let Some(origin) = &table.definition.origin else { return Ok(None) };
        if origin.store != cut.source_name() || self.tables.contains_key(&origin.table) {
            return Ok(None);
        }
        let mut wanted = cut.tables().iter().zip(&plan.actions);
        let wanted =
            wanted.find(|(wanted, action)| wanted.table.id == origin.table && matches!(action, TableAction::Create));
        let Some((wanted, _)) = wanted else { return Ok(None) };
        if table.definition != staged_definition(cut, wanted, origin.copied_ms) {
            return Ok(None);
        }
        let snapshot = self.store.stage_snapshot(stage)?;
        for column in mapped(wanted) {
            let (source, target) = (cut.dictionary(wanted, column.id)?, snapshot.mapping(table.id, column.id, 0)?);
            if target.len() > source.len() || source.iter().zip(&target).any(|(source, target)| source != target) {
                return Ok(None);
            }
        }
        Ok(Some(origin.table))
    }

    /// The number of the stage. This opens it if necessary.
    pub(super) fn open(&mut self) -> Result<StageId> {
        match self.stage {
            Some(stage) => Ok(stage),
            None => {
                let stage = self.store.open_stage(self.environment.now_ms())?;
                self.stage = Some(stage);
                Ok(stage)
            }
        }
    }

    /// Creates the tables that the target lacks, and extends its dictionaries. Returns what each table of the target
    /// will have, and the chunks that are missing.
    pub(super) fn compare_all<'c>(
        &mut self,
        cut: &'c Cut,
        plan: &Plan,
        before: &dyn Snapshot,
        report: &mut CopyReport,
    ) -> Result<(Vec<TargetTable>, MissingChunks<'c>)> {
        let (mut all, mut missing) = (Vec::new(), Vec::new());
        for (number, (table, action)) in cut.tables().iter().zip(&plan.actions).enumerate() {
            let id = match action {
                TableAction::Update(there) => there.id,
                TableAction::Create => self.create(cut, table)?,
            };
            self.extend_dictionaries(cut, table, id, before)?;
            let (target, chunks) = self.compare(cut, table, id, before, report)?;
            missing.extend(chunks.into_iter().map(|source| (number, source)));
            all.push(target);
        }
        Ok((all, missing))
    }

    fn create(&mut self, cut: &Cut, table: &CutTable) -> Result<TableId> {
        if let Some(there) = self.tables.get(&table.table.id) {
            return Ok(there.id);
        }
        let stage = self.open()?;
        let created = self.store.create_table(&staged_definition(cut, table, cut.taken_ms), Some(stage))?;
        let id = created.id;
        self.tables.insert(table.table.id, created);
        Ok(id)
    }

    /// Adds the strings that the target lacks, so that all indices equal the source's.
    fn extend_dictionaries(&self, cut: &Cut, table: &CutTable, id: TableId, before: &dyn Snapshot) -> Result<()> {
        for column in mapped(table) {
            let strings = cut.dictionary(table, column.id)?;
            let there = match self.stage.filter(|_| self.tables.contains_key(&table.table.id)) {
                Some(stage) => self.store.stage_snapshot(stage)?.mapping(id, column.id, 0)?.len(),
                None => before.mapping(id, column.id, 0)?.len(),
            };
            let capacity = column.map.map_or(0, |width| width.capacity());
            let mut first = there.min(strings.len());
            for part in strings[first..].chunks(STRINGS_PER_CALL) {
                let values: Vec<&[u8]> = part.iter().map(Vec::as_slice).collect();
                let indices = self.store.map_values(id, column.id, capacity, &values)?;
                if !indices.iter().map(|index| *index as usize).eq(first..first + part.len()) {
                    let label = format!("table {}, column {}", table.table.definition.name, column.name);
                    let message =
                        format!("{label}: another program added strings to the dictionary of {}", self.store.url());
                    return Err(Error::new(ErrorKind::Conflict, message)
                        .with_hint("copy again with --overwrite while nothing else writes there"));
                }
                first += part.len();
            }
        }
        Ok(())
    }

    /// Compares the chunks of a table with those of the target, and returns the chunks that are missing.
    fn compare<'c>(
        &self,
        cut: &Cut,
        table: &'c CutTable,
        id: TableId,
        before: &dyn Snapshot,
        report: &mut CopyReport,
    ) -> Result<(TargetTable, Vec<&'c CutChunk>)> {
        let mut there = self.chunks_there(id, before, &table.table)?;
        let mut target = TargetTable { id, remove: Vec::new(), amend: Vec::new(), descriptors: Vec::new() };
        let mut missing = Vec::new();
        let mut unstage = Vec::new();
        let staged = self.stage.map(|stage| self.store.stage_snapshot(stage)).transpose()?;
        for source in &table.chunks {
            let CutChunk::Whole(entry, uid) = source else {
                missing.push(source);
                continue;
            };
            let Some(found) = there.remove(uid) else {
                missing.push(source);
                continue;
            };
            let is_same = found.entry.descriptor_bytes == entry.descriptor_bytes;
            if found.is_staged {
                if !is_same || !is_whole(staged.as_deref(), &found.entry)? {
                    unstage.push(found.entry.id);
                    missing.push(source);
                    continue;
                }
            } else if !is_same {
                let Some(amendment) = self.amendment(cut, table, source, &found, id)? else {
                    // It differs in more than added index pages: the whole chunk is transferred.
                    target.remove.push(found.entry.id);
                    missing.push(source);
                    continue;
                };
                target.amend.push(amendment);
            }
            report.chunks_kept += 1;
            report.chunks_resumed += u64::from(found.is_staged);
            target.descriptors.push((entry.descriptor_bytes.clone(), found.is_staged));
        }
        drop(staged);
        // In the order of their ids: a copy that is repeated commits the same change.
        let mut rest: Vec<TargetChunk> = there.into_values().collect();
        rest.sort_unstable_by_key(|rest| rest.entry.id);
        for rest in rest {
            let leaving = if rest.is_staged { &mut unstage } else { &mut target.remove };
            leaving.push(rest.entry.id);
        }
        report.chunks_removed += target.remove.len() as u64;
        if let Some(stage) = self.stage.filter(|_| !unstage.is_empty()) {
            self.store.unstage(stage, &unstage)?;
        }
        Ok((target, missing))
    }

    fn chunks_there(
        &self,
        id: TableId,
        before: &dyn Snapshot,
        table: &Table,
    ) -> Result<HashMap<ChunkUid, TargetChunk>> {
        let mut there = HashMap::new();
        let mut twice = Vec::new();
        let mut take = |entries: Vec<ChunkEntry>, is_staged: bool| -> Result<()> {
            for entry in entries {
                let location = || format!("the target's table {}, chunk {}", table.definition.name, entry.id.0);
                let uid = decode_descriptor(&entry.descriptor_bytes).map_err(|error| error.context(location()))?.uid;
                let id = entry.id;
                if let Some(before) = there.insert(uid, TargetChunk { entry, is_staged }) {
                    there.insert(uid, before);
                    twice.push((id, is_staged));
                }
            }
            Ok(())
        };
        take(before.chunks(id, TimeRange::ALL)?, false)?;
        if let Some(stage) = self.stage {
            take(self.store.stage_snapshot(stage)?.chunks(id, TimeRange::ALL)?, true)?;
            let staged: Vec<ChunkId> = twice.iter().filter(|(_, is_staged)| *is_staged).map(|(id, _)| *id).collect();
            self.store.unstage(stage, &staged)?;
        }
        Ok(there)
    }

    /// Adds the index pages of the source's chunk that the target's lacks. `None` if the chunks differ in other pages.
    fn amendment(
        &self,
        cut: &Cut,
        table: &CutTable,
        source: &CutChunk,
        there: &TargetChunk,
        owner: TableId,
    ) -> Result<Option<Amendment>> {
        let old = decode_descriptor(&there.entry.descriptor_bytes)?;
        let Some(new) = cut.read(table, source, owner)?.pop() else { return Ok(None) };
        let mut kept = old.clone();
        kept.pages = new.descriptor.pages.clone();
        let has_all = old.pages.iter().all(|page| new.descriptor.page(page.column) == Some(page));
        if !has_all || kept != new.descriptor {
            return Ok(None);
        }
        let numbers = new.descriptor.pages.iter().map(|page| page.column);
        let pages: Vec<(ColumnId, Vec<u8>)> =
            numbers.zip(new.pages).filter(|(column, _)| old.page(*column).is_none()).collect();
        Ok(Some(Amendment {
            table: owner,
            chunk: there.entry.id,
            from: there.entry.descriptor_bytes.clone(),
            descriptor: new.descriptor,
            descriptor_bytes: new.descriptor_bytes,
            pages,
        }))
    }

    /// Checks that the stage contains each chunk exactly once, and with `pages` that all pages can be read back.
    pub(super) fn check(&self, all: &[TargetTable], pages: bool) -> Result<()> {
        let Some(stage) = self.stage else { return Ok(()) };
        let snapshot = self.store.stage_snapshot(stage)?;
        for target in all {
            let entries = snapshot.chunks(target.id, TimeRange::ALL)?;
            let mut found: Vec<&[u8]> = entries.iter().map(|entry| entry.descriptor_bytes.as_slice()).collect();
            let staged = target.descriptors.iter().filter(|(_, is_staged)| *is_staged);
            let mut wanted: Vec<&[u8]> = staged.map(|(bytes, _)| bytes.as_slice()).collect();
            found.sort_unstable();
            wanted.sort_unstable();
            if found != wanted {
                return Err(Error::new(ErrorKind::Conflict, "another program changed what the copy had written")
                    .with_hint("copy again"));
            }
            for entry in entries.iter().filter(|_| pages) {
                let location = || format!("{}: chunk {}, just written", self.store.url(), entry.id.0);
                check_staged(snapshot.as_ref(), entry).map_err(|error| error.context(location()))?;
            }
        }
        Ok(())
    }
}

/// Reads the pages of a staged chunk and checks them.
fn check_staged(snapshot: &dyn Snapshot, entry: &ChunkEntry) -> Result<()> {
    let descriptor = decode_descriptor(&entry.descriptor_bytes)?;
    let ids: Vec<ColumnId> = descriptor.pages.iter().map(|page| page.column).collect();
    check_pages(&descriptor, &snapshot.read_pages(entry.id, &ids)?)
}

/// Returns whether a staged chunk has all its pages. Stages are not durable before their commit: a power cut may have
/// destroyed pages of an interrupted copy.
fn is_whole(staged: Option<&dyn Snapshot>, entry: &ChunkEntry) -> Result<bool> {
    let staged = staged.ok_or_else(|| Error::internal("a staged chunk has no stage"))?;
    match check_staged(staged, entry) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(false),
        checked => checked.map(|()| true),
    }
}

fn uids(table: &CutTable) -> HashSet<ChunkUid> {
    let name = |source: &CutChunk| match source {
        CutChunk::Whole(_, uid) => Some(*uid),
        _ => None,
    };
    table.chunks.iter().filter_map(name).collect()
}

fn mapped(table: &CutTable) -> impl Iterator<Item = &Column> {
    table.table.definition.columns.iter().filter(|column| column.map.is_some())
}

/// The definition of a table while it is staged. The commit sets what refers to other tables.
fn staged_definition(cut: &Cut, table: &CutTable, copied_ms: i64) -> TableDefinition {
    let origin = Origin {
        store: cut.source_name(),
        table: table.table.id,
        copied_ms,
        from: table.range.start,
        to: table.range.end,
        later_copies: 0,
        fingerprint: None,
    };
    let mut staged = TableDefinition { rollup: None, origin: Some(origin), ..table.table.definition.clone() };
    // Where counting continues is known at the commit. A resumed copy would find another number here.
    for identity in staged.columns.iter_mut().filter_map(|column| column.identity.as_mut()) {
        identity.after = None;
    }
    staged
}
