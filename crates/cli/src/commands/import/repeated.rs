//! Detects files that the table already contains. The hash of a file's decompressed content is the id of its batch, or
//! of its part in a batch of several files. A batch id is accepted once.

use crate::console::interrupt;
use crate::session::source_file::SourceFile;
use atsdb::{BatchId, Engine, Result, Table, TableId};
use atsdb_import::open_content;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::io::Read;
use twox_hash::XxHash3_64;

/// The files of an import by their contents.
#[derive(Debug, Default)]
pub(super) struct KnownFiles {
    /// The files that are not in the table yet.
    pub(super) new: Vec<SourceFile>,
    /// The hashes of their contents.
    pub(super) hashes: Vec<u128>,
    /// Files with the content of another file of the import, and that file.
    pub(super) repeated: Vec<(SourceFile, SourceFile)>,
    /// Files whose content the table got before.
    pub(super) known: Vec<SourceFile>,
}

/// Compares the files with each other and with what the table contains. `None` if one is not a plain file, as stdin
/// is, or cannot be read: the importer reports that. `with_names` is whether the rows hold the names of their files,
/// and `sheet` the sheet that is read of each that has several. Without a table, nothing is known.
pub(super) fn compare(
    files: &[SourceFile],
    with_names: bool,
    sheet: Option<&str>,
    table: Option<(&Engine, &Table)>,
) -> Result<Option<KnownFiles>> {
    let mut found = KnownFiles::default();
    let mut first_of: HashMap<u128, &SourceFile> = HashMap::new();
    let mut different = Vec::new();
    for file in files {
        let hash = hash_of(file, with_names, sheet);
        interrupt::check()?;
        let Ok(Some(hash)) = hash else { return Ok(None) };
        match first_of.entry(hash) {
            Entry::Occupied(first) => found.repeated.push((file.clone(), (*first.get()).clone())),
            Entry::Vacant(vacant) => {
                vacant.insert(file);
                different.push((file, hash));
            }
        }
    }
    let are_known = match table {
        Some((engine, table)) => {
            let ids: Vec<_> = different.iter().map(|(_, hash)| id_of_file(*hash, table.id)).collect::<Result<_>>()?;
            engine.have_committed(&ids)
        }
        None => vec![false; different.len()],
    };
    for ((file, hash), is_known) in different.into_iter().zip(are_known) {
        if is_known {
            found.known.push(file.clone());
        } else {
            found.new.push(file.clone());
            found.hashes.push(hash);
        }
    }
    Ok(Some(found))
}

/// The ids of a batch of these files in a table, and of its parts.
pub(super) fn batch_ids(hashes: &[u128], table: TableId) -> Result<(BatchId, Vec<BatchId>)> {
    if let [hash] = hashes {
        return Ok((id_of_file(*hash, table)?, Vec::new()));
    }
    let mut hasher = ContentHasher::new();
    hashes.iter().for_each(|hash| hasher.write(&hash.to_le_bytes()));
    let whole = BatchId::new(format!("files {:032x} in table {}", hasher.finish(), table.0))?;
    let parts = hashes.iter().map(|hash| id_of_file(*hash, table)).collect::<Result<_>>()?;
    Ok((whole, parts))
}

fn id_of_file(hash: u128, table: TableId) -> Result<BatchId> {
    BatchId::new(format!("file {hash:032x} in table {}", table.0))
}

/// A hash of 128 bits: files of other contents must not be left out.
struct ContentHasher {
    halves: [XxHash3_64; 2],
    length: u64,
}

impl ContentHasher {
    fn new() -> Self {
        Self { halves: [0, 1].map(XxHash3_64::with_seed), length: 0 }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.halves.iter_mut().for_each(|half| half.write(bytes));
        self.length += bytes.len() as u64;
    }

    fn finish(mut self) -> u128 {
        let length = self.length;
        self.halves.iter_mut().for_each(|half| half.write_u64(length));
        let [low, high] = self.halves.map(|half| u128::from(half.finish()));
        low | high << 64
    }
}

/// The hash of a file's content, or of its version if it is read piece by piece. `None` if it is not a plain file, as
/// stdin is.
fn hash_of(file: &SourceFile, with_name: bool, sheet: Option<&str>) -> std::io::Result<Option<u128>> {
    let mut hasher = ContentHasher::new();
    if !file.is_plain_file() {
        return Ok(None);
    }
    let Some(opened) = file.opened()? else {
        return Ok(file.version().map(|version| {
            hasher.write(version.as_bytes());
            hasher.finish()
        }));
    };
    let mut content = open_content(&opened)?;
    if let Some(name) = file.name().filter(|_| with_name) {
        hasher.write(name);
        // No name contains it.
        hasher.write(b"/");
    }
    if let Some(part) = file.part().or(sheet) {
        hasher.write(part.as_bytes());
        hasher.write(b"#/");
    }
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = content.read(&mut buffer)?;
        if count == 0 || interrupt::check().is_err() {
            return Ok(Some(hasher.finish()));
        }
        hasher.write(&buffer[..count]);
    }
}
