//! Searches the chunks of a snapshot for rows of the same key.

use crate::batch::keys::bounds::KeyBounds;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::{Key, KeyColumns};
use crate::chunk::missing::column_statistics;
use crate::read::scan::{Scan, ScanRequest};
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::{ChunkDescriptor, ChunkId, ConflictPolicy, Result, Table, TimeRange};
use std::collections::BTreeMap;

/// The chunks that may hold rows of the same key, and for each chunk the keys that it may have.
#[derive(Debug)]
pub(crate) struct Candidates {
    range: TimeRange,
    chunks: BTreeMap<ChunkId, Vec<bool>>,
}

/// A scan for rewriting, and for its chunks (by position) the rows that have a key of the groups.
pub(crate) type RowsToRewrite = (Scan, Vec<(usize, Vec<u32>)>);

/// The rows found.
pub(crate) struct ProbeResult {
    /// For each key and group, whether there is a stored row of it.
    pub(crate) stored: Vec<Vec<bool>>,
    /// The locations of the rows. `None` if no row was found.
    pub(crate) hits: Option<RowsToRewrite>,
    /// The stored row of each group of the first key, if there is one: the position of its chunk, and its number in the
    /// chunk.
    pub(crate) locations: Vec<Option<(usize, usize)>>,
}

impl Candidates {
    /// Finds the candidates by the chunks' statistics. No page is read.
    pub(crate) fn of(
        snapshot: &ReadSnapshot,
        table: &Table,
        keys: &[Key],
        bounds: &[KeyBounds],
        range: TimeRange,
    ) -> Result<Self> {
        let mut chunks = BTreeMap::new();
        for entry in snapshot.inner.store.chunks(table.id, range)? {
            let descriptor = snapshot.inner.descriptor(table, &entry)?;
            let meets = |(key, bounds): (&Key, &KeyBounds)| may_hold(&descriptor, table, key, bounds);
            let meeting: Vec<bool> = keys.iter().zip(bounds).map(meets).collect();
            if meeting.contains(&true) {
                chunks.insert(entry.id, meeting);
            }
        }
        Ok(Self { range, chunks })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Searches the key columns of the candidates. With [`ConflictPolicy::Error`] the first chunk with a row is enough.
    pub(crate) fn probe(
        &self,
        snapshot: &ReadSnapshot,
        table: &Table,
        keys: &[Key],
        groups: &[Groups],
        policy: ConflictPolicy,
    ) -> Result<ProbeResult> {
        let mut stored: Vec<Vec<bool>> = groups.iter().map(|groups| vec![false; groups.count()]).collect();
        let mut locations = vec![None; groups.first().map_or(0, Groups::count)];
        if self.is_empty() {
            return Ok(ProbeResult { stored, hits: None, locations });
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
                        if at == 0 {
                            locations[group as usize] = Some((position, row));
                        }
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
        Ok(ProbeResult { stored, hits: (!hits.is_empty()).then_some((scan, hits)), locations })
    }
}

/// A scan over all columns, and for each group the row that has its key: position of the chunk, and row in the chunk.
pub(crate) type Locations = (Scan, Vec<Option<(u32, u32)>>);

impl Candidates {
    /// The locations of the rows that have the keys of the groups. The candidates must be those of this key alone.
    pub(crate) fn locations(
        &self,
        snapshot: &ReadSnapshot,
        table: &Table,
        key: &Key,
        groups: &Groups,
    ) -> Result<Locations> {
        let columns = (0..table.definition.columns.len()).collect();
        let scan = snapshot.scan(table, &ScanRequest { columns, range: self.range, ..ScanRequest::all(table) })?;
        let mut locations = vec![None; groups.count()];
        for (position, chunk) in scan.chunks().iter().enumerate() {
            if !self.chunks.contains_key(&chunk.entry.id) {
                continue;
            }
            let found = groups.find(&scan.read_stored(position, &key.positions)?)?;
            for (row, group) in found.into_iter().enumerate() {
                if let Some(place) = group.and_then(|group| locations.get_mut(group as usize)) {
                    *place = Some((position as u32, row as u32));
                }
            }
        }
        Ok((scan, locations))
    }
}

fn may_hold(descriptor: &ChunkDescriptor, table: &Table, key: &Key, bounds: &KeyBounds) -> bool {
    let columns = key.positions.iter().map(|position| &table.definition.columns[*position]);
    let statistics: Vec<_> = columns.map(|column| column_statistics(descriptor, column)).collect();
    bounds.meets(descriptor.row_count, &statistics)
}
