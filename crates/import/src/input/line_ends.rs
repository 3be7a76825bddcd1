//! Text whose lines end with a carriage return alone, as programs of the classic Macintosh write it.

use std::io::{self, Read};

/// Returns whether a text that begins so ends its lines with CR alone: there is one outside of quotes, and no LF. The
/// last byte may be the first one of both.
pub(crate) fn ends_lines_with_cr(head: &[u8]) -> bool {
    let is_line_end = |first: usize| {
        let quote_count = memchr::memchr_iter(b'"', &head[..first]).count();
        first + 1 < head.len() && quote_count.is_multiple_of(2)
    };
    memchr::memchr(b'\n', head).is_none() && memchr::memchr(b'\r', head).is_some_and(is_line_end)
}

/// The same text with LF at the end of each line, whether that was CR, LF or both.
pub(crate) struct LineFeeds<R> {
    reader: R,
    /// Whether the last byte so far was a CR: an LF after it belongs to the same line end.
    is_after_cr: bool,
}

impl<R: Read> LineFeeds<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, is_after_cr: false }
    }
}

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.reader.read(buffer)?;
            let mut kept = 0;
            for position in 0..count {
                let byte = buffer[position];
                if !(byte == b'\n' && self.is_after_cr) {
                    buffer[kept] = if byte == b'\r' { b'\n' } else { byte };
                    kept += 1;
                }
                self.is_after_cr = byte == b'\r';
            }
            // Zero bytes would mean the end of the text.
            if kept > 0 || count == 0 {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_without_a_line_feed_end_lines_with_cr() {
        for text in ["a,b\r1,2\r", "a\rb"] {
            assert!(ends_lines_with_cr(text.as_bytes()), "{text:?}");
        }
        for text in ["", "a,b", "a,b\r", "a\nb", "a\r\nb", "a\rb\nc", "\"a\rb\",c"] {
            assert!(!ends_lines_with_cr(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn each_line_end_becomes_one_line_feed_wherever_reads_are_cut() {
        struct OneByte<'a>(&'a [u8]);
        impl Read for OneByte<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let most = buffer.len().min(1);
                self.0.read(&mut buffer[..most])
            }
        }
        let text = b"a\rb\r\rc\r\nd\ne\r\n";
        for mut reader in
            [Box::new(LineFeeds::new(&text[..])) as Box<dyn Read>, Box::new(LineFeeds::new(OneByte(text)))]
        {
            let mut read = String::new();
            reader.read_to_string(&mut read).unwrap();
            assert_eq!(read, "a\nb\n\nc\nd\ne\n");
        }
    }
}
