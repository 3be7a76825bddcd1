//! All limits in one place.

/// The maximum number of rows in a chunk.
pub const CHUNK_ROWS_MAX: usize = 131_072;

/// A chunk is cut before its text and binary values exceed this many bytes. A single value may be larger.
pub const CHUNK_TEXT_BYTES_MAX: usize = 64 << 20;

/// A chunk is cut before its arrays have more elements than this, because a page with more numbers is not compressed.
/// A single array may have more.
pub const CHUNK_ELEMENTS_MAX: usize = 1 << 24;

/// The maximum size of one text or binary value, in bytes.
pub const VALUE_BYTES_MAX: usize = 256 << 20;

/// The maximum size in bytes of the text, binary value or array that a new column has in older rows. With it the values
/// of a whole chunk have no more bytes than one value may have.
pub const MISSING_BYTES_MAX: usize = VALUE_BYTES_MAX / CHUNK_ROWS_MAX;

/// The maximum total size in bytes of the strings in one dictionary. Readers hold them in one array of less than 2 GiB.
/// Processes that add strings at the same time may exceed it by what each of them adds at once.
pub const DICTIONARY_BYTES_MAX: u64 = 1 << 30;

/// The maximum number of columns of a table.
pub const COLUMNS_MAX: usize = 1_000;

/// The lowest column number of pages that belong to indexes, not to columns.
pub const INDEX_ID_MIN: u16 = 0x8000;

/// The maximum size of a table or column name, in bytes.
pub const NAME_BYTES_MAX: usize = 200;

/// The maximum number of labels of an enumerated type.
pub const LABELS_MAX: usize = 10_000;

/// The maximum size of a label of an enumerated type, in bytes, as in PostgreSQL.
pub const LABEL_BYTES_MAX: usize = 63;

/// The maximum size of a batch id, in bytes.
pub const BATCH_ID_BYTES_MAX: usize = 200;

/// The minimum time for which a store remembers a batch id: 30 days, in milliseconds.
pub const BATCH_ID_RETENTION_MS: i64 = 30 * 24 * 3_600_000;

/// A stage that was not written to for this long is discarded, and its chunks are reclaimed: a day, in milliseconds.
pub const STAGE_IDLE_MS_MAX: i64 = 24 * 3_600_000;

/// The time for which expired entries must have been observed before they are deleted: an hour, in milliseconds.
pub const EXPIRY_CONFIRM_MS: i64 = 3_600_000;

/// The maximum duration of a lease: 20 minutes, in milliseconds. A lease that ends later was taken with a wrong clock.
pub const LEASE_MS_MAX: i64 = 20 * 60_000;

/// The maximum size of an SQL text, in bytes.
pub const SQL_BYTES_MAX: usize = 64 << 20;

/// The maximum nesting depth of an SQL text.
pub const SQL_DEPTH_MAX: usize = 200;
