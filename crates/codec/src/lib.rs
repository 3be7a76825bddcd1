//! Pages: encoding Arrow arrays as checksummed, compressed bytes, and decoding them.
//!
//! Owned here: the Arrow type of a column ([`types`]), its values on their way into arrays ([`ColumnValues`]) and their
//! form in pages ([`mod@stored_form`]), the bytes of a page and of a chunk's descriptor, the choice of an encoding from
//! the data, the statistics of a page, and the order of values ([`order_codes()`]). Not owned: where the bytes are
//! stored (the stores), which rows form a chunk (`engine`). Nothing here does I/O.
//!
//! Each file contains the writer and the reader of one thing: [`page`] the frame and its checksum, `validity` which
//! rows are NULL, `number`, `boolean` and `text` the values of a family of types, `statistics` their statistics,
//! [`membership`] the pages of indexes, [`descriptor`] the metadata of a whole chunk. `docs/format/page.md` and
//! `docs/format/chunk.md` show the bytes.

#[cfg(not(target_endian = "little"))]
compile_error!("pages are little-endian, and are written from memory as it is");

mod bits;
mod block;
mod boolean;
mod checksum;
mod column_values;
mod decimal;
pub mod descriptor;
pub mod encoding;
pub mod membership;
mod number;
mod numbers;
mod order_codes;
pub mod page;
mod pcodec;
mod plain_numbers;
mod rhythm;
mod statistics;
pub mod stored_form;
pub mod sums;
mod text;
pub mod types;
mod validity;
mod values;
mod wire;

pub use column_values::{ArrayValues, ColumnValues, timestamps};
pub use descriptor::{DescriptorKey, decode_descriptor, encode_descriptor};
pub use encoding::{Effort, encoding_name};
pub use membership::{Membership, TupleHashes, decode_membership, encode_membership, tuple_hashes};
pub use order_codes::order_codes;
pub use page::{EncodedPage, check_page, decode_page, encode_page, rebind_page};
pub use stored_form::{to_logical, to_stored};
pub use types::{
    arrow_schema, char_field, char_length, column_type_of, declared_field, declared_type, dictionary_keys,
    element_bytes, enumeration_field, enumeration_of, interval_text_field, is_char, is_interval_text, is_json_list,
    is_jsonb, is_text, json_list_field, jsonb_field, logical_field, logical_type, plain_type, stored_schema,
    stored_type, time_unit_of, uuid_bytes_field,
};
