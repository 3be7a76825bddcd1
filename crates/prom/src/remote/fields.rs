//! The fields of a protocol-buffer message.

use super::error::RemoteError;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// Reads the fields of a message one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

fn broken() -> RemoteError {
    RemoteError::malformed("the message is not a protocol buffer, or it is cut off")
}

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The number of unread bytes.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, RemoteError> {
        // Most numbers have one byte.
        if let [byte, rest @ ..] = self.rest
            && *byte < 0x80
        {
            self.rest = rest;
            return Ok((*byte).into());
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, RemoteError> {
        let mut value = 0;
        for (index, byte) in self.rest.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(broken())
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], RemoteError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(broken)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next field's number and value; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(u32, FieldValue<'a>)>, RemoteError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).map_err(|_| broken())?;
        let value = match key & 7 {
            0 => FieldValue::Varint(self.varint()?),
            1 => FieldValue::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| broken())?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| broken())?;
                FieldValue::Bytes(self.take(length)?)
            }
            5 => FieldValue::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| broken())?)),
            _ => return Err(broken()),
        };
        Ok(Some((number, value)))
    }
}

/// A field that must be a text.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, RemoteError> {
    std::str::from_utf8(bytes).map_err(|_| RemoteError::malformed("a name or a value is not UTF-8"))
}

/// A signed number, which is sent so that small ones are short: `sint32` and `sint64`.
pub(crate) fn signed(sent: u64) -> i64 {
    (sent >> 1).cast_signed() ^ -(sent & 1).cast_signed()
}

/// A signed number of 32 bits.
pub(crate) fn signed32(sent: u64) -> Result<i32, RemoteError> {
    i32::try_from(signed(sent)).map_err(|_| broken())
}

/// Calls for each number of a repeated field of numbers of variable length, one or packed.
pub(crate) fn each_varint(
    value: FieldValue<'_>,
    mut call: impl FnMut(u64) -> Result<(), RemoteError>,
) -> Result<(), RemoteError> {
    match value {
        FieldValue::Varint(number) => call(number),
        FieldValue::Bytes(packed) => {
            let mut packed = Fields::new(packed);
            while packed.left() > 0 {
                call(packed.varint()?)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Calls for each number of a repeated field of numbers of eight bytes, one or packed.
pub(crate) fn each_fixed64(
    value: FieldValue<'_>,
    mut call: impl FnMut(u64) -> Result<(), RemoteError>,
) -> Result<(), RemoteError> {
    match value {
        FieldValue::Fixed64(bits) => call(bits),
        FieldValue::Bytes(packed) => packed.as_chunks().0.iter().try_for_each(|bytes| call(u64::from_le_bytes(*bytes))),
        _ => Ok(()),
    }
}

/// A sample in both versions: value 1, time 2.
pub(crate) fn sample(message: &[u8]) -> Result<(i64, f64), RemoteError> {
    let mut fields = Fields::new(message);
    let (mut time, mut value) = (0, 0.0);
    while let Some(field) = fields.next()? {
        match field {
            (1, FieldValue::Fixed64(bits)) => value = f64::from_bits(bits),
            (2, FieldValue::Varint(milliseconds)) => time = milliseconds as i64,
            _ => {}
        }
    }
    Ok((time, value))
}
