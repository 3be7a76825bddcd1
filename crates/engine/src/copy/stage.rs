//! What a copy writes before its commit: tables and chunks in a stage of the target, which nobody sees.
//!
//! An interrupted copy leaves its stage behind; the next one of the same source finds it by what lies in it, takes what it
//! still needs and gives the rest up.

use crate::copy::cut::{Cut, CutTable, Piece};
use crate::copy::lease::Lease;
use crate::copy::options::{CopyOptions, CopyProgress, CopyReport};
use crate::copy::plan::{Fate, Plan};
use crate::copy::read::check_pages;
use crate::shared::environment::Environment;
use crate::shared::origin::fingerprint;
use atsdb_codec::decode_descriptor;
use atsdb_core::{
    Amendment, ChunkEntry, ChunkId, ChunkUid, Column, ColumnId, Error, ErrorKind, NewChunk, Origin, Result, Snapshot,
    StageId, Store, Table, TableDefinition, TableId, TimeRange,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Chunks are written together up to this many bytes.
const GROUP_BYTES: u64 = 4 << 20;
/// Where several threads read, groups are no longer than this, so that there is one for each.
const GROUP_PIECES: usize = 16;
/// Strings are sent to the target's dictionaries so many at a time.
const STRINGS_AT_ONCE: usize = 20_000;

/// Pieces that the target lacks, each with the place of its table in the cut.
type Missing<'c> = Vec<(usize, &'c Piece)>;
/// What was read of a group of pieces: chunks, each with the place of its table.
type Read = Result<Vec<(usize, NewChunk)>>;

/// The stage, opened when it is first needed.
pub(super) struct Staged<'a> {
    pub(super) store: &'a dyn Store,
    environment: &'a dyn Environment,
    pub(super) stage: Option<StageId>,
    /// Tables of the cut, by their number there, that lie in the stage.
    pub(super) tables: BTreeMap<TableId, Table>,
}

/// What one table of the target will have.
pub(super) struct Filled {
    /// Its number in the target.
    pub(super) id: TableId,
    /// Visible chunks that go.
    pub(super) remove: Vec<ChunkId>,
    /// Visible chunks that get pages.
    pub(super) amend: Vec<Amendment>,
    /// Descriptors of all chunks that it has in the end; those in the stage are marked.
    pub(super) descriptors: Vec<(Vec<u8>, bool)>,
}

impl Filled {
    /// What is left when all of it is visible, under this definition.
    pub(super) fn fingerprint(&self, definition: &TableDefinition) -> Result<u64> {
        fingerprint(definition, self.descriptors.iter().map(|(bytes, _)| bytes.as_slice()))
    }
}

/// A chunk that the target has.
struct There {
    entry: ChunkEntry,
    is_staged: bool,
}

