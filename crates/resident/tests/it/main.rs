//! Tables in memory against a plain list of rows.

mod concurrent;
mod definitions;
mod index;
mod model;
mod support;
