//! A block: bytes of a known length, as they are or by zstd, whichever is shorter.
//!
//! One byte says which; the bytes follow to the block's end, which its container knows.

use crate::encoding::Effort;
use crate::wire::{Damage, Decoded, Reader};
use atsdb_core::{Error, Result};

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;

/// Below this many bytes zstd's own frame outweighs what it saves.
const ZSTD_BYTES_MIN: usize = 32;

/// zstd makes at most 128 KiB of the four bytes of its shortest block.
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

/// Reads a block of `byte_count` bytes from all that is left.
pub(crate) fn read_block(reader: &mut Reader<'_>, byte_count: usize) -> Decoded<Vec<u8>> {
    let form = reader.byte()?;
    let stored = reader.take_rest();
    match form {
        PLAIN if stored.len() == byte_count => Ok(stored.to_vec()),
        PLAIN => Err(Damage(format!("{} bytes where {byte_count} should be", stored.len()))),
        ZSTD => decompress(stored, byte_count),
        _ => Err("a block of unknown form".into()),
    }
}

/// The bytes by zstd, if that is shorter.
pub(crate) fn compress(bytes: &[u8], effort: Effort) -> Result<Option<Vec<u8>>> {
    if bytes.len() < ZSTD_BYTES_MIN {
        return Ok(None);
    }
    let level = match effort {
        Effort::Fresh => 1,
        // Level 12 writes half as fast, 15 a twentieth, for under 2 %.
        Effort::Sealed => 9,
    };
    let compressed = zstd::bulk::compress(bytes, level)
        .map_err(|error| Error::internal("zstd cannot compress a page").with_source(error))?;
    Ok(Some(compressed).filter(|compressed| compressed.len() < bytes.len()))
}

/// The `byte_count` bytes that zstd made `compressed` of. Nothing is allocated that so few bytes cannot hold.
pub(crate) fn decompress(compressed: &[u8], byte_count: usize) -> Decoded<Vec<u8>> {
    if byte_count / ZSTD_RATIO_MAX > compressed.len() {
        return Err(Damage(format!("{} bytes cannot hold {byte_count}", compressed.len())));
    }
    let bytes = zstd::bulk::decompress(compressed, byte_count).map_err(|error| Damage(format!("zstd: {error}")))?;
    if bytes.len() == byte_count {
        Ok(bytes)
    } else {
        Err(Damage(format!("zstd holds {} bytes where {byte_count} should be", bytes.len())))
    }
}
