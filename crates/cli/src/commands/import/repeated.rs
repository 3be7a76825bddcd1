//! Whether a table got the same files before. The hash of a file's content, decompressed, is the name of a batch of
//! it, or of its part in a batch of several files, and counts once.

use crate::console::interrupt;
use atsdb::{BatchId, Engine, Result, Table, TableId};
use atsdb_import::open_content;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// The files of an import by their contents.
#[derive(Debug, Default)]
pub(super) struct KnownFiles {
    /// The files whose content the table has not got.
    pub(super) new: Vec<PathBuf>,
    /// The hashes of their contents.
    pub(super) hashes: Vec<u128>,
    /// Files with the content of another file of the import, and that file.
    pub(super) repeated: Vec<(PathBuf, PathBuf)>,
    /// Files whose content the table got before.
    pub(super) known: Vec<PathBuf>,
}

/// Compares the files with each other and with what the table got. `None` if one is no plain file, as stdin is, or
/// cannot be read: the importer reports that. `with_names` is whether the rows hold the names of their files.
pub(super) fn compare(
    files: &[PathBuf],
    with_names: bool,
    engine: &Engine,
    table: Option<&Table>,
) -> Result<Option<KnownFiles>> {
    let mut found = KnownFiles::default();
    let mut first_of: HashMap<u128, &PathBuf> = HashMap::new();
    let mut different = Vec::new();
    for path in files {
        if !path.is_file() {
            return Ok(None);
        }
        let hash = hash_of(path, with_names);
        interrupt::check()?;
        let Ok(hash) = hash else { return Ok(None) };
        match first_of.entry(hash) {
            Entry::Occupied(first) => found.repeated.push((path.clone(), (*first.get()).clone())),
            Entry::Vacant(vacant) => {
                vacant.insert(path);
                different.push((path, hash));
            }
        }
    }
    let are_known = match table {
        Some(table) => {
            let ids: Vec<_> = different.iter().map(|(_, hash)| id_of_file(*hash, table.id)).collect::<Result<_>>()?;
            engine.have_committed(&ids)
        }
        None => vec![false; different.len()],
    };
    for ((path, hash), is_known) in different.into_iter().zip(are_known) {
        if is_known {
            found.known.push(path.clone());
        } else {
            found.new.push(path.clone());
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

fn hash_of(path: &Path, with_name: bool) -> std::io::Result<u128> {
    let mut content = open_content(path)?;
    let mut hasher = ContentHasher::new();
    if let Some(name) = path.file_name().filter(|_| with_name) {
        hasher.write(name.as_encoded_bytes());
        // No name contains it.
        hasher.write(b"/");
    }
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = content.read(&mut buffer)?;
        if count == 0 || interrupt::check().is_err() {
            return Ok(hasher.finish());
        }
        hasher.write(&buffer[..count]);
    }
}
