//! The encoding of texts that are not UTF-8.

use atsdb_core::name::nearest_name;
use atsdb_core::{Error, Result};
use encoding_rs::{UTF_16BE, UTF_16LE};

/// Some names for a hint. All names of the Encoding Standard are read.
const NAMES: [&str; 8] =
    ["latin1", "windows-1252", "windows-1251", "iso-8859-15", "utf-16le", "utf-16be", "shift_jis", "gbk"];

/// An encoding of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

impl Encoding {
    /// Reads a name such as `latin1`, `windows-1252` or `utf-16le`.
    ///
    /// # Errors
    ///
    /// Any other name is a `Usage` error, which suggests one.
    pub fn parse(name: &str) -> Result<Self> {
        if let Some(encoding) = encoding_rs::Encoding::for_label_no_replacement(name.trim().as_bytes()) {
            return Ok(Self(encoding));
        }
        let error = Error::usage(format!("no encoding named {name}"));
        Err(match nearest_name(name, NAMES) {
            Some(near) => error.with_hint(format!("did you mean {near}?")),
            None => error.with_hint(format!("available: {} and others", NAMES.join(", "))),
        })
    }

    /// The encoding that a text shows by its first bytes, if it is UTF-16 with a byte order mark.
    pub(crate) fn of_head(head: &[u8]) -> Option<Self> {
        match head {
            // UTF-32.
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Self(UTF_16LE)),
            [0xfe, 0xff, ..] => Some(Self(UTF_16BE)),
            _ => None,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        self.0.name()
    }

    /// A decoder, which removes a byte order mark.
    pub(crate) fn decoder(self) -> encoding_rs::Decoder {
        self.0.new_decoder_with_bom_removal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_have_several_names() {
        for (name, wanted) in
            [("latin1", "windows-1252"), ("UTF-16LE", "UTF-16LE"), (" utf8", "UTF-8"), ("cp1251", "windows-1251")]
        {
            assert_eq!(Encoding::parse(name).unwrap().name(), wanted);
        }
        assert_eq!(Encoding::parse("latin").unwrap_err().hint(), Some("did you mean latin1?"));
        assert!(Encoding::parse("").is_err() && Encoding::parse("hz-gb-2312").is_err());
    }
}
