//! The first packet of a connection, which has no kind.

use super::fields::Fields;
use crate::pg::error::PgError;

/// The maximum length of the first packet in bytes, as in PostgreSQL.
const STARTUP_BYTES_MAX: usize = 10_000;

const CANCEL: u32 = 80_877_102;
const TLS: u32 = 80_877_103;
const GSS: u32 = 80_877_104;

/// The first packet of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pg) enum Startup {
    /// Requests a session, with the minor version of the protocol and parameters.
    Session {
        minor: u16,
        parameters: Vec<(String, String)>,
    },
    /// Requests to interrupt another connection.
    Cancel {
        process: i32,
        secret: i32,
    },
    Tls,
    Gss,
}

/// The length of the packet's body, once its head has arrived.
pub(in crate::pg) fn head(bytes: &[u8]) -> Result<Option<usize>, PgError> {
    let Some(length) = bytes.first_chunk() else { return Ok(None) };
    match usize::try_from(i32::from_be_bytes(*length)) {
        Ok(length @ 8..=STARTUP_BYTES_MAX) => Ok(Some(length - 4)),
        _ => Err(PgError::protocol("invalid length of startup packet")),
    }
}

/// Reads the body of the packet.
pub(in crate::pg) fn read(body: &[u8]) -> Result<Startup, PgError> {
    let mut fields = Fields::new(body);
    let version = fields.u32()?;
    match (version, version >> 16) {
        (TLS, _) => Ok(Startup::Tls),
        (GSS, _) => Ok(Startup::Gss),
        (CANCEL, _) => Ok(Startup::Cancel { process: fields.i32()?, secret: fields.i32()? }),
        (_, 3) => {
            let mut parameters = Vec::new();
            loop {
                match fields.text()? {
                    "" => break,
                    name => parameters.push((name.to_owned(), fields.text()?.to_owned())),
                }
            }
            fields.end()?;
            Ok(Startup::Session { minor: (version & 0xffff) as u16, parameters })
        }
        (_, major) => Err(PgError::fatal(
            "0A000",
            format!("unsupported frontend protocol {major}.{}: server supports 3.0", version & 0xffff),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_packets_are_errors() {
        let body = b"\0\x03\0\0user\0me\0database\0air\0\0";
        let parameters = vec![("user".to_owned(), "me".to_owned()), ("database".to_owned(), "air".to_owned())];
        assert_eq!(read(body).unwrap(), Startup::Session { minor: 0, parameters });
        for end in 0..body.len() {
            assert!(read(&body[..end]).is_err(), "{end}");
        }
        assert!(read(b"\0\x02\0\0").unwrap_err().message.contains("2.0"));
        for head_bytes in [b"\0\0\0\x07", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"GET "] {
            assert!(head(head_bytes).is_err(), "{head_bytes:?}");
        }
    }
}
