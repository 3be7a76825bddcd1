//! What the systems without SQL have in common, which keep points of series: a measurement or a name, tags, fields and
//! a time. Their tables are known only here, and the questions that are asked in SQL are understood here, as far as
//! these systems can be asked at all.

pub(super) mod catalogue;
mod loader;
mod question;
mod question_reader;

pub(super) use catalogue::{Catalogue, SeriesTable};
pub(super) use loader::{PointLoader, PointServer};
pub(super) use question::{Aggregate, GroupKey, Item, Question};
