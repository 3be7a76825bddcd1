//! Literals as statements write them.

use std::borrow::Cow;

/// A literal as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal<'a> {
    Null,
    Bool(bool),
    /// Digits with sign, point and exponent.
    Number(Cow<'a, str>),
    /// A number that a parameter gave: a text where the column is one, character by character.
    Parameter(Cow<'a, str>),
    Text(Cow<'a, str>),
    Bytes(Vec<u8>),
}
