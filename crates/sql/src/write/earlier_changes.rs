//! The changes that the parts of one statement have made in a table so far. All parts find their rows in one snapshot.
//! The first change of a row counts, and later ones leave it out. A chunk that several parts change is rewritten from
//! the snapshot with all their changes.
//!
//! Not owned: the order of the parts (`session`).

use super::chunk_change::PartialChange;
use atsdb_core::{ChunkId, Error, ErrorKind, Result};
use std::collections::HashMap;

/// The changes of earlier parts in one table, by the chunk of the snapshot.
#[derive(Debug, Default)]
pub(crate) struct EarlierChanges {
    chunks: HashMap<ChunkId, ChangedChunk>,
}

#[derive(Debug, Default)]
struct ChangedChunk {
    /// Whether each row has changed, as far as the last one that has.
    rows: Vec<bool>,
    changes: Vec<PartialChange>,
    present: PresentChunk,
}

/// The chunk of the batch that has the rows of a chunk of the snapshot.
#[derive(Debug, Clone, Copy, Default)]
enum PresentChunk {
    /// The batch has not replaced the chunk.
    #[default]
    Original,
    /// The batch has replaced the chunk by another one, which it can replace again.
    Successor(ChunkId),
    /// The batch has replaced the chunk by none that it can replace again.
    Final,
}

impl EarlierChanges {
    /// Returns whether an earlier part has changed a row.
    pub(super) fn have(&self, chunk: ChunkId, row: u32) -> bool {
        self.chunks.get(&chunk).is_some_and(|changed| changed.rows.get(row as usize) == Some(&true))
    }

    /// Adds the change of a part, and returns all changes in its chunk, of which it is the last.
    pub(super) fn add(&mut self, chunk: ChunkId, change: PartialChange) -> Vec<PartialChange> {
        let changed = self.chunks.entry(chunk).or_default();
        for row in change.rows.numbers.iter().flat_map(|numbers| numbers.values()) {
            let row = *row as usize;
            changed.rows.resize(changed.rows.len().max(row + 1), false);
            changed.rows[row] = true;
        }
        changed.changes.push(change);
        changed.changes.clone()
    }

    /// The chunk of the batch that has the rows of a chunk of the snapshot.
    pub(super) fn present(&self, chunk: ChunkId) -> Result<ChunkId> {
        match self.chunks.get(&chunk).map(|changed| changed.present).unwrap_or_default() {
            PresentChunk::Original => Ok(chunk),
            PresentChunk::Successor(successor) => Ok(successor),
            PresentChunk::Final => {
                let message = "two parts of the statement change more rows of a table than fit into memory";
                Err(Error::new(ErrorKind::Limit, message).with_hint("write BEGIN, a statement for each change, COMMIT"))
            }
        }
    }

    /// Notes that the batch has replaced the rows of a chunk of the snapshot.
    pub(super) fn note_replaced(&mut self, chunk: ChunkId, successor: Option<ChunkId>) {
        let present = successor.map_or(PresentChunk::Final, PresentChunk::Successor);
        self.chunks.entry(chunk).or_default().present = present;
    }
}
