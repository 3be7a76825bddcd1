//! The values that a room keeps, one for each database.

use super::list::{Databases, OpenDatabase};
use std::fmt;
use std::sync::OnceLock;

type Maker<T> = Box<dyn Fn(&OpenDatabase) -> T + Send + Sync>;

/// One value for each database, made when its store has been opened.
pub(crate) struct PerDatabase<T> {
    make: Maker<T>,
    made: Vec<OnceLock<T>>,
}

impl<T> PerDatabase<T> {
    pub(crate) fn new(databases: &Databases, make: impl Fn(&OpenDatabase) -> T + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make), made: (0..databases.count()).map(|_| OnceLock::new()).collect() }
    }

    /// The value of a database.
    pub(crate) fn of(&self, database: &OpenDatabase) -> &T {
        self.made[database.position].get_or_init(|| (self.make)(database))
    }

    /// All values that were made.
    pub(crate) fn made(&self) -> impl Iterator<Item = &T> {
        self.made.iter().filter_map(OnceLock::get)
    }
}

impl<T> fmt::Debug for PerDatabase<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerDatabase").field("count", &self.made.len()).finish_non_exhaustive()
    }
}
