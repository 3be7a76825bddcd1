//! Histories of a store: random changes of every kind, generated from a seed, and the visible state after each.

use crate::support::NOW_MS;
use atsdb_core::{
    BatchId, Change, ChunkEntry, ChunkId, CommitOutcome, Durability, NewChunk, Result, Store, TableId, TimeRange,
};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, Random, amended, amendment, series_table};
use std::path::{Path, PathBuf};

/// The layouts: one file, and split stores, with small chunks in the catalogue.
pub(crate) const LAYOUTS: [Option<SplitLayout>; 3] = [
    None,
    Some(SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 2_000 }),
    Some(SplitLayout { split: SplitBy::Shards(2), small_chunk_bytes: 2_000 }),
];
const TABLES: usize = 3;
const SLICES: u64 = 3;

/// A chunk, given by the values from which it is generated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spec {
    seed: u64,
    slice: i64,
    page_bytes: usize,
    sealed: bool,
    indexed: bool,
}

impl Spec {
    fn draw(random: &mut Random, seed: &mut u64) -> Self {
        *seed += 1;
        let page_bytes = [100, 100, 3_000, 9_000][random.below(4) as usize];
        let slice = random.below(SLICES) as i64 * 86_400;
        Self { seed: *seed, slice, page_bytes, sealed: random.below(4) == 0, indexed: false }
    }

    fn chunk(&self, table: TableId) -> NewChunk {
        let mut chunk = Plan::new(self.seed).in_slice(self.slice).with_pages(3, self.page_bytes).chunk(table);
        chunk.descriptor.sealed = self.sealed;
        if self.indexed { amended(&chunk, 1, 700) } else { chunk }
    }
}

/// The visible tables, each with its chunks, or `None` for a table that does not exist.
pub(crate) type TableStates = Vec<Option<Vec<Spec>>>;

/// One step of a history.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    CreateTable(usize),
    DropTable(usize),
    Change(Box<Changed>),
    /// Writes a stage, then abandons it or leaves it open.
    GiveUp {
        chunks: Vec<(usize, Spec)>,
        abandons: bool,
    },
    Reclaim,
    Reopen,
}

/// One commit: an append, a batch, a stage, a swap as in sealing, expired rows, or a page of an index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changed {
    batch: Option<String>,
    staged: bool,
    add: Vec<(usize, Spec)>,
    remove: Vec<(usize, Spec)>,
    amend: Vec<(usize, Spec)>,
}

pub(crate) fn empty() -> TableStates {
    vec![None; TABLES]
}

/// Returns the first `count` steps of the history of a seed.
pub(crate) fn history(seed: u64, count: usize) -> Vec<Action> {
    let mut random = Random::new(seed);
    let (mut state, mut next_seed) = (empty(), seed << 32);
    let mut actions = vec![Action::CreateTable(0), Action::CreateTable(1)];
    actions.iter().for_each(|action| apply(&mut state, action));
    while actions.len() < count {
        let action = draw(&state, &mut random, &mut next_seed);
        apply(&mut state, &action);
        actions.push(action);
    }
    actions
}

