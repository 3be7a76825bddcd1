//! The targets: their initial inputs, and the code that reads them.

mod codec;
mod corpus;
mod files;
mod prom;
mod server;
mod stores;
mod text;

use crate::target::Target;

/// All targets.
pub(crate) fn all() -> Vec<Target> {
    [codec::all(), files::all(), prom::all(), server::all(), stores::all(), text::all()].concat()
}
