//! The limits, in one place.

/// The most rows of one chunk.
pub const CHUNK_ROWS_MAX: usize = 131_072;

/// A chunk is cut before its text and binary values pass this many bytes (one value may be larger).
pub const CHUNK_TEXT_BYTES_MAX: usize = 64 << 20;

/// The most bytes of one text or binary value.
pub const VALUE_BYTES_MAX: usize = 256 << 20;

/// The most bytes of the text or binary value that older rows have in a new column: those of a whole chunk have no more
/// bytes than one value may.
pub const MISSING_BYTES_MAX: usize = VALUE_BYTES_MAX / CHUNK_ROWS_MAX;

/// The most bytes that the strings of one dictionary have together: readers hold them in one array, of less than 2 GiB.
/// Processes that add strings at the same time may pass it by what each of them adds at once.
pub const DICTIONARY_BYTES_MAX: u64 = 1 << 30;

/// The most columns of a table.
pub const COLUMNS_MAX: usize = 1_000;

/// From this number on a chunk's pages are those of indexes, not of columns.
pub const INDEX_ID_MIN: u16 = 0x8000;

/// The most bytes of a table's or column's name.
pub const NAME_BYTES_MAX: usize = 200;

/// The most bytes of a batch id.
pub const BATCH_ID_BYTES_MAX: usize = 200;

/// How long a store remembers a batch id, in milliseconds: 30 days.
pub const BATCH_MEMORY_MS: i64 = 30 * 24 * 3_600_000;

/// A stage that nobody touched for this long is given up and its chunks are reclaimed, in milliseconds: a day.
pub const STAGE_IDLE_MS_MAX: i64 = 24 * 3_600_000;

/// For how long an idle stage must have been seen to be idle before it is given up, in milliseconds: an hour.
pub const STAGE_DOUBT_MS: i64 = 3_600_000;

/// The longest time for which a lease is taken, in milliseconds: 20 minutes. One that ends later is a wrong clock's.
pub const LEASE_MS_MAX: i64 = 20 * 60_000;

/// The longest SQL text, in bytes.
pub const SQL_BYTES_MAX: usize = 64 << 20;

/// The deepest nesting of an SQL text.
pub const SQL_DEPTH_MAX: usize = 200;
