//! Tables that live in the process: columns in memory with hash indexes over them, for rows that are looked up rather
//! than kept. Their definitions are the store's; their rows are gone with the process, unless they are saved.
//!
//! A table is a few *parts*, each some rows in Arrow arrays with an index of its own, none of which ever changes. What
//! changes is the [`TableState`]: which parts there are and which of their rows are gone. A state is never written to
//! either; a change makes another one, and [`Residents`] puts it in the place of the old one. So a reader keeps what it
//! began with for as long as it likes, and nobody waits. Not owned: definitions, SQL, files.

mod bucket;
mod build;
mod chains;
mod dead;
mod draft;
mod error;
mod hash;
mod index;
mod index_spec;
mod joined;
mod keys;
mod parallel;
mod part;
mod registry;
mod resolve;
mod state;

pub use draft::{Draft, Drafts};
pub use hash::Seed;
pub use index::{HashIndex, Matches};
pub use index_spec::IndexSpec;
pub use keys::Keys;
pub use registry::{ResidentSnapshot, Residents};
pub use state::{Found, TableState};
