//! The targets: what they begin with, and what reads it.

mod codec;
mod corpus;
mod files;
mod prom;
mod stores;
mod text;

use crate::target::Target;

/// All of them.
pub(crate) fn all() -> Vec<Target> {
    [codec::all(), files::all(), prom::all(), stores::all(), text::all()].concat()
}
