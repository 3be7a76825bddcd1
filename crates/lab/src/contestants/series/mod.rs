//! The common part of the systems without SQL. They keep points of series: a measurement or a name, tags, fields and a
//! time. The types of their tables are known only here. Questions in SQL are translated here, as far as these systems
//! can answer them.

pub(super) mod catalogue;
mod loader;
mod question;
mod question_reader;

pub(super) use catalogue::{Catalogue, SeriesTable};
pub(super) use loader::{PointLoader, PointServer};
pub(super) use question::{Aggregate, GroupKey, Item, Question};
