//! The contestants, one file each.

mod atsdb;
mod lines;
mod sqlite;

use crate::contestant::Contestant;

/// All of them, in the order in which reports show them. Answers are compared with those of the first.
pub fn all() -> &'static [&'static dyn Contestant] {
    &[&sqlite::Sqlite, &atsdb::Atsdb]
}