fn draw(state: &TableStates, random: &mut Random, next_seed: &mut u64) -> Action {
    let there: Vec<usize> = (0..TABLES).filter(|table| state[*table].is_some()).collect();
    let Some(&table) = there.get(random.below(there.len().max(1) as u64) as usize) else {
        return Action::CreateTable(0);
    };
    let chunks = state[table].clone().unwrap_or_default();
    let mut new = |random: &mut Random, count: u64| -> Vec<(usize, Spec)> {
        (0..count).map(|_| (there[random.below(there.len() as u64) as usize], Spec::draw(random, next_seed))).collect()
    };
    let of_slice = |slice: i64| chunks.iter().filter(move |spec| spec.slice == slice);
    let slice = random.below(SLICES) as i64 * 86_400;
    let mut change = Changed::default();
    match random.below(20) {
        0 => match state.iter().position(Option::is_none) {
            Some(missing) => return Action::CreateTable(missing),
            None => return Action::DropTable(table),
        },
        1 | 2 => return Action::Reclaim,
        3 => return Action::Reopen,
        4..=7 => change.add = new(random, 1),
        8..=10 => {
            let count = 1 + random.below(5);
            change.add = new(random, count);
            change.batch = Some(format!("batch {}", random.bits()));
            change.staged = random.below(2) == 0;
        }
        11 | 12 => {
            let count = 1 + random.below(4);
            change.add = new(random, count);
            change.staged = true;
        }
        13 | 14 => {
            let count = 1 + random.below(2);
            return Action::GiveUp { chunks: new(random, count), abandons: random.below(3) > 0 };
        }
        15 | 16 => {
            change.remove = of_slice(slice).map(|spec| (table, spec.clone())).collect();
            let (_, merged) = new(random, 1).remove(0);
            change.add = vec![(table, Spec { slice, sealed: true, ..merged })];
        }
        17 => change.remove = of_slice(slice).map(|spec| (table, spec.clone())).collect(),
        18 => change.remove = chunks.iter().step_by(2).map(|spec| (table, spec.clone())).collect(),
        _ => change.amend = of_slice(slice).filter(|spec| !spec.indexed).map(|spec| (table, spec.clone())).collect(),
    }
    Action::Change(Box::new(change))
}

/// Applies a step to the visible state.
pub(crate) fn apply(state: &mut TableStates, action: &Action) {
    match action {
        Action::CreateTable(table) => state[*table] = Some(Vec::new()),
        Action::DropTable(table) => state[*table] = None,
        Action::GiveUp { .. } | Action::Reclaim | Action::Reopen => {}
        Action::Change(change) => {
            for (table, spec) in &change.remove {
                state[*table].as_mut().expect("the table is there").retain(|other| other.seed != spec.seed);
            }
            for (table, spec) in &change.amend {
                let chunks = state[*table].as_mut().expect("the table is there");
                chunks.iter_mut().filter(|other| other.seed == spec.seed).for_each(|other| other.indexed = true);
            }
            for (table, spec) in &change.add {
                state[*table].as_mut().expect("the table is there").push(spec.clone());
            }
        }
    }
}

/// A store on which a history is performed.
pub(crate) struct Subject {
    path: PathBuf,
    layout: Option<SplitLayout>,
    durability: Durability,
    pub(crate) store: Option<SqliteStore>,
}

impl Subject {
    pub(crate) fn new(path: &Path, layout: Option<SplitLayout>) -> Self {
        Self { path: path.to_owned(), layout, durability: Durability::Full, store: None }
    }

