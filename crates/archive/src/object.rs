//! The encoding of objects: chunks, lists of chunks, dictionaries. Each begins with eight bytes for its kind and
//! format. Numbers are little-endian. No memory is allocated for a claimed length before the object is known to be that
//! long.

use atsdb_core::{ChunkDescriptor, ChunkUid, Error, ErrorKind, Result};
use twox_hash::XxHash3_64;

const CHUNK: &[u8; 7] = b"ATSDBCH";
const LIST: &[u8; 7] = b"ATSDBLI";
const DICTIONARY: &[u8; 7] = b"ATSDBDI";
/// The format of all three kinds.
const FORMAT: u8 = 1;
const HEADER_BYTES: usize = 8;

/// The number of strings in a dictionary object. Only the last object of a dictionary has fewer.
pub(crate) const STRINGS_PER_OBJECT: usize = 65_536;

/// The hash of bytes in hexadecimal, for names.
pub(crate) fn hash_name(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(bytes))
}

/// The name of a chunk's object. It depends on the chunk's name and descriptor, so that a chunk that got more pages
/// becomes another object.
pub(crate) fn chunk_name(uid: ChunkUid, descriptor: &[u8]) -> String {
    let uid = uid.to_string();
    format!("chunks/{}/{uid}-{}", &uid[..2], hash_name(descriptor))
}

/// The length of a chunk's object in bytes.
pub(crate) fn chunk_length(descriptor: &ChunkDescriptor, descriptor_bytes: &[u8]) -> u64 {
    (HEADER_BYTES + 4 + descriptor_bytes.len()) as u64 + descriptor.byte_count()
}

/// Encodes a chunk: header, length of the descriptor (4), the descriptor, its pages in its order.
pub(crate) fn encode_chunk(descriptor: &[u8], pages: &[Vec<u8>]) -> Vec<u8> {
    let length = HEADER_BYTES + 4 + descriptor.len() + pages.iter().map(Vec::len).sum::<usize>();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(CHUNK);
    bytes.push(FORMAT);
    put_bytes(&mut bytes, descriptor);
    pages.iter().for_each(|page| bytes.extend_from_slice(page));
    bytes
}

/// Decodes the pages of a chunk. The object must have this descriptor.
pub(crate) fn decode_chunk(bytes: &[u8], descriptor: &ChunkDescriptor, expected: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut rest = UndecodedBytes::new(bytes, CHUNK)?;
    if rest.bytes()? != expected {
        return Err(damaged("its descriptor differs from the one in the list"));
    }
    let pages = descriptor.pages.iter().map(|page| Ok(rest.take(page.byte_count as usize)?.to_vec()));
    let pages = pages.collect::<Result<Vec<_>>>()?;
    rest.end()?;
    Ok(pages)
}

/// Encodes a list of chunks: header, count (4), then for each chunk its number in the source (8), the length of its
/// descriptor (4), the descriptor.
pub(crate) fn encode_list(chunks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(LIST);
    bytes.push(FORMAT);
    bytes.extend_from_slice(&(chunks.len() as u32).to_le_bytes());
    for (number, descriptor) in chunks {
        bytes.extend_from_slice(&number.to_le_bytes());
        put_bytes(&mut bytes, descriptor);
    }
    bytes
}

/// Decodes what [`encode_list`] has encoded.
pub(crate) fn decode_list(bytes: &[u8]) -> Result<Vec<(i64, Vec<u8>)>> {
    let mut rest = UndecodedBytes::new(bytes, LIST)?;
    let count = rest.number()?;
    let mut chunks = Vec::new();
    for _ in 0..count {
        let mut number = [0; 8];
        number.copy_from_slice(rest.take(8)?);
        chunks.push((i64::from_le_bytes(number), rest.bytes()?.to_vec()));
    }
    rest.end()?;
    Ok(chunks)
}

/// Encodes strings: header, count (4), then for each string its length (4) and its bytes.
pub(crate) fn encode_strings(strings: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(DICTIONARY);
    bytes.push(FORMAT);
    bytes.extend_from_slice(&(strings.len() as u32).to_le_bytes());
    strings.iter().for_each(|string| put_bytes(&mut bytes, string));
    bytes
}

/// Decodes what [`encode_strings`] has encoded.
pub(crate) fn decode_strings(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut rest = UndecodedBytes::new(bytes, DICTIONARY)?;
    let count = rest.number()?;
    let mut strings = Vec::new();
    for _ in 0..count {
        strings.push(rest.bytes()?.to_vec());
    }
    rest.end()?;
    Ok(strings)
}

fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    to.extend_from_slice(bytes);
}

fn damaged(problem: &str) -> Error {
    Error::corrupt(problem)
}

/// The part of an object that has not been decoded yet.
struct UndecodedBytes<'a>(&'a [u8]);

impl<'a> UndecodedBytes<'a> {
    fn new(bytes: &'a [u8], kind: &[u8; 7]) -> Result<Self> {
        let mut rest = Self(bytes);
        let header = rest.take(HEADER_BYTES)?;
        if header[..7] != kind[..] {
            return Err(damaged("it is another kind of object"));
        }
        match header[7] {
            FORMAT => Ok(rest),
            newer if newer > FORMAT => Err(Error::new(
                ErrorKind::NewerFormat,
                format!("it has format {newer}; this version reads up to {FORMAT}"),
            )
            .with_hint("upgrade atsdb")),
            _ => Err(damaged("its format number is invalid")),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| damaged("it is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize> {
        let mut number = [0; 4];
        number.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(number) as usize)
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let count = self.number()?;
        self.take(count)
    }

    fn end(&self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(damaged("it has extra bytes at its end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_strings_come_back_and_every_cut_is_damage() {
        let list = vec![(7, vec![1, 2, 3]), (i64::MIN, Vec::new())];
        let bytes = encode_list(&list);
        assert_eq!(decode_list(&bytes).unwrap(), list);
        let strings = vec![b"a".to_vec(), Vec::new(), vec![0, 255]];
        let text = encode_strings(&strings);
        assert_eq!(decode_strings(&text).unwrap(), strings);
        for length in 0..bytes.len() {
            assert_eq!(decode_list(&bytes[..length]).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        for length in 0..text.len() {
            assert_eq!(decode_strings(&text[..length]).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        assert!(decode_list(&text).is_err());
    }

    #[test]
    fn a_newer_format_and_a_count_that_lies_are_refused() {
        let mut bytes = encode_strings(&[b"a".to_vec()]);
        bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(decode_strings(&bytes).unwrap_err().kind(), ErrorKind::Corrupt);
        bytes[7] = 2;
        assert_eq!(decode_strings(&bytes).unwrap_err().kind(), ErrorKind::NewerFormat);
    }
}
