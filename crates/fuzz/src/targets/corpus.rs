//! Initial inputs.

/// The committed inputs in a folder below `corpus`, in the order of their names.
pub(super) fn committed(folder: &str) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

/// Does nothing, for inputs without a checksum.
pub(super) fn without_checksum(_: &mut [u8]) {}
