//! Pages: Arrow arrays to checked, compressed bytes and back.
//!
//! Owned here: which Arrow type a column has ([`types`]), the bytes of a page and of a chunk's descriptor, the
//! choice of an encoding from the data, the statistics that go with a page. Not owned: where the bytes lie
//! (the stores), which rows make a chunk (`engine`). Nothing here does I/O.
//!
//! Each file holds the writer and the reader of one thing: [`page`] the frame and its checksum, `validity` which
//! rows are NULL, `number`, `boolean` and `text` the values of a family of types, `statistics` what is known of
//! them, [`membership`] the pages of indexes, [`descriptor`] what is kept of a whole chunk. The bytes are drawn in `docs/format/page.md` and
//! `docs/format/chunk.md`.

#[cfg(not(target_endian = "little"))]
compile_error!("pages are little-endian, and are written from memory as it is");

mod bits;
mod block;
mod boolean;
mod checksum;
mod decimal;
pub mod descriptor;
pub mod encoding;
pub mod membership;
mod number;
mod numbers;
pub mod page;
mod pco_form;
mod plain_numbers;
mod rhythm;
mod statistics;
mod text;
pub mod types;
mod validity;
mod values;
mod wire;

pub use descriptor::{decode_descriptor, encode_descriptor};
pub use encoding::{Effort, encoding_name};
pub use membership::{Membership, TupleHashes, decode_membership, encode_membership, tuple_hashes};
pub use page::{EncodedPage, check_page, decode_page, encode_page, rebind_page};
pub use types::{arrow_schema, logical_type, stored_type};
