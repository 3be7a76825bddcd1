//! Split stores: a folder with a catalogue, which is a store in one SQLite file but for the pages of larger chunks, and
//! page files beside it.
//!
//! Owned here: how a store is split (`layout`), where its parts lie (`folder`), one page file (`file`), all of them and who
//! writes to which (`files`), what it knows of them (`listing`), writing pages before their commit (`placing`), giving space back (`reclaim`, `moving`), and
//! looking for damage (`verify`). Not owned: what is visible. The catalogue alone decides that: a block of a page file to
//! which no chunk refers is nothing.

#[cfg(test)]
mod crash;
mod fault;
pub(crate) mod file;
pub(crate) mod files;
pub(crate) mod folder;
pub(crate) mod layout;
mod listing;
mod moving;
pub(crate) mod place;
pub(crate) mod placed;
pub(crate) mod placing;
pub(crate) mod reclaim;
mod reclaimer;
pub(crate) mod verify;
