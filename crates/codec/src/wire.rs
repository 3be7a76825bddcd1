//! Bytes in sequence: variable-length integers, and a reader that never reads past the end.

/// The reason why bytes cannot be decoded. The caller, who knows where they are stored, converts it to an
/// [`atsdb_core::Error`].
#[derive(Debug)]
pub(crate) struct Damage(pub(crate) String);

impl From<&str> for Damage {
    fn from(problem: &str) -> Self {
        Self(problem.to_owned())
    }
}

/// The result of decoding bytes.
pub(crate) type DecodeResult<T> = Result<T, Damage>;

/// Writes an unsigned integer with seven bits per byte, lowest first; the high bit means that more bytes follow
/// (LEB128).
pub(crate) fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Converts a signed integer to an unsigned one, small for small absolute values: 0, -1, 1, -2, ...
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Reverts [`zigzag`].
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads bytes from front to back.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number of unread bytes.
    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn bytes(&mut self, count: usize) -> DecodeResult<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("it ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const COUNT: usize>(&mut self) -> DecodeResult<[u8; COUNT]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or("it ends too early")?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> DecodeResult<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn varint(&mut self) -> DecodeResult<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("an integer exceeds 64 bits".into())
    }

    /// Reads a varint that must not exceed `most`.
    pub(crate) fn varint_up_to(&mut self, most: usize) -> DecodeResult<usize> {
        match self.varint()? {
            value if value <= most as u64 => Ok(value as usize),
            value => Err(Damage(format!("a count of {value}, more than the possible {most}"))),
        }
    }

    /// Takes all unread bytes.
    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Fails if there are unread bytes.
    pub(crate) fn finish(self) -> DecodeResult<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(Damage(format!("{} bytes too many", self.rest.len()))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_back_and_overlong_ones_are_refused() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            write_varint(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.varint().unwrap(), value);
            reader.finish().unwrap();
            assert!(Reader::new(&bytes[..bytes.len() - 1]).varint().is_err());
        }
        assert!(Reader::new(&[0xff; 10]).varint().is_err());
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
