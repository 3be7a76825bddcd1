//! Compound files, which hold a workbook of Excel up to 2003 as one of their streams. A stream is a chain of sectors.
//! Every chain is followed here once with a limit, because the reader of workbooks would follow a circle for ever.

use std::collections::HashSet;

/// The mark of a chain's end.
const END: u32 = 0xffff_fffe;
/// The first number that is not a sector.
const RESERVED: u32 = 0xffff_fffa;
/// The size in bytes of an entry of the directory, and of a small sector.
const ENTRY_BYTES: usize = 128;
const SMALL_SECTOR_BYTES: usize = 64;
/// Streams below this size are in small sectors.
const SMALL_STREAM_BYTES: u64 = 4_096;

/// A compound file whose chains all end.
pub(crate) struct Compound {
    entries: Vec<DirectoryEntry>,
    sectors: Sectors,
    small: Sectors,
}

struct DirectoryEntry {
    name: String,
    start: u32,
    byte_count: u64,
}

/// Sectors of one size, and the sector that follows each.
struct Sectors {
    bytes: Vec<u8>,
    size: usize,
    next: Vec<u32>,
}

impl Sectors {
    fn get(&self, id: u32) -> Option<&[u8]> {
        let start = (id as usize).checked_mul(self.size)?;
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        Some(&rest[..rest.len().min(self.size)])
    }

    /// The bytes of a chain, or `None` if it leaves the file or never ends.
    fn chain(&self, mut id: u32) -> Option<Vec<u8>> {
        let (mut bytes, mut seen) = (Vec::new(), HashSet::new());
        while id != END {
            if !seen.insert(id) {
                return None;
            }
            bytes.extend_from_slice(self.get(id)?);
            id = *self.next.get(id as usize)?;
        }
        Some(bytes)
    }
}

impl Compound {
    /// Reads the directory. `None` if the file is damaged.
    pub(crate) fn read(file: &[u8]) -> Option<Self> {
        let size = match u16_at(file, 30)? {
            9 => 512,
            12 => 4_096,
            _ => return None,
        };
        let mut sectors = Sectors { bytes: file.get(size..)?.to_vec(), size, next: Vec::new() };
        let sector_count = sectors.bytes.len().div_ceil(size);
        let mut lists: Vec<u32> = (76..512).step_by(4).map_while(|at| u32_at(file, at)).collect();
        let (mut list, mut seen) = (u32_at(file, 68)?, HashSet::new());
        while list < RESERVED {
            if !seen.insert(list) {
                return None;
            }
            lists.extend(numbers(sectors.get(list)?));
            list = lists.pop()?;
        }
        lists.retain(|id| *id < RESERVED);
        let distinct: HashSet<u32> = lists.iter().copied().collect();
        if distinct.len() < lists.len() || lists.len() > sector_count {
            return None;
        }
        for id in lists {
            let next: Vec<u32> = numbers(sectors.get(id)?).collect();
            sectors.next.extend(next);
        }
        let directory = sectors.chain(u32_at(file, 48)?)?;
        let entries: Vec<DirectoryEntry> =
            directory.chunks_exact(ENTRY_BYTES).filter_map(|bytes| entry(bytes, size)).collect();
        let small_bytes = match (u32_at(file, 64)?, entries.first()) {
            (0, _) | (_, None) => Vec::new(),
            (_, Some(root)) => sectors.chain(root.start)?,
        };
        let small_next = if u32_at(file, 64)? == 0 { Vec::new() } else { sectors.chain(u32_at(file, 60)?)? };
        let small = Sectors { bytes: small_bytes, size: SMALL_SECTOR_BYTES, next: numbers(&small_next).collect() };
        Some(Self { entries, sectors, small })
    }

    /// Returns whether the file has a stream with this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(name))
    }

    /// The bytes of a stream. `None` if it is damaged.
    pub(crate) fn stream(&self, name: &str) -> Option<Vec<u8>> {
        let entry = self.entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))?;
        let sectors = if entry.byte_count < SMALL_STREAM_BYTES { &self.small } else { &self.sectors };
        let mut bytes = sectors.chain(entry.start)?;
        bytes.truncate(usize::try_from(entry.byte_count).ok()?);
        Some(bytes)
    }
}

fn entry(bytes: &[u8], sector_size: usize) -> Option<DirectoryEntry> {
    let units = bytes[..64].chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    let low = u64::from(u32_at(bytes, 120)?);
    let high = if sector_size == 512 { 0 } else { u64::from(u32_at(bytes, 124)?) };
    Some(DirectoryEntry {
        name: String::from_utf16_lossy(&units),
        start: u32_at(bytes, 116)?,
        byte_count: low | high << 32,
    })
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|number| u32::from_le_bytes([number[0], number[1], number[2], number[3]]))
}
