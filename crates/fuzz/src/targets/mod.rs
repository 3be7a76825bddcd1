//! The targets: what they begin with, and what reads it.

mod codec;
mod files;
mod stores;
mod text;

use crate::Target;

/// All of them.
pub(crate) fn all() -> Vec<Target> {
    [codec::all(), files::all(), stores::all(), text::all()].concat()
}

/// The committed inputs in a folder below `corpus`, in the order of their names.
fn committed(folder: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

/// For what has no checksum.
fn as_it_is(_: &mut [u8]) {}
