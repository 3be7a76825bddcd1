//! Copying an open store: to another one, and from another one.

use crate::database::Database;
use crate::open::OpenOptions;
use atsdb_core::Result;
use atsdb_engine::{CopyOptions, CopyReport};

impl Database {
    /// Copies the store, as it is now, to the one that a URL names, which is created where there is none. Writers go on
    /// meanwhile. Copied again, only what is new is moved; the copy is always as of one moment.
    ///
    /// The target must be empty or hold copies of this store that nobody has changed, unless the options allow more:
    /// else [`Exists`](crate::ErrorKind::Exists). Interrupted, it goes on where it was when it is called again.
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

    /// The same into a store that is open, also one in memory.
    pub fn copy_into(&self, target: &Database, options: &CopyOptions) -> Result<CopyReport> {
        target.engine().copy_from(&self.engine().cut(&options.selection)?, options)
    }
}
