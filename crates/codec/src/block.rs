//! A block: bytes of a known length, plain or compressed by zstd, whichever is shorter.
//!
//! The first byte is the form. The bytes continue to the block's end, which its container defines.

use crate::encoding::Effort;
use crate::wire::{Damage, DecodeResult, Reader};
use atsdb_core::{Error, Result};

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;

/// The size in bytes below which zstd's frame costs more than compression saves.
const ZSTD_BYTES_MIN: usize = 32;

/// The maximum compression ratio of zstd: its shortest block has four bytes and yields at most 128 KiB.
const ZSTD_RATIO_MAX: usize = 128 * 1024 / 4;

/// Writes a block.
pub(crate) fn write_block(out: &mut Vec<u8>, bytes: &[u8], effort: Effort) -> Result<()> {
    match compress(bytes, effort)? {
        Some(compressed) => {
            out.push(ZSTD);
            out.extend_from_slice(&compressed);
        }
        None => {
            out.push(PLAIN);
            out.extend_from_slice(bytes);
        }
    }
    Ok(())
}

/// Reads a block of `byte_count` bytes from the rest of the reader.
pub(crate) fn read_block(reader: &mut Reader<'_>, byte_count: usize) -> DecodeResult<Vec<u8>> {
    let form = reader.byte()?;
    let stored = reader.take_rest();
    match form {
        PLAIN if stored.len() == byte_count => Ok(stored.to_vec()),
        PLAIN => Err(Damage(format!("{} bytes instead of {byte_count}", stored.len()))),
        ZSTD => decompress(stored, byte_count),
        _ => Err("a block of unknown form".into()),
    }
}

/// Compresses bytes with zstd. Returns `None` if that is not shorter.
pub(crate) fn compress(bytes: &[u8], effort: Effort) -> Result<Option<Vec<u8>>> {
    if bytes.len() < ZSTD_BYTES_MIN {
        return Ok(None);
    }
    let level = match effort {
        Effort::Fresh => 1,
        // Level 12 is half as fast, 15 a twentieth, and they save less than 2 %.
        Effort::Sealed => 9,
    };
    let compressed = zstd::bulk::compress(bytes, level)
        .map_err(|error| Error::internal("zstd cannot compress a page").with_source(error))?;
    Ok(Some(compressed).filter(|compressed| compressed.len() < bytes.len()))
}

/// Decompresses `byte_count` bytes. Nothing is allocated that so few compressed bytes cannot contain.
pub(crate) fn decompress(compressed: &[u8], byte_count: usize) -> DecodeResult<Vec<u8>> {
    if byte_count / ZSTD_RATIO_MAX > compressed.len() {
        return Err(Damage(format!("{} bytes cannot hold {byte_count}", compressed.len())));
    }
    let bytes = zstd::bulk::decompress(compressed, byte_count).map_err(|error| Damage(format!("zstd: {error}")))?;
    if bytes.len() == byte_count {
        Ok(bytes)
    } else {
        Err(Damage(format!("zstd holds {} bytes instead of {byte_count}", bytes.len())))
    }
}
