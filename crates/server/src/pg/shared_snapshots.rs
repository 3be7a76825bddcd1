//! Snapshots that sessions have exported (`pg_export_snapshot`), by their names, until the transactions end that have
//! exported them.

use atsdb::sql::TransactionSnapshot;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The exported snapshots of a server. Clones share the same ones.
#[derive(Debug, Clone, Default)]
pub(in crate::pg) struct SharedSnapshots(Arc<Mutex<Exported>>);

#[derive(Debug, Default)]
struct Exported {
    /// The number of those that were exported so far.
    count: u64,
    /// The number of the database, and the state that it reads.
    snapshots: BTreeMap<String, (i64, TransactionSnapshot)>,
}

/// An exported snapshot. Others can take it until it is dropped.
#[derive(Debug)]
pub(in crate::pg) struct ExportedSnapshot {
    pub(in crate::pg) name: String,
    of: SharedSnapshots,
}

impl SharedSnapshots {
    /// Exports a snapshot of a database. `process` is the number of the session.
    pub(in crate::pg) fn export(&self, process: i32, database: i64, snapshot: TransactionSnapshot) -> ExportedSnapshot {
        let mut exported = self.0.lock();
        exported.count += 1;
        let name = format!("{process:08X}-{:08X}-1", exported.count);
        exported.snapshots.insert(name.clone(), (database, snapshot));
        ExportedSnapshot { name, of: self.clone() }
    }

    /// The exported snapshot of a database with a name.
    pub(in crate::pg) fn find(&self, database: i64, name: &str) -> Option<TransactionSnapshot> {
        let exported = self.0.lock();
        let (of, snapshot) = exported.snapshots.get(name)?;
        (*of == database).then(|| snapshot.clone())
    }
}

impl Drop for ExportedSnapshot {
    fn drop(&mut self) {
        self.of.0.lock().snapshots.remove(&self.name);
    }
}