    pub(crate) fn with_durability(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// Returns the store, which is opened or created if need be.
    pub(crate) fn store(&mut self) -> Result<&SqliteStore> {
        if self.store.is_none() {
            let options = SqliteOptions { durability: self.durability, ..SqliteOptions::default() };
            self.store = Some(match self.layout {
                None => SqliteStore::open(&self.path, &options)?,
                Some(layout) => SqliteStore::open_split(&self.path, &options, layout)?,
            });
        }
        self.store.as_ref().ok_or_else(|| atsdb_core::Error::internal("it is open"))
    }

    pub(crate) fn perform(&mut self, action: &Action) -> Result<()> {
        if let Action::Reopen = action {
            self.store = None;
        }
        let store = self.store()?;
        match action {
            Action::Reopen => Ok(()),
            Action::CreateTable(table) => store.create_table(&series_table(&name(*table)), None).map(|_| ()),
            Action::DropTable(table) => store.drop_table(id(store, *table)?),
            Action::Reclaim => {
                while store.reclaim(1 << 16, NOW_MS)?.more {}
                Ok(())
            }
            Action::GiveUp { chunks, abandons } => {
                let stage = store.open_stage(NOW_MS)?;
                store.stage(stage, built(store, chunks)?, NOW_MS)?;
                if *abandons { store.abandon_stage(stage) } else { Ok(()) }
            }
            Action::Change(change) => commit(store, change),
        }
    }
}

fn name(table: usize) -> String {
    format!("table {table}")
}

fn id(store: &dyn Store, table: usize) -> Result<TableId> {
    let tables = store.snapshot()?.tables()?;
    let found = tables.iter().find(|other| other.definition.name == name(table));
    found.map(|table| table.id).ok_or_else(|| atsdb_core::Error::not_found("a table of the history"))
}

fn built(store: &dyn Store, chunks: &[(usize, Spec)]) -> Result<Vec<NewChunk>> {
    chunks.iter().map(|(table, spec)| Ok(spec.chunk(id(store, *table)?))).collect()
}

fn number(entries: &[ChunkEntry], chunk: &NewChunk) -> Result<ChunkId> {
    let found = entries.iter().find(|entry| entry.descriptor_bytes == chunk.descriptor_bytes);
    found.map(|entry| entry.id).ok_or_else(|| atsdb_core::Error::not_found("a chunk of the history"))
}

fn commit(store: &dyn Store, changed: &Changed) -> Result<()> {
    let mut change = Change::default();
    if let Some(batch) = &changed.batch {
        change.batch = Some(BatchId::new(batch.clone())?);
    }
    change.add = built(store, &changed.add)?;
    let snapshot = store.snapshot()?;
    for (table, spec) in &changed.remove {
        let table = id(store, *table)?;
        change.remove.push((table, number(&snapshot.chunks(table, TimeRange::ALL)?, &spec.chunk(table))?));
    }
    for (table, spec) in &changed.amend {
        let table = id(store, *table)?;
        let (from, to) = (spec.chunk(table), Spec { indexed: true, ..spec.clone() }.chunk(table));
        let number = number(&snapshot.chunks(table, TimeRange::ALL)?, &from)?;
        change.amend.push(amendment(number, &from, &to));
    }
    drop(snapshot);
    if changed.staged {
        let stage = store.open_stage(NOW_MS)?;
        for chunk in std::mem::take(&mut change.add) {
            store.stage(stage, vec![chunk], NOW_MS)?;
        }
        change.stage = Some(stage);
    }
    store.commit(&[change], NOW_MS)?.remove(0).map(|_| ())
}

/// Sends the batch of a step again, if it has one: the store must answer that it was committed before.
pub(crate) fn resend(store: &dyn Store, action: &Action) {
    let Action::Change(changed) = action else { return };
    let Some(batch) = &changed.batch else { return };
    let change = Change { batch: Some(BatchId::new(batch.clone()).unwrap()), ..Change::default() };
    let outcome = store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
    assert_eq!(outcome, CommitOutcome::Duplicate, "{batch}");
}

/// Returns whether exactly this state is visible, bit for bit.
pub(crate) fn is_at(store: &dyn Store, state: &TableStates) -> bool {
    try_is_at(store, state).unwrap()
}

/// Like `is_at`, but returns the error if reading fails.
pub(crate) fn try_is_at(store: &dyn Store, state: &TableStates) -> Result<bool> {
    let snapshot = store.snapshot()?;
    let tables = snapshot.tables()?;
    if tables.len() != state.iter().flatten().count() {
        return Ok(false);
    }
    for (position, chunks) in state.iter().enumerate() {
        let table = tables.iter().find(|table| table.definition.name == name(position));
        let (chunks, table) = match (chunks, table) {
            (Some(chunks), Some(table)) => (chunks, table),
            (None, None) => continue,
            _ => return Ok(false),
        };
        let entries = snapshot.chunks(table.id, TimeRange::ALL)?;
        if entries.len() != chunks.len() {
            return Ok(false);
        }
        for spec in chunks {
            let chunk = spec.chunk(table.id);
            let columns: Vec<_> = chunk.descriptor.pages.iter().map(|page| page.column).collect();
            let Ok(number) = number(&entries, &chunk) else { return Ok(false) };
            if snapshot.read_pages(number, &columns)? != chunk.pages {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
