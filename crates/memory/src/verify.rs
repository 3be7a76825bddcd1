//! Finds contradictions between the lists.

use crate::state::View;
use atsdb_core::store::Finding;

/// Every chunk must be in the list of all chunks and in its table's.
pub(crate) fn verify(view: &View) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (id, chunk) in &view.chunks {
        let key = (chunk.entry.slice_start, *id);
        if !view.tables.get(&chunk.entry.table).is_some_and(|table| table.chunks.contains_key(&key)) {
            findings.push(Finding::damage(format!("chunk {}", id.0), "is in no table"));
        }
    }
    let listed: usize = view.tables.values().map(|table| table.chunks.len()).sum();
    if listed != view.chunks.len() {
        let problem = format!("the tables list {listed} chunks, the store {}", view.chunks.len());
        findings.push(Finding::damage("chunks", problem));
    }
    findings
}
