//! Split stores: a folder with a catalogue and page files. The catalogue is a store in one SQLite file, except that
//! page files contain the pages of larger chunks.
//!
//! Owned here: the layout (`layout`), the folder (`folder`), the location of pages (`page_location`), one page file
//! (`file`), all of them and their locks (`files`), what the catalogue records about them (`page_file_table`), writing
//! pages before their commit (`page_writer`, `placed_pages`), freeing space (`reclaim`, `reclaim_state`, `relocation`),
//! and finding damage (`verify`). Not owned: what is visible. The catalogue alone decides that: a block in a page file
//! that no chunk refers to is meaningless.

#[cfg(test)]
mod crash;
mod fault;
pub(crate) mod file;
pub(crate) mod files;
pub(crate) mod folder;
pub(crate) mod layout;
mod page_file_table;
pub(crate) mod page_location;
pub(crate) mod page_writer;
pub(crate) mod placed_pages;
pub(crate) mod reclaim;
mod reclaim_state;
mod relocation;
pub(crate) mod verify;
