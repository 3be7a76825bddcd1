//! Reads the body of a request within limits, and decompresses it.

use super::options::IngestOptions;
use super::request_memory::{MemoryReservation, RequestMemory};
use atsdb_prom::remote::{RemoteError, claimed_length, decompress as unsnap};
use axum::body::{Body, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use flate2::bufread::MultiGzDecoder;
use std::io::{BufReader, Cursor, Read};
use std::pin::Pin;

/// Decompressed bytes are counted in steps of this size.
const STEP_BYTES: usize = 1 << 20;

/// A body, with its share of the memory for all bodies.
#[derive(Debug)]
pub(crate) struct HeldBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) reservation: MemoryReservation,
}

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    /// Snappy's block format.
    Snappy,
}

/// The reason why a body was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The body is larger than allowed, as sent or after decompression.
    TooLarge(usize),
    /// The encoding is not gzip.
    Encoding(String),
    /// The body does not have its declared format.
    Malformed(String),
    /// The client sent nothing for too long.
    Slow,
    /// There was no memory for the body.
    Full,
}

/// Reads a body that may be compressed by gzip, according to its headers.
pub(crate) async fn read_body(
    headers: &HeaderMap,
    body: Body,
    memory: &RequestMemory,
    options: &IngestOptions,
) -> Result<HeldBody, BodyError> {
    let compression = match headers.get(CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"identity" | b"") => Compression::None,
        Some(b"gzip" | b"x-gzip") => Compression::Gzip,
        Some(other) => return Err(BodyError::Encoding(String::from_utf8_lossy(other).into_owned())),
    };
    read_compressed(compression, headers, body, memory, options).await
}

/// Reads a body whose compression is known.
pub(crate) async fn read_compressed(
    compression: Compression,
    headers: &HeaderMap,
    body: Body,
    memory: &RequestMemory,
    options: &IngestOptions,
) -> Result<HeldBody, BodyError> {
    let sent_max = match compression {
        Compression::None => options.body_bytes_max.min(options.plain_bytes_max),
        Compression::Gzip | Compression::Snappy => options.body_bytes_max,
    };
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > sent_max) {
        return Err(BodyError::TooLarge(sent_max));
    }
    let mut reservation = memory.reservation();
    let sent = read_sent(body, sent_max, &mut reservation, options).await?;
    match compression {
        Compression::None => Ok(HeldBody { bytes: sent, reservation }),
        Compression::Gzip => decompress(sent, reservation, options).await,
        Compression::Snappy => decompress_snappy(sent, reservation, options).await,
    }
}

/// Reads the bytes as sent. Memory is reserved as bytes arrive, not for the announced length.
async fn read_sent(
    mut body: Body,
    bytes_max: usize,
    reservation: &mut MemoryReservation,
    options: &IngestOptions,
) -> Result<Vec<u8>, BodyError> {
    let mut sent = Vec::new();
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let frame = tokio::time::timeout(options.read_time_max, frame).await.map_err(|_| BodyError::Slow)?;
        let Some(frame) = frame else { return Ok(sent) };
        let frame = frame.map_err(|error| BodyError::Malformed(error.to_string()))?;
        let Ok(bytes) = frame.into_data() else { continue };
        if sent.len() + bytes.len() > bytes_max {
            return Err(BodyError::TooLarge(bytes_max));
        }
        reservation.grow(sent.len() + bytes.len()).await.map_err(|_| BodyError::Full)?;
        sent.extend_from_slice(&bytes);
    }
}

/// Undoes gzip step by step. No step begins before its memory is reserved.
pub(crate) async fn decompress(
    sent: Vec<u8>,
    mut reservation: MemoryReservation,
    options: &IngestOptions,
) -> Result<HeldBody, BodyError> {
    let sent_bytes = sent.len();
    let mut reader = MultiGzDecoder::new(BufReader::new(Cursor::new(sent)));
    let mut plain: Vec<u8> = Vec::new();
    loop {
        reservation.grow(sent_bytes + plain.len() + STEP_BYTES).await.map_err(|_| BodyError::Full)?;
        let step = tokio::task::spawn_blocking(move || {
            let before = plain.len();
            let read = (&mut reader).take(STEP_BYTES as u64).read_to_end(&mut plain);
            (read.map(|_| plain.len() - before), reader, plain)
        });
        let read;
        (read, reader, plain) = step.await.map_err(|error| BodyError::Malformed(error.to_string()))?;
        let read = read.map_err(|error| BodyError::Malformed(format!("the body is not gzip: {error}")))?;
        if plain.len() > options.plain_bytes_max {
            return Err(BodyError::TooLarge(options.plain_bytes_max));
        }
        if read < STEP_BYTES {
            return Ok(HeldBody { bytes: plain, reservation });
        }
    }
}

/// Decompresses in one step, because the body states its decompressed length.
async fn decompress_snappy(
    sent: Vec<u8>,
    mut reservation: MemoryReservation,
    options: &IngestOptions,
) -> Result<HeldBody, BodyError> {
    let plain_bytes_max = options.plain_bytes_max;
    let refused = move |error: RemoteError| match error {
        RemoteError::TooLarge(_) => BodyError::TooLarge(plain_bytes_max),
        other => BodyError::Malformed(other.to_string()),
    };
    let claimed = claimed_length(&sent, plain_bytes_max).map_err(refused)?;
    reservation.grow(sent.len() + claimed).await.map_err(|_| BodyError::Full)?;
    let plain = tokio::task::spawn_blocking(move || unsnap(&sent, plain_bytes_max).map_err(refused));
    let bytes = plain.await.map_err(|error| BodyError::Malformed(error.to_string()))??;
    Ok(HeldBody { bytes, reservation })
}
