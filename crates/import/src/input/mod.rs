//! The files of an import, and what is read from them piece by piece.
//!
//! Owned here: bytes and compression ([`content`]), text of other encodings and with other line ends ([`transcoded`],
//! [`line_ends`]), files ([`source`]) and those that cannot be opened ([`missing_file`]), their format
//! ([`format`](mod@format), [`unreadable`], [`settings`]) and those that are made of other databases' tables
//! ([`table_file`]), blocks of text and their records ([`blocks`], [`parser`]), batches of typed values
//! ([`batch_reader`], [`parquet_reader`], [`parquet_bytes`]), and working on blocks on several threads ([`pipeline`]).
//! Not owned: the formats (`csv`, `json`, `batches`).

pub(crate) mod batch_reader;
pub(crate) mod blocks;
mod catch_panic;
pub(crate) mod content;
mod format;
mod line_ends;
pub(crate) mod missing_file;
mod parquet_bytes;
mod parquet_reader;
pub(crate) mod parser;
pub(crate) mod pipeline;
mod settings;
pub(crate) mod source;
mod table_file;
mod transcoded;
mod unreadable;
