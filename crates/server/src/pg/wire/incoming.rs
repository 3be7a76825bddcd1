//! The messages of a connected client.

use super::fields::Fields;
use crate::pg::error::PgError;

/// The maximum length of a frame with a statement, its parameters, or a piece of a COPY, in bytes.
pub(in crate::pg) const FRAME_BYTES_MAX: usize = 256 << 20;

/// The maximum length of any other frame in bytes.
const SMALL_FRAME_BYTES_MAX: usize = 64 << 10;

/// A message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) enum Incoming {
    Query(String),
    Parse {
        name: String,
        text: String,
        types: Vec<u32>,
    },
    Bind(Bind),
    Describe(Target),
    Execute {
        portal: String,
        row_max: usize,
    },
    Close(Target),
    Flush,
    Sync,
    Terminate,
    CopyData(Vec<u8>),
    CopyDone,
    CopyFail(String),
    /// A password, or a step of SASL.
    Secret(Vec<u8>),
}

/// Values for a prepared statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) struct Bind {
    pub(in crate::pg) portal: String,
    pub(in crate::pg) statement: String,
    pub(in crate::pg) formats: Vec<i16>,
    pub(in crate::pg) values: Vec<Option<Vec<u8>>>,
    pub(in crate::pg) result_formats: Vec<i16>,
}

/// The statement or portal that is described or closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) enum Target {
    Statement(String),
    Portal(String),
}

/// The kind and the length of the frame's body, once its head has arrived.
pub(in crate::pg) fn head(bytes: &[u8]) -> Result<Option<(u8, usize)>, PgError> {
    let Some((&kind, rest)) = bytes.split_first() else { return Ok(None) };
    let longest = match kind {
        b'Q' | b'P' | b'B' | b'd' => FRAME_BYTES_MAX,
        b'D' | b'E' | b'C' | b'H' | b'S' | b'X' | b'c' | b'f' | b'p' | b'F' => SMALL_FRAME_BYTES_MAX,
        other => return Err(PgError::protocol(format!("unknown kind of frame 0x{other:02x}"))),
    };
    let Some(length) = rest.first_chunk() else { return Ok(None) };
    let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
    match length.checked_sub(4) {
        Some(body) if body <= longest => Ok(Some((kind, body))),
        Some(body) => Err(PgError::protocol(format!("a frame of {body} bytes: the maximum is {longest}"))),
        None => Err(PgError::protocol("a frame without a length")),
    }
}

/// Reads the body of a frame.
pub(in crate::pg) fn read(kind: u8, body: &[u8]) -> Result<Incoming, PgError> {
    let mut fields = Fields::new(body);
    let message = match kind {
        b'Q' => Incoming::Query(fields.text()?.to_owned()),
        b'P' => Incoming::Parse {
            name: fields.text()?.to_owned(),
            text: fields.text()?.to_owned(),
            types: fields.list(Fields::u32)?,
        },
        b'B' => Incoming::Bind(Bind {
            portal: fields.text()?.to_owned(),
            statement: fields.text()?.to_owned(),
            formats: fields.list(Fields::i16)?,
            values: fields.list(|fields| Ok(fields.value()?.map(<[u8]>::to_vec)))?,
            result_formats: fields.list(Fields::i16)?,
        }),
        b'D' => Incoming::Describe(target(&mut fields)?),
        b'C' => Incoming::Close(target(&mut fields)?),
        b'E' => Incoming::Execute {
            portal: fields.text()?.to_owned(),
            // 0 or less means no limit.
            row_max: usize::try_from(fields.i32()?).ok().filter(|most| *most > 0).unwrap_or(usize::MAX),
        },
        b'H' => Incoming::Flush,
        b'S' => Incoming::Sync,
        b'X' => Incoming::Terminate,
        b'd' => return Ok(Incoming::CopyData(body.to_vec())),
        b'c' => Incoming::CopyDone,
        b'f' => Incoming::CopyFail(fields.text()?.to_owned()),
        b'p' => return Ok(Incoming::Secret(body.to_vec())),
        _ => return Err(PgError::protocol("function calls by number are not supported")),
    };
    fields.end()?;
    Ok(message)
}

fn target(fields: &mut Fields<'_>) -> Result<Target, PgError> {
    match fields.u8()? {
        b'S' => Ok(Target::Statement(fields.text()?.to_owned())),
        b'P' => Ok(Target::Portal(fields.text()?.to_owned())),
        _ => Err(PgError::protocol("neither a statement nor a portal")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_truncated_or_flipped_frame_panics() {
        let bind = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x03abc\xff\xff\xff\xff\0\x01\0\x01";
        let read_bind = read(b'B', bind).unwrap();
        let values = vec![Some(b"abc".to_vec()), None];
        assert!(matches!(&read_bind, Incoming::Bind(bind) if bind.values == values), "{read_bind:?}");
        for kind in 0..=255 {
            for end in 0..bind.len() {
                let _ = read(kind, &bind[..end]);
                for flipped in [0, 0x7f, 0xff] {
                    let mut bytes = bind.to_vec();
                    bytes[end] = flipped;
                    let _ = read(kind, &bytes);
                }
            }
        }
        for end in 0..bind.len() {
            assert!(read(b'B', &bind[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_length_is_checked_before_anything_is_read() {
        assert_eq!(head(b"Q").unwrap(), None);
        assert_eq!(head(b"Q\0\0\0\x05").unwrap(), Some((b'Q', 1)));
        for bytes in [b"Q\x7f\xff\xff\xff", b"Q\xff\xff\xff\xff", b"S\0\x10\0\0", b"Q\0\0\0\x03", b"\0\0\0\0\x04"] {
            assert!(head(bytes).is_err(), "{bytes:?}");
        }
    }
}
