//! Errors about files that cannot be opened.

use atsdb_core::name::nearest_name;
use atsdb_core::{Error, ErrorKind};
use std::fs;
use std::io;
use std::path::Path;

/// The error for a file that could not be opened. The hint names a file with a similar name, if there is one.
pub fn cannot_open(path: &Path, error: io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => Error::not_found(format!("no file {shown}")).with_hint(hint(path)),
        io::ErrorKind::PermissionDenied => Error::new(ErrorKind::Unavailable, format!("cannot open {shown}: {error}"))
            .with_hint("check that you may read it, and enter its folders")
            .with_source(error),
        _ => Error::new(ErrorKind::Unavailable, format!("cannot open {shown}: {error}")).with_source(error),
    }
}

/// Returns the hint about the path of a file that does not exist: a missing folder, or a file with a similar name, if
/// there is one.
fn hint(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.exists() {
        return format!("there is no folder {}", folder.display());
    }
    // A folder that may not be listed has no names to offer.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let others = names.iter().map(String::as_str).filter(|other| *other != name);
    match nearest_name(&name, others) {
        Some(near) => format!("did you mean {}?", path.with_file_name(near).display()),
        None => "check the path: it begins in the current folder, unless it begins with /".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_gets_the_nearest_name_or_its_missing_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("weather.csv"), "").unwrap();
        let error = |name: &str| cannot_open(&folder.path().join(name), io::ErrorKind::NotFound.into());
        let near = folder.path().join("weather.csv");
        assert_eq!(error("weahter.csv").hint(), Some(format!("did you mean {}?", near.display()).as_str()));
        assert!(error("x").hint().is_some_and(|hint| hint.starts_with("check the path")));
        fs::create_dir(folder.path().join("days")).unwrap();
        assert!(error("days").hint().is_some_and(|hint| hint.starts_with("check the path")));
        let missing = folder.path().join("no");
        let wanted = format!("there is no folder {}", missing.display());
        assert_eq!(error("no/weather.csv").hint(), Some(wanted.as_str()));
        let denied = cannot_open(&near, io::ErrorKind::PermissionDenied.into());
        assert!(denied.message().starts_with("cannot open ") && denied.hint().is_some(), "{denied:?}");
    }
}
