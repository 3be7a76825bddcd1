//! Tables in memory against a plain list of rows.

mod concurrent;
mod index;
mod model;
mod support;
