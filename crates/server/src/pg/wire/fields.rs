//! Reads the fields of a frame one after the other. A missing field is an error.

use crate::pg::error::PgError;

/// The part of a frame that is not read yet.
#[derive(Debug, Clone, Copy)]
pub(in crate::pg) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(in crate::pg) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(in crate::pg) fn bytes(&mut self, count: usize) -> Result<&'a [u8], PgError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PgError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(*bytes)
    }

    pub(in crate::pg) fn u8(&mut self) -> Result<u8, PgError> {
        self.array().map(u8::from_be_bytes)
    }

    pub(in crate::pg) fn i16(&mut self) -> Result<i16, PgError> {
        self.array().map(i16::from_be_bytes)
    }

    pub(in crate::pg) fn u16(&mut self) -> Result<u16, PgError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(in crate::pg) fn i32(&mut self) -> Result<i32, PgError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(in crate::pg) fn u32(&mut self) -> Result<u32, PgError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(in crate::pg) fn i64(&mut self) -> Result<i64, PgError> {
        self.array().map(i64::from_be_bytes)
    }

    /// A text that ends with a zero byte.
    pub(in crate::pg) fn text(&mut self) -> Result<&'a str, PgError> {
        let end = self.rest.iter().position(|byte| *byte == 0).ok_or_else(too_short)?;
        let text = str::from_utf8(&self.rest[..end]).map_err(|_| PgError::not_utf8())?;
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// A value preceded by its length; -1 is NULL.
    pub(in crate::pg) fn value(&mut self) -> Result<Option<&'a [u8]>, PgError> {
        match self.i32()? {
            -1 => Ok(None),
            length => self.bytes(usize::try_from(length).map_err(|_| too_short())?).map(Some),
        }
    }

    /// A list preceded by the number of its items in two bytes.
    pub(in crate::pg) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, PgError>,
    ) -> Result<Vec<T>, PgError> {
        let count = self.u16()?;
        (0..count).map(|_| item(self)).collect()
    }

    pub(in crate::pg) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Checks that nothing is left.
    pub(in crate::pg) fn end(self) -> Result<(), PgError> {
        if self.rest.is_empty() { Ok(()) } else { Err(PgError::protocol("a frame is longer than what it holds")) }
    }
}

fn too_short() -> PgError {
    PgError::protocol("a frame is shorter than what it holds")
}
