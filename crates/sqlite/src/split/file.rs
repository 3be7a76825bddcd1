//! One page file: its header and its blocks. A block contains the pages of one chunk after a list of them. The
//! catalogue decides which blocks are valid. `docs/format/sqlite.md` describes the bytes.

use crate::split::page_location::PageLocation;
use atsdb_core::ColumnId;
use atsdb_core::checksum;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

/// The size of a file's header in bytes.
pub(crate) const FILE_HEAD_BYTES: u64 = 48;
/// The size of a block's header in bytes, without its list of pages.
pub(crate) const BLOCK_HEAD_BYTES: u64 = 16;
/// The size of a page's entry in a block's list, in bytes.
pub(crate) const BLOCK_PAGE_BYTES: u64 = 8;

const MAGIC: &[u8; 8] = b"ATSDPAGE";
const VERSION: u32 = 1;
const BLOCK_MAGIC: &[u8; 4] = b"ATSB";
/// The number of bytes of a block that are read first. This covers the lists of all but very wide tables, and often
/// small pages too.
const FIRST_READ_BYTES: usize = 4_096;
/// A page's number has 16 bits.
const PAGES_MAX: usize = 1 << 16;
const WRITE_BUFFER_BYTES: usize = 64 << 10;

/// The reason why a file or a block could not be read.
#[derive(Debug)]
pub(crate) enum PageFileError {
    /// An I/O error of the system.
    Io(io::Error),
    /// The content is damaged. The text continues a sentence that starts with the name of the file.
    Damaged(&'static str),
    /// A newer version wrote the file.
    Newer(u32),
}

impl From<io::Error> for PageFileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged("ends too early"),
            _ => Self::Io(error),
        }
    }
}

