//! Resolves arguments to files: a file itself, those in a folder, those that match a pattern, or those at a URL.

use crate::session::source_file::SourceFile;
use atsdb::{Error, ErrorKind, Result, is_foreign_table};
use atsdb_remote::is_remote;
use std::path::{Path, PathBuf};

/// Returns the files of all arguments. Those of one argument are sorted by name. The URL of a table on a server stays
/// as it is. Files elsewhere are fetched; with `in_pieces`, Parquet may be left there to be read piece by piece.
pub(crate) fn files(arguments: &[PathBuf], in_pieces: bool) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let local = |paths: Vec<PathBuf>| paths.into_iter().map(SourceFile::Local);
    for argument in arguments {
        let text = argument.to_str().unwrap_or_default();
        let is_pattern = !is_remote(text) && text.contains(['*', '?', '[']) && !is_foreign_table(text);
        if argument.is_dir() {
            files.extend(local(of_folder(argument)?));
        } else if is_pattern && !argument.exists() {
            files.extend(local(of_pattern(argument)?));
        } else if is_remote(text) && !argument.exists() {
            files.extend(SourceFile::fetch(text, in_pieces)?);
        } else {
            files.push(SourceFile::Local(argument.clone()));
        }
    }
    Ok(files)
}

/// The files of a folder, without hidden files and subfolders.
fn of_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error: std::io::Error| {
        Error::new(ErrorKind::Unavailable, format!("cannot read {}: {error}", folder.display())).with_source(error)
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_file() && !is_hidden {
            files.push(path);
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(Error::usage(format!("there are no files in the folder {}", folder.display()))),
        false => Ok(files),
    }
}

fn of_pattern(pattern: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_string_lossy();
    let found = glob::glob(&text).map_err(|error| Error::usage(format!("{text}: {error}")))?;
    let files: Vec<PathBuf> = found.flatten().filter(|path| path.is_file()).collect();
    match files.is_empty() {
        true => Err(Error::new(ErrorKind::NotFound, format!("no file fits {text}"))),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_patterns_are_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", "c.txt", ".hidden"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let names = |argument: &str| -> Vec<String> {
            let files = files(&[folder.path().join(argument)], true).unwrap();
            files.iter().map(|file| String::from_utf8_lossy(file.name().unwrap()).into_owned()).collect()
        };
        assert_eq!(names(""), ["a.csv", "b.csv", "c.txt"]);
        assert_eq!(names("*.csv"), ["a.csv", "b.csv"]);
        assert_eq!(names("missing.csv"), ["missing.csv"], "its own error names it");
        assert!(files(&[folder.path().join("*.json")], true).is_err());
    }
}