impl<'a> Staged<'a> {
    /// The stage that an interrupted copy of the same source left, or one that is not opened yet.
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
                match staged.needed(cut, plan, stage, &table)? {
                    Some(number) => drop(staged.tables.insert(number, table)),
                    None => store.unstage_table(stage, table.id)?,
                }
            }
        }
        Ok(staged)
    }

    /// The tables of a stage, if it is an interrupted copy's.
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
        // A copy that only brought tables up to date made none: its chunks tell, as nobody else has chunks of their names.
        for (table, fate) in cut.tables().iter().zip(&plan.fates) {
            let Fate::Update(there) = fate else { continue };
            let known = uids(table);
            let chunks = snapshot.chunks(there.id, TimeRange::ALL)?;
            let mut names = chunks.iter().filter_map(|entry| decode_descriptor(&entry.descriptor_bytes).ok());
            if names.any(|descriptor| known.contains(&descriptor.uid)) {
                return Ok(Some(tables));
            }
        }
        Ok(None)
    }

    /// The number in the cut of a staged table that can be gone on with.
    fn needed(&self, cut: &Cut, plan: &Plan, stage: StageId, table: &Table) -> Result<Option<TableId>> {
        let Some(origin) = &table.definition.origin else { return Ok(None) };
        if origin.store != cut.source_name() || self.tables.contains_key(&origin.table) {
            return Ok(None);
        }
        let mut wanted = cut.tables().iter().zip(&plan.fates);
        let wanted = wanted.find(|(wanted, fate)| wanted.table.id == origin.table && matches!(fate, Fate::Create));
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

    /// The stage's number.
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

    /// Makes the tables that the target lacks and brings its dictionaries up to date; then says what it will have, and
    /// which pieces are missing, each with the place of its table.
    pub(super) fn compare_all<'c>(
        &mut self,
        cut: &'c Cut,
        plan: &Plan,
        before: &dyn Snapshot,
        report: &mut CopyReport,
    ) -> Result<(Vec<Filled>, Missing<'c>)> {
        let (mut all, mut missing) = (Vec::new(), Vec::new());
        for (number, (table, fate)) in cut.tables().iter().zip(&plan.fates).enumerate() {
            let id = match fate {
                Fate::Update(there) => there.id,
                Fate::Create => self.create(cut, table)?,
            };
            self.extend_dictionaries(cut, table, id, before)?;
            let (filled, pieces) = self.compare(cut, table, id, before, report)?;
            missing.extend(pieces.into_iter().map(|piece| (number, piece)));
            all.push(filled);
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

    /// Adds the strings that the target lacks, so that every index is the source's.
    fn extend_dictionaries(&self, cut: &Cut, table: &CutTable, id: TableId, before: &dyn Snapshot) -> Result<()> {
        for column in mapped(table) {
            let strings = cut.dictionary(table, column.id)?;
            let there = match self.stage.filter(|_| self.tables.contains_key(&table.table.id)) {
                Some(stage) => self.store.stage_snapshot(stage)?.mapping(id, column.id, 0)?.len(),
                None => before.mapping(id, column.id, 0)?.len(),
            };
            let capacity = column.map.map_or(0, |width| width.capacity());
            let mut first = there.min(strings.len());
            for part in strings[first..].chunks(STRINGS_AT_ONCE) {
                let values: Vec<&[u8]> = part.iter().map(Vec::as_slice).collect();
                let given = self.store.map_values(id, column.id, capacity, &values)?;
                if !given.iter().map(|index| *index as usize).eq(first..first + part.len()) {
                    let place = format!("table {}, column {}", table.table.definition.name, column.name);
                    let message =
                        format!("{place}: somebody else added strings to the dictionary of {}", self.store.url());
                    return Err(Error::new(ErrorKind::Conflict, message)
                        .with_hint("copy again when nobody writes there, with --overwrite"));
                }
                first += part.len();
            }
        }
        Ok(())
    }

    /// Which chunks are there, and which pieces are missing.
    fn compare<'c>(
        &self,
        cut: &Cut,
        table: &'c CutTable,
        id: TableId,
        before: &dyn Snapshot,
        report: &mut CopyReport,
    ) -> Result<(Filled, Vec<&'c Piece>)> {
        let mut there = self.chunks_there(id, before, &table.table)?;
        let mut filled = Filled { id, remove: Vec::new(), amend: Vec::new(), descriptors: Vec::new() };
        let mut missing = Vec::new();
        let mut unstage = Vec::new();
        let staged = self.stage.map(|stage| self.store.stage_snapshot(stage)).transpose()?;
        for piece in &table.pieces {
            let Piece::Whole(entry, uid) = piece else {
                missing.push(piece);
                continue;
            };
            let Some(found) = there.remove(uid) else {
                missing.push(piece);
                continue;
            };
            if found.is_staged && !is_whole(staged.as_deref(), &found.entry)? {
                unstage.push(found.entry.id);
                missing.push(piece);
                continue;
            }
            if found.entry.descriptor_bytes != entry.descriptor_bytes {
                match found.is_staged {
                    true => {
                        unstage.push(found.entry.id);
                        missing.push(piece);
                        continue;
                    }
                    false => match self.amendment(cut, table, piece, &found, id)? {
                        Some(amendment) => filled.amend.push(amendment),
                        // Its pages are not the source's and more: it is moved whole.
                        None => {
                            filled.remove.push(found.entry.id);
                            missing.push(piece);
                            continue;
                        }
                    },
                }
            }
            report.chunks_kept += 1;
            report.chunks_resumed += u64::from(found.is_staged);
            filled.descriptors.push((entry.descriptor_bytes.clone(), found.is_staged));
        }
        drop(staged);
        for rest in there.into_values() {
            match rest.is_staged {
                true => unstage.push(rest.entry.id),
                false => filled.remove.push(rest.entry.id),
            }
        }
        report.chunks_removed += filled.remove.len() as u64;
        if let Some(stage) = self.stage.filter(|_| !unstage.is_empty()) {
            self.store.unstage(stage, &unstage)?;
        }
        Ok((filled, missing))
    }

    fn chunks_there(&self, id: TableId, before: &dyn Snapshot, table: &Table) -> Result<HashMap<ChunkUid, There>> {
        let mut there = HashMap::new();
        let mut twice = Vec::new();
        let mut take = |entries: Vec<ChunkEntry>, is_staged: bool| -> Result<()> {
            for entry in entries {
                let place = || format!("the target's table {}, chunk {}", table.definition.name, entry.id.0);
                let uid = decode_descriptor(&entry.descriptor_bytes).map_err(|error| error.context(place()))?.uid;
                let id = entry.id;
                if let Some(before) = there.insert(uid, There { entry, is_staged }) {
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

    /// The pages of indexes that the source's chunk has and the target's lacks.
    fn amendment(
        &self,
        cut: &Cut,
        table: &CutTable,
        piece: &Piece,
        there: &There,
        owner: TableId,
    ) -> Result<Option<Amendment>> {
        let old = decode_descriptor(&there.entry.descriptor_bytes)?;
        let Some(new) = cut.read(table, piece, owner)?.pop() else { return Ok(None) };
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

    /// Writes what is missing, in the order of its numbers: reads in other threads, in turn, and writes in this one.
    pub(super) fn transfer(
        &mut self,
        cut: &Cut,
        missing: &[(usize, &Piece)],
        all: &mut [Filled],
        lease: &Lease,
        options: &CopyOptions,
        report: &mut CopyReport,
    ) -> Result<()> {
        if missing.is_empty() {
            return Ok(());
        }
        self.open()?;
        let owners: Vec<TableId> = all.iter().map(|filled| filled.id).collect();
        let bytes_total = missing.iter().map(|(_, piece)| piece.byte_count()).sum();
        let mut progress = CopyProgress { bytes_total, ..CopyProgress::default() };
        let groups = groups(missing, if cut.readers > 1 { GROUP_PIECES } else { usize::MAX });
        let (groups, owners) = (groups.as_slice(), owners.as_slice());
        std::thread::scope(|scope| {
            let count = cut.readers.clamp(1, groups.len());
            // One thread reads the next group while one is written; several have each one at hand.
            let ahead = usize::from(count == 1);
            let start = |first: usize| {
                let (sender, receiver) = sync_channel(ahead);
                let share = groups.iter().skip(first).step_by(count);
                let reader = std::thread::Builder::new().name("atsdb-copy".into());
                reader.spawn_scoped(scope, move || read_each(cut, share, owners, &sender)).map_err(|error| {
                    Error::new(ErrorKind::Unavailable, "the operating system gave no thread").with_source(error)
                })?;
                Ok(receiver)
            };
            let readers: Vec<Receiver<Read>> = (0..count).map(start).collect::<Result<_>>()?;
            let is_gone = || Error::internal("a thread that reads for a copy is gone");
            let in_order =
                (0..groups.len()).map(|place| readers[place % count].recv().unwrap_or_else(|_| Err(is_gone())));
            self.write_groups(in_order, all, lease, options, &mut progress, report)
        })
    }

    fn write_groups(
        &self,
        groups: impl Iterator<Item = Read>,
        all: &mut [Filled],
        lease: &Lease,
        options: &CopyOptions,
        progress: &mut CopyProgress,
        report: &mut CopyReport,
    ) -> Result<()> {
        let stage = self.stage.ok_or_else(|| Error::internal("a copy without a stage"))?;
        for group in groups {
            let group = group?;
            lease.require()?;
            for (number, chunk) in &group {
                all[*number].descriptors.push((chunk.descriptor_bytes.clone(), true));
                report.chunks += 1;
                report.rows += u64::from(chunk.descriptor.row_count);
                report.bytes += chunk.descriptor.byte_count();
            }
            self.store.stage(stage, group.into_iter().map(|(_, chunk)| chunk).collect(), self.environment.now_ms())?;
            (progress.bytes, progress.rows) = (report.bytes, report.rows);
            options.watcher.as_ref().map_or(Ok(()), |watcher| watcher(progress))?;
        }
        Ok(())
    }

    /// Asserts that the stage has what it should, once each; with `pages` also that what was written is read back.
    pub(super) fn check(&self, all: &[Filled], pages: bool) -> Result<()> {
        let Some(stage) = self.stage else { return Ok(()) };
        let snapshot = self.store.stage_snapshot(stage)?;
        for filled in all {
            let entries = snapshot.chunks(filled.id, TimeRange::ALL)?;
            let mut found: Vec<&[u8]> = entries.iter().map(|entry| entry.descriptor_bytes.as_slice()).collect();
            let staged = filled.descriptors.iter().filter(|(_, is_staged)| *is_staged);
            let mut wanted: Vec<&[u8]> = staged.map(|(bytes, _)| bytes.as_slice()).collect();
            found.sort_unstable();
            wanted.sort_unstable();
            if found != wanted {
                return Err(Error::new(ErrorKind::Conflict, "somebody else changed what the copy had written")
                    .with_hint("copy again"));
            }
            for entry in entries.iter().filter(|_| pages) {
                let place = || format!("{}: chunk {} of what was written", self.store.url(), entry.id.0);
                check_staged(snapshot.as_ref(), entry).map_err(|error| error.context(place()))?;
            }
        }
        Ok(())
    }
}

/// Reads the pages of a chunk of the stage, and checks them.
fn check_staged(snapshot: &dyn Snapshot, entry: &ChunkEntry) -> Result<()> {
    let descriptor = decode_descriptor(&entry.descriptor_bytes)?;
    let ids: Vec<ColumnId> = descriptor.pages.iter().map(|page| page.column).collect();
    check_pages(&descriptor, &snapshot.read_pages(entry.id, &ids)?)
}

/// Whether a chunk of the stage has its pages. Stages are not made durable before their commit: what an interrupted copy
/// left may have lost some in a power cut.
fn is_whole(staged: Option<&dyn Snapshot>, entry: &ChunkEntry) -> Result<bool> {
    let staged = staged.ok_or_else(|| Error::internal("a staged chunk without a stage"))?;
    match check_staged(staged, entry) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(false),
        checked => checked.map(|()| true),
    }
}

/// Consecutive pieces that are read, and written, together.
fn groups<'m, 'c>(mut missing: &'m [(usize, &'c Piece)], pieces_max: usize) -> Vec<&'m [(usize, &'c Piece)]> {
    let mut groups = Vec::new();
    while !missing.is_empty() {
        let mut bytes = 0;
        let fits = |(_, piece): &&(usize, &Piece)| {
            let is_more = bytes < GROUP_BYTES;
            bytes += match piece {
                // What rows in memory take is not known.
                Piece::Rows(..) => GROUP_BYTES,
                Piece::Whole(..) | Piece::Part(..) => piece.byte_count(),
            };
            is_more
        };
        let count = missing.iter().take(pieces_max).take_while(fits).count();
        let (group, rest) = missing.split_at(count);
        groups.push(group);
        missing = rest;
    }
    groups
}

