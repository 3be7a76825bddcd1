//! Folders and names. A store's folder is named after both its uid and its URL: a server that claims the uid of another
//! one can neither read nor insert its pages.

use crate::file::PageFile;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use twox_hash::XxHash3_64;

/// The prefix of the names of stores' folders; 32 hexadecimal digits follow.
const PREFIX: &str = "pages-";
/// The number of probe names to try before a folder is refused.
const TRIES_MAX: u32 = 1_000;

/// The folder of one store's pages. It is created with the first page: a store that is only opened leaves nothing.
#[derive(Debug)]
pub(crate) struct StoreFolder {
    root: PathBuf,
    path: PathBuf,
    /// The metadata of a file of this user.
    owner: fs::Metadata,
}

impl StoreFolder {
    /// Creates the folder of all stores if it is missing. Other users must not be able to write to it, since a page
    /// that passes its check would be trusted. Until that is known, nothing is written through a name that they may
    /// have linked elsewhere.
    pub(crate) fn open(root: &Path, url: &str, uid: [u8; 16]) -> Result<Self> {
        let name = |seed: u64| XxHash3_64::oneshot_with_seed(seed, &[&uid, url.as_bytes()].concat());
        let path = root.join(format!("{PREFIX}{:016x}{:016x}", name(1), name(2)));
        make(root)?;
        let owner = probe(root)?;
        check_private(root, &owner)?;
        match check_private(&path, &owner) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            checked => checked?,
        }
        Ok(Self { root: root.to_owned(), path, owner })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn path_of(&self, file: &PageFile) -> PathBuf {
        self.path.join(file.to_string())
    }

    /// Returns the folder's path for messages.
    pub(crate) fn shown(&self) -> String {
        format!("the page cache in {}", self.root.display())
    }

    /// Creates the store's folder, with its first page and after it was deleted.
    pub(crate) fn make(&self) -> Result<()> {
        for folder in [&self.root, &self.path] {
            make(folder)?;
            check_private(folder, &self.owner)?;
        }
        Ok(())
    }
}

/// Returns the stores' folders in the folder of all stores.
pub(crate) fn store_folders(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let is_store = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(PREFIX));
        name.is_some_and(|digits| digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    entries.map(|entry| entry.path()).filter(is_store).collect()
}

fn make(folder: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Returns the metadata, including the owner, of a new file in the folder. It creates the file or fails: no existing
/// file is opened, and no link is followed.
fn probe(folder: &Path) -> Result<fs::Metadata> {
    static PROBES: AtomicU32 = AtomicU32::new(0);
    for _ in 0..TRIES_MAX {
        let number = PROBES.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("probe-{}-{number}", std::process::id()));
        match fs::File::options().create_new(true).write(true).open(&path) {
            // It was left by an earlier process with this number, or planted.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => {
                let owner = file.metadata();
                let _ = fs::remove_file(&path);
                return owner;
            }
        }
    }
    Err(Error::other("it is full of names that look like those of this process"))
}

#[cfg(unix)]
fn check_private(folder: &Path, owner: &fs::Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(folder)?;
    match found.uid() == owner.uid() && found.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(Error::other("others can write there; make it the user's own, mode 0700")),
    }
}

#[cfg(not(unix))]
fn check_private(_: &Path, _: &fs::Metadata) -> Result<()> {
    Ok(())
}
