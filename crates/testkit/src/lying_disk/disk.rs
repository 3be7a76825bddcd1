//! The files below a folder, as a program sees them and as a power cut leaves them.

use super::recorder::Event;
use crate::sample::Random;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

const SECTOR_BYTES: usize = 512;

/// The fate of changes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All changes survive: the program was killed, but not the system.
    Nothing,
    /// No change survives.
    Everything,
    /// The first changes of each file and folder survive, the last of them in part.
    Later,
    /// Any subset of the changes survives, with any sectors of each.
    Some,
}

/// The files below a folder.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
    files: Vec<File>,
    inodes: HashMap<u64, usize>,
    folders: BTreeMap<PathBuf, Folder>,
}

#[derive(Debug, Default)]
struct File {
    /// The content as the program sees it.
    cached: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

#[derive(Debug, Clone, Copy)]
enum FolderEntry {
    File(usize),
    Folder,
}

#[derive(Debug, Default)]
struct Folder {
    durable: BTreeMap<String, FolderEntry>,
    pending: Vec<(String, Option<FolderEntry>)>,
}

impl Folder {
    fn find(&self, name: &str) -> Option<FolderEntry> {
        let pending = self.pending.iter().rev().find(|(other, _)| other == name).map(|(_, entry)| *entry);
        pending.unwrap_or_else(|| self.durable.get(name).copied())
    }
}

impl Disk {
    /// A disk with only an empty folder.
    pub fn new(root: &Path) -> Self {
        let folders = BTreeMap::from([(root.to_owned(), Folder::default())]);
        Self { root: root.to_owned(), files: Vec::new(), inodes: HashMap::new(), folders }
    }

    /// Repeats a recorded operation of the program.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Created { path, inode } => {
                self.files.push(File::default());
                self.inodes.insert(*inode, self.files.len() - 1);
                self.name(path, Some(FolderEntry::File(self.files.len() - 1)));
            }
            Event::Written { inode, offset, bytes } => {
                let change = Change::Write { offset: *offset as usize, bytes: bytes.clone() };
                self.file(*inode).change(change);
            }
            Event::Truncated { inode, length } => {
                self.file(*inode).change(Change::Truncate(*length as usize));
            }
            Event::Synced { path, inode } => match self.folders.get_mut(path) {
                Some(folder) => {
                    for (name, entry) in folder.pending.drain(..) {
                        set(&mut folder.durable, name, entry);
                    }
                }
                None => {
                    let file = self.file(*inode);
                    for change in std::mem::take(&mut file.pending) {
                        write(&mut file.durable, &change);
                    }
                }
            },
            Event::Removed { path } => self.name(path, None),
            Event::FolderMade { path } => {
                self.name(path, Some(FolderEntry::Folder));
                self.folders.insert(path.clone(), Folder::default());
            }
            Event::Renamed { from, to } => {
                let entry = self.folders[parent(from)].find(&name_of(from));
                self.name(to, entry);
                self.name(from, None);
            }
            Event::Linked { from, to } => {
                let entry = self.folders[parent(from)].find(&name_of(from));
                self.name(to, entry);
            }
            // Data written before is lost in a power cut, and no later sync reports that: Linux considers it written
            // once it has reported the failure. Changes of names are retried.
            Event::SyncFailed { path, inode } => {
                if !self.folders.contains_key(path) {
                    self.file(*inode).pending.clear();
                }
            }
            Event::Mark(_) | Event::Failed { .. } => {}
        }
    }

    fn file(&mut self, inode: u64) -> &mut File {
        let file = self.inodes[&inode];
        &mut self.files[file]
    }

    fn name(&mut self, path: &Path, entry: Option<FolderEntry>) {
        let folder = self.folders.get_mut(parent(path)).expect("the folder is there");
        folder.pending.push((name_of(path), entry));
    }

    /// Writes the files into an existing folder, in the state that a power cut leaves.
    pub fn cut_power(&self, loss: Loss, random: &mut Random, to: &Path) {
        self.write_folder(&self.root, loss, random, to);
    }

    fn write_folder(&self, path: &Path, loss: Loss, random: &mut Random, to: &Path) {
        let Folder { durable, pending } = &self.folders[path];
        let mut names = durable.clone();
        for (name, entry) in pending.iter().take(kept(pending.len(), loss, random)) {
            set(&mut names, name.clone(), *entry);
        }
        for (name, entry) in names {
            match entry {
                FolderEntry::File(file) => {
                    let bytes = self.files[file].after(loss, random);
                    std::fs::write(to.join(name), bytes).expect("a file can be written");
                }
                FolderEntry::Folder => {
                    let to = to.join(&name);
                    std::fs::create_dir(&to).expect("a folder can be made");
                    self.write_folder(&path.join(name), loss, random, &to);
                }
            }
        }
    }
}

impl File {
    fn change(&mut self, change: Change) {
        write(&mut self.cached, &change);
        self.pending.push(change);
    }

    fn after(&self, loss: Loss, random: &mut Random) -> Vec<u8> {
        if loss == Loss::Nothing {
            return self.cached.clone();
        }
        let mut bytes = self.durable.clone();
        let kept = if loss == Loss::Some { self.pending.len() } else { kept(self.pending.len(), loss, random) };
        for (position, change) in self.pending.iter().enumerate().take(kept) {
            let is_last = position + 1 == kept && kept < self.pending.len();
            if loss == Loss::Some || (loss == Loss::Later && is_last) {
                tear(&mut bytes, change, random);
            } else {
                write(&mut bytes, change);
            }
        }
        bytes
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().expect("a path below the root")
}

fn name_of(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

fn set(names: &mut BTreeMap<String, FolderEntry>, name: String, entry: Option<FolderEntry>) {
    match entry {
        Some(entry) => names.insert(name, entry),
        None => names.remove(&name),
    };
}

/// Returns how many of this many changes survive.
fn kept(count: usize, loss: Loss, random: &mut Random) -> usize {
    match loss {
        Loss::Nothing => count,
        Loss::Everything => 0,
        Loss::Later | Loss::Some => random.below(count as u64 + 1) as usize,
    }
}

fn write(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes: new } => {
            let end = offset + new.len();
            bytes.resize(bytes.len().max(end), 0);
            bytes[*offset..end].copy_from_slice(new);
        }
        Change::Truncate(length) => bytes.resize(*length, 0),
    }
}

/// Applies a part of a change: some of its sectors, or its length without its bytes.
fn tear(bytes: &mut Vec<u8>, change: &Change, random: &mut Random) {
    let Change::Write { offset, bytes: new } = change else {
        if random.below(2) == 0 {
            write(bytes, change);
        }
        return;
    };
    if random.below(4) == 0 {
        return;
    }
    let (end, chance) = (offset + new.len(), random.below(5));
    if random.below(2) == 0 {
        bytes.resize(bytes.len().max(end), 0);
    }
    let mut start = *offset;
    while start < end {
        let sector_end = (start / SECTOR_BYTES + 1) * SECTOR_BYTES;
        let sector_end = sector_end.min(end);
        if random.below(4) < chance {
            bytes.resize(bytes.len().max(sector_end), 0);
            bytes[start..sector_end].copy_from_slice(&new[start - offset..sector_end - offset]);
        }
        start = sector_end;
    }
}
