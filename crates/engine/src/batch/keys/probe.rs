//! Looking for rows of the same key among the chunks of a snapshot.

use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::{Key, KeyColumns};
use crate::batch::keys::scope::Scope;
use crate::chunk::missing::column_statistics;
use crate::read::scan::{Scan, ScanRequest};
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::{ChunkDescriptor, ChunkId, ConflictPolicy, Result, Table, TimeRange};
use std::collections::BTreeMap;

/// Chunks that may hold rows of the same key, with the keys of which they may.
#[derive(Debug)]
pub(crate) struct Candidates {
    range: TimeRange,
    chunks: BTreeMap<ChunkId, Vec<bool>>,
}

/// A scan, for rewriting, and for each of its chunks (by position) which rows have a key of the groups.
pub(crate) type Hits = (Scan, Vec<(usize, Vec<u32>)>);

/// What was found.
pub(crate) struct Found {
    /// For each key and group whether there is a row of it.
    pub(crate) stored: Vec<Vec<bool>>,
    /// Where they are.
    pub(crate) hits: Option<Hits>,
}

impl Candidates {
    /// By the chunks' statistics; no page is read.
    pub(crate) fn of(
        snapshot: &ReadSnapshot,
        table: &Table,
        keys: &[Key],
        scopes: &[Scope],
        range: TimeRange,
    ) -> Result<Self> {
        let mut chunks = BTreeMap::new();
        for entry in snapshot.inner.store.chunks(table.id, range)? {
            let descriptor = snapshot.inner.descriptor(table, &entry)?;
            let meets = |(key, scope): (&Key, &Scope)| may_hold(&descriptor, table, key, scope);
            let meeting: Vec<bool> = keys.iter().zip(scopes).map(meets).collect();
            if meeting.contains(&true) {
                chunks.insert(entry.id, meeting);
            }
        }
        Ok(Self { range, chunks })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Reads the key columns of the candidates. With the policy to refuse the first row found is enough.
    pub(crate) fn probe(
        &self,
        snapshot: &ReadSnapshot,
        table: &Table,
        keys: &[Key],
        groups: &[Groups],
        policy: ConflictPolicy,
    ) -> Result<Found> {
        let mut stored: Vec<Vec<bool>> = groups.iter().map(|groups| vec![false; groups.count()]).collect();
        if self.is_empty() {
            return Ok(Found { stored, hits: None });
        }
        let (range, predicates) = (self.range, Vec::new());
        let scan = snapshot.scan(table, &ScanRequest { columns: Vec::new(), range, predicates, use_cache: true })?;
        let mut hits = Vec::new();
        for (position, chunk) in scan.chunks().iter().enumerate() {
            let Some(meeting) = self.chunks.get(&chunk.entry.id) else { continue };
            let mut rows = Vec::new();
            for (at, key) in keys.iter().enumerate().filter(|(at, _)| meeting[*at]) {
                let columns: KeyColumns = scan.read_stored(position, &key.positions)?;
                for (row, group) in groups[at].find(&columns)?.into_iter().enumerate() {
                    if let Some(group) = group {
                        stored[at][group as usize] = true;
                        rows.push(row as u32);
                    }
                }
            }
            if !rows.is_empty() {
                rows.sort_unstable();
                rows.dedup();
                hits.push((position, rows));
                if policy == ConflictPolicy::Error {
                    break;
                }
            }
        }
        Ok(Found { stored, hits: (!hits.is_empty()).then_some((scan, hits)) })
    }
}

/// A scan of whole rows, and for each group where in it the row is that has its key: chunk, and row of the chunk.
pub(crate) type Places = (Scan, Vec<Option<(u32, u32)>>);

impl Candidates {
    /// Where the rows of one key's groups are. The candidates are those of this key alone.
    pub(crate) fn places(&self, snapshot: &ReadSnapshot, table: &Table, key: &Key, groups: &Groups) -> Result<Places> {
        let columns = (0..table.definition.columns.len()).collect();
        let scan = snapshot.scan(table, &ScanRequest { columns, range: self.range, ..ScanRequest::all(table) })?;
        let mut places = vec![None; groups.count()];
        for (position, chunk) in scan.chunks().iter().enumerate() {
            if !self.chunks.contains_key(&chunk.entry.id) {
                continue;
            }
            let found = groups.find(&scan.read_stored(position, &key.positions)?)?;
            for (row, group) in found.into_iter().enumerate() {
                if let Some(place) = group.and_then(|group| places.get_mut(group as usize)) {
                    *place = Some((position as u32, row as u32));
                }
            }
        }
        Ok((scan, places))
    }
}

fn may_hold(descriptor: &ChunkDescriptor, table: &Table, key: &Key, scope: &Scope) -> bool {
    let columns = key.positions.iter().map(|position| &table.definition.columns[*position]);
    let statistics: Vec<_> = columns.map(|column| column_statistics(descriptor, column)).collect();
    scope.meets(descriptor.row_count, &statistics)
}
