//! A column of a source, as the server describes it.

/// A column.
#[derive(Debug)]
pub(super) struct SourceColumn {
    pub(super) name: String,
    /// The name of its type: `decimal`.
    pub(super) type_name: String,
    /// The whole type: `decimal(10,2) unsigned`.
    pub(super) shown: String,
    /// The number of digits, or of bits.
    pub(super) precision: u32,
    /// The number of digits after the point.
    pub(super) scale: u32,
    /// The number of digits of a fraction of a second.
    pub(super) second_digits: u32,
    /// Whether the server checks that its texts are JSON.
    pub(super) is_json: bool,
}