fn file_head(uid: [u8; 16], number: i64) -> [u8; FILE_HEAD_BYTES as usize] {
    let mut head = [0; FILE_HEAD_BYTES as usize];
    head[..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[16..32].copy_from_slice(&uid);
    head[32..40].copy_from_slice(&number.to_le_bytes());
    let sum = checksum::of_bytes(&head[..40]);
    head[40..].copy_from_slice(&sum.to_le_bytes());
    head
}

/// Writes the header of a file that has none or only a part of one.
pub(crate) fn write_head(file: &File, uid: [u8; 16], number: i64) -> io::Result<()> {
    // The file is truncated only if it has content: ext4 flushes a file that was truncated to nothing when it is
    // closed.
    if file.metadata()?.len() > 0 {
        file.set_len(0)?;
    }
    file.write_all_at(&file_head(uid, number), 0)
}

/// Returns whether a header was ever written to the disk. A power cut may leave the length of a file without its bytes.
pub(crate) fn has_head(file: &File) -> io::Result<bool> {
    let mut head = [0; FILE_HEAD_BYTES as usize];
    match file.read_exact_at(&mut head, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        other => other.map(|()| head.iter().any(|byte| *byte != 0)),
    }
}

/// Refuses a file that is not the file with this number of this store.
pub(crate) fn check_head(file: &File, uid: [u8; 16], number: i64) -> Result<(), PageFileError> {
    let mut head = [0; FILE_HEAD_BYTES as usize];
    file.read_exact_at(&mut head, 0)?;
    let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if &head[..8] == MAGIC && version > VERSION {
        return Err(PageFileError::Newer(version));
    }
    if head == file_head(uid, number) {
        return Ok(());
    }
    let sum = checksum::of_bytes(&head[..40]);
    let whole = &head[..8] == MAGIC && head[40..] == sum.to_le_bytes();
    Err(PageFileError::Damaged(if whole {
        "belongs to another store or has another number"
    } else {
        "has a damaged head"
    }))
}

/// A block's list of pages and their offsets in the file.
#[derive(Debug)]
pub(crate) struct Block {
    /// Column, offset and size of each page. The pages are contiguous.
    pub(crate) pages: Vec<(ColumnId, u64, u64)>,
    /// The offset of the block's end.
    pub(crate) end: u64,
    first_read: Vec<u8>,
    offset: u64,
}

/// Encodes the header with its list. It is bound to its location: at another location it counts as damaged.
fn block_head(location: PageLocation, pages: &[(ColumnId, &[u8])]) -> Vec<u8> {
    let mut head = Vec::with_capacity(BLOCK_HEAD_BYTES as usize + pages.len() * BLOCK_PAGE_BYTES as usize);
    head.extend_from_slice(BLOCK_MAGIC);
    head.extend_from_slice(&(pages.len() as u32).to_le_bytes());
    head.extend_from_slice(&[0; 8]);
    for (column, bytes) in pages {
        head.extend_from_slice(&u32::from(column.0).to_le_bytes());
        head.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    }
    let sum = block_checksum(location, &head);
    head[8..16].copy_from_slice(&sum);
    head
}

fn block_checksum(location: PageLocation, head: &[u8]) -> [u8; 8] {
    let bound = [&location.payload().to_le_bytes(), &head[..8], &head[16..]].concat();
    checksum::of_bytes(&bound).to_le_bytes()
}

/// Writes a block and returns the offset of its end.
pub(crate) fn write_block(mut file: &File, location: PageLocation, pages: &[(ColumnId, &[u8])]) -> io::Result<u64> {
    let head = block_head(location, pages);
    file.seek(SeekFrom::Start(u64::from(location.offset)))?;
    let mut writer = BufWriter::with_capacity(WRITE_BUFFER_BYTES, file);
    writer.write_all(&head)?;
    pages.iter().try_for_each(|(_, bytes)| writer.write_all(bytes))?;
    writer.flush()?;
    let bytes: u64 = pages.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    Ok(u64::from(location.offset) + head.len() as u64 + bytes)
}

/// Reads and checks a block's list of pages.
pub(crate) fn read_block(file: &File, location: PageLocation) -> Result<Block, PageFileError> {
    let offset = u64::from(location.offset);
    let file_bytes = file.metadata()?.len();
    let first = file_bytes.saturating_sub(offset).min(FIRST_READ_BYTES as u64) as usize;
    let mut bytes = vec![0; first];
    file.read_exact_at(&mut bytes, offset)?;
    if bytes.len() < BLOCK_HEAD_BYTES as usize {
        return Err(PageFileError::Damaged("ends too early"));
    }
    let count = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize;
    if &bytes[..4] != BLOCK_MAGIC || count > PAGES_MAX {
        return Err(PageFileError::Damaged("has no block at this offset"));
    }
    let head_bytes = BLOCK_HEAD_BYTES as usize + count * BLOCK_PAGE_BYTES as usize;
    if head_bytes > bytes.len() {
        if offset + head_bytes as u64 > file_bytes {
            return Err(PageFileError::Damaged("ends too early"));
        }
        bytes.resize(head_bytes, 0);
        file.read_exact_at(&mut bytes, offset)?;
    }
    if bytes[8..16] != block_checksum(location, &bytes[..head_bytes]) {
        return Err(PageFileError::Damaged("has a damaged block"));
    }
    let mut end = offset + head_bytes as u64;
    let mut pages = Vec::with_capacity(count);
    for entry in bytes[BLOCK_HEAD_BYTES as usize..head_bytes].chunks_exact(BLOCK_PAGE_BYTES as usize) {
        let column = ColumnId(u16::from_le_bytes([entry[0], entry[1]]));
        let byte_count = u64::from(u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]));
        pages.push((column, end, byte_count));
        end += byte_count;
    }
    // Before anything is allocated for a page, the file must be long enough for it.
    if end > file_bytes {
        Err(PageFileError::Damaged("ends too early"))
    } else {
        Ok(Block { pages, end, first_read: bytes, offset })
    }
}

impl Block {
    /// Reads the page of a column; `None` if the block has none.
    pub(crate) fn read(&self, file: &File, column: ColumnId) -> io::Result<Option<Vec<u8>>> {
        let Some((_, first, byte_count)) = self.pages.iter().find(|(other, ..)| *other == column) else {
            return Ok(None);
        };
        let (start, byte_count) = ((first - self.offset) as usize, *byte_count as usize);
        if let Some(bytes) = self.first_read.get(start..start + byte_count) {
            return Ok(Some(bytes.to_vec()));
        }
        let mut bytes = vec![0; byte_count];
        file.read_exact_at(&mut bytes, *first)?;
        Ok(Some(bytes))
    }

    /// Reads all pages.
    pub(crate) fn read_all(&self, file: &File) -> io::Result<Vec<(ColumnId, Vec<u8>)>> {
        let mut pages = Vec::with_capacity(self.pages.len());
        for (column, first, byte_count) in &self.pages {
            let mut bytes = vec![0; *byte_count as usize];
            file.read_exact_at(&mut bytes, *first)?;
            pages.push((*column, bytes));
        }
        Ok(pages)
    }
}
