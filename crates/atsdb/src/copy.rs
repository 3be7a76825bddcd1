//! Copying an open store to another store.

use crate::database::Database;
use crate::open::OpenOptions;
use atsdb_core::Result;
use atsdb_engine::{CopyOptions, CopyReport};

impl Database {
    /// Copies the present state of the store to the store at a URL, which is created if it does not exist. Writers
    /// continue during the copy. A repeated copy transfers only what is new. An interrupted copy is resumed when it is
    /// called again.
    ///
    /// Errors: [`Exists`](crate::ErrorKind::Exists) if the target has other tables than unchanged copies of this
    /// store's, and the options do not allow them.
    ///
    /// ```
    /// # fn main() -> atsdb::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (source, copy) = (folder.path().join("a.db"), folder.path().join("b.db"));
    /// let db = atsdb::open(source.to_str().unwrap())?;
    /// # db.engine().create_table(&atsdb::TableDefinition::new("t").with_column("x", atsdb::ColumnType::Int64, None))?;
    /// let report = db.copy_to(copy.to_str().unwrap(), &atsdb::CopyOptions::default())?;
    /// assert_eq!(report.tables, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn copy_to(&self, url: &str, options: &CopyOptions) -> Result<CopyReport> {
        let target = OpenOptions::new().durability(self.engine().store().durability()).maintenance(false).open(url)?;
        self.copy_into(&target, options)
    }

    /// Copies the present state of the store to another open store, which may be in memory.
    pub fn copy_into(&self, target: &Database, options: &CopyOptions) -> Result<CopyReport> {
        target.engine().copy_from(&self.engine().cut(&options.selection)?, options)
    }
}