/// Reads groups of pieces one after the other.
fn read_each<'m>(
    cut: &Cut,
    groups: impl Iterator<Item = &'m &'m [(usize, &'m Piece)]>,
    owners: &[TableId],
    done: &SyncSender<Read>,
) {
    let read = |(number, piece): &(usize, &Piece)| {
        let chunks = cut.read(&cut.tables()[*number], piece, owners[*number])?;
        Ok(chunks.into_iter().map(|chunk| (*number, chunk)).collect::<Vec<_>>())
    };
    for group in groups {
        let chunks: Result<Vec<_>> = group.iter().map(read).collect();
        // Nobody listens when writing has failed, or what was to be written before.
        if done.send(chunks.map(|chunks| chunks.into_iter().flatten().collect())).is_err() {
            return;
        }
    }
}

fn uids(table: &CutTable) -> HashSet<ChunkUid> {
    let name = |piece: &Piece| match piece {
        Piece::Whole(_, uid) => Some(*uid),
        _ => None,
    };
    table.pieces.iter().filter_map(name).collect()
}

fn mapped(table: &CutTable) -> impl Iterator<Item = &Column> {
    table.table.definition.columns.iter().filter(|column| column.map.is_some())
}

/// A table of the cut while it lies in the stage. What refers to other tables comes with the commit.
fn staged_definition(cut: &Cut, table: &CutTable, copied_ms: i64) -> TableDefinition {
    let origin = Origin {
        store: cut.source_name(),
        table: table.table.id,
        copied_ms,
        from: table.range.start,
        to: table.range.end,
        fingerprint: None,
    };
    TableDefinition { rollup: None, origin: Some(origin), ..table.table.definition.clone() }
}
