//! Text of another encoding as UTF-8.

use crate::options::encoding::Encoding;
use encoding_rs::{Decoder, DecoderResult};
use std::io::{self, Read};

/// The bytes that are read and decoded at once.
const BYTES_AT_ONCE: usize = 16 << 10;

/// Decodes a text. Bytes that mean nothing in its encoding are an error.
pub(crate) struct Transcoded<R> {
    reader: R,
    encoding: Encoding,
    decoder: Decoder,
    raw: Vec<u8>,
    /// The text, whose first bytes have been passed on.
    text: Vec<u8>,
    passed: usize,
    is_at_end: bool,
}

impl<R: Read> Transcoded<R> {
    pub(crate) fn new(reader: R, encoding: Encoding) -> Self {
        let decoder = encoding.decoder();
        Self { reader, encoding, decoder, raw: Vec::new(), text: Vec::new(), passed: 0, is_at_end: false }
    }

    /// Decodes the next bytes.
    fn refill(&mut self) -> io::Result<()> {
        self.raw.clear();
        let count = (&mut self.reader).take(BYTES_AT_ONCE as u64).read_to_end(&mut self.raw)?;
        self.is_at_end = count < BYTES_AT_ONCE;
        let most = self.decoder.max_utf8_buffer_length_without_replacement(count).unwrap_or(3 * count + 16);
        self.text.resize(most, 0);
        let (result, _, written) =
            self.decoder.decode_to_utf8_without_replacement(&self.raw, &mut self.text, self.is_at_end);
        self.text.truncate(written);
        self.passed = 0;
        match result {
            DecoderResult::InputEmpty => Ok(()),
            DecoderResult::OutputFull | DecoderResult::Malformed(..) => {
                Err(io::Error::new(io::ErrorKind::InvalidData, format!("the text is not {}", self.encoding.name())))
            }
        }
    }
}

impl<R: Read> Read for Transcoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.passed == self.text.len() && !self.is_at_end {
            self.refill()?;
        }
        let count = (&self.text[self.passed..]).read(buffer)?;
        self.passed += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], encoding: &str) -> io::Result<String> {
        let mut text = String::new();
        Transcoded::new(bytes, Encoding::parse(encoding).unwrap()).read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn texts_of_any_length_are_decoded() {
        for length in [0, 1, BYTES_AT_ONCE / 2 - 1, BYTES_AT_ONCE / 2, BYTES_AT_ONCE, 3 * BYTES_AT_ONCE + 1] {
            let text = "é😀x".chars().cycle().take(length).collect::<String>();
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            assert_eq!(decoded(&[&b"\xff\xfe"[..], &little].concat(), "utf-16le").unwrap(), text);
            assert_eq!(decoded(&little, "utf-16le").unwrap(), text);
            assert_eq!(decoded(&[&b"\xfe\xff"[..], &big].concat(), "utf-16be").unwrap(), text);
        }
        assert_eq!(decoded(b"caf\xe9 \x80", "latin1").unwrap(), "café €");
    }

    #[test]
    fn bytes_that_mean_nothing_are_an_error() {
        for (bytes, encoding) in
            [(&b"a\0b"[..], "utf-16le"), (&b"\x00\xd8a\0"[..], "utf-16le"), (&b"\x81"[..], "shift_jis")]
        {
            let error = decoded(bytes, encoding).unwrap_err();
            assert!(error.to_string().to_lowercase().contains(encoding), "{error}");
        }
    }
}
