//! Resolves arguments to files: a file itself, those in a folder, those that match a pattern, or those at a URL.

use crate::session::source_file::SourceFile;
use atsdb::{Error, ErrorKind, Result, is_foreign_table};
use atsdb_remote::{is_remote, path_of_url};
use atsdb_temporary::TemporarySpace;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the files of all arguments. Those of one argument are sorted by name. The URL of a table on a server stays
/// as it is. `#` and a name choose a sheet, or a file of an archive. Pipes, and files elsewhere, are copied to
/// `space`; with `in_pieces`, Parquet may be left there to be read piece by piece.
pub(crate) fn files(arguments: &[PathBuf], in_pieces: bool, space: &Arc<TemporarySpace>) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let local = |paths: Vec<PathBuf>| paths.into_iter().map(SourceFile::Local);
    for argument in arguments {
        let (argument, part) = with_part(argument);
        let first = files.len();
        let text = argument.to_str().unwrap_or_default();
        let is_pattern = !is_remote(text) && text.contains(['*', '?', '[']) && !is_foreign_table(text);
        if argument.is_dir() {
            files.extend(local(of_folder(&argument)?));
        } else if is_pattern && !argument.exists() {
            files.extend(local(of_pattern(&argument)?));
        } else if is_remote(text) && !argument.exists() {
            files.extend(SourceFile::fetch(text, in_pieces, space)?);
        } else {
            refuse_other_scheme(&argument)?;
            files.push(SourceFile::local(argument, space)?);
        }
        if let Some(part) = part {
            let parts = files.split_off(first).into_iter();
            files.extend(parts.map(|file| SourceFile::Part(Box::new(file), part.clone())));
        }
    }
    Ok(files)
}

/// Refuses a URL from which no files are read. It may have a password, and is not shown.
fn refuse_other_scheme(argument: &Path) -> Result<()> {
    let url = argument.to_str().filter(|text| !is_foreign_table(text) && !text.starts_with("sqlite:"));
    let scheme = url.and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
    match scheme.filter(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !argument.exists()) {
        Some(scheme) => Err(Error::usage(format!("files are not read from {scheme}:// URLs"))
            .with_hint("the URL of a file begins with https://, http://, s3:// or file:///")),
        None => Ok(()),
    }
}

/// Splits `book.xlsx#Sheet 2` and `days.zip#a.csv`: the file, and the sheet or file in it. What exists as a file by its
/// whole name has no part. A `file://` URL becomes its path.
fn with_part(argument: &Path) -> (PathBuf, Option<String>) {
    let whole = || (argument.to_owned(), None);
    let Some(text) = argument.to_str() else { return whole() };
    if let Some(path) = path_of_url(text).filter(|_| !argument.exists()) {
        return with_part(&path);
    }
    if argument.exists() || text.starts_with("sqlite:") || is_foreign_table(text) {
        return whole();
    }
    let split = text.match_indices('#').find(|(at, _)| has_parts(&text[..*at]) || Path::new(&text[..*at]).is_file());
    split.map_or_else(whole, |(at, _)| (PathBuf::from(&text[..at]), Some(text[at + 1..].to_owned())))
}

/// Refuses the URL of a table of another database, which an import copies and a statement does not read.
pub(crate) fn refuse_table_url(text: &str) -> Result<()> {
    let is_of_sqlite = text.starts_with("sqlite:") && !Path::new(text).exists();
    if !is_of_sqlite && !is_foreign_table(text) {
        return Ok(());
    }
    // The URL may have a password, and is not shown.
    Err(Error::new(ErrorKind::Sql, "FROM and COPY read files, not tables of other databases")
        .with_hint("import the table first: atsdb import STORE TABLE 'URL#TABLE'; then query STORE"))
}

/// Returns whether a name has the extension of files with parts, before that of a compression.
fn has_parts(name: &str) -> bool {
    let name = if is_remote(name) { name.split('?').next().unwrap_or(name) } else { name }.to_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    [".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".zip"].iter().any(|ending| name.ends_with(ending))
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
        true => Err(Error::usage(format!("there are no files in the folder {}", folder.display()))
            .with_hint("name the folder that the files are in; folders in it are not read")),
        false => Ok(files),
    }
}

/// Suggests a pattern if an import failed at a file of a folder, most of whose files have another extension.
pub(crate) fn with_pattern(error: Error, arguments: &[PathBuf]) -> Error {
    if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::Usage) {
        return error;
    }
    for folder in arguments.iter().filter(|argument| argument.is_dir()) {
        let Ok(files) = of_folder(folder) else { continue };
        let usual = files.iter().filter_map(|file| extension(file)).find(|usual| {
            let count = files.iter().filter(|file| extension(file).as_ref() == Some(usual)).count();
            count * 2 > files.len()
        });
        let Some(usual) = usual else { continue };
        let is_at = |file: &PathBuf| error.message().starts_with(&file.display().to_string());
        if files.iter().any(|file| is_at(file) && extension(file).as_ref() != Some(&usual)) {
            let pattern = folder.join(format!("*.{usual}"));
            return error
                .with_hint(format!("leave out files that are not tables: name the files as '{}'", pattern.display()));
        }
    }
    error
}

/// The extension of a file, with the one before it if the file is compressed: `csv.gz`.
fn extension(file: &Path) -> Option<String> {
    let (stem, last) = file.file_name()?.to_str()?.rsplit_once('.')?;
    Some(match stem.rsplit_once('.').filter(|_| matches!(last, "gz" | "zst")) {
        Some((_, inner)) => format!("{inner}.{last}"),
        None => last.to_owned(),
    })
}

fn of_pattern(pattern: &Path) -> Result<Vec<PathBuf>> {
    let text = pattern.to_string_lossy();
    let found = glob::glob(&text).map_err(|error| Error::usage(format!("{text}: {error}")))?;
    let files: Vec<PathBuf> = found.flatten().filter(|path| path.is_file()).collect();
    match files.is_empty() {
        true => Err(Error::new(ErrorKind::NotFound, format!("no file matches {text}"))
            .with_hint("* and ? stand for characters of a name, ** for folders; check the name of the folder")),
        false => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_follows_the_name_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a.zip#b");
        std::fs::write(&odd, "x").unwrap();
        std::fs::write(folder.path().join("plain"), "x").unwrap();
        let plain = folder.path().join("plain#Sheet #1").display().to_string();
        for (argument, file, part) in [
            ("book.xlsx#Sheet #2", "book.xlsx", Some("Sheet #2")),
            ("d#1/Book.XLS.gz#A", "d#1/Book.XLS.gz", Some("A")),
            ("days/*.zip#x.csv", "days/*.zip", Some("x.csv")),
            ("https://h/b.ods?sig=1#S", "https://h/b.ods?sig=1", Some("S")),
            (plain.as_str(), plain.strip_suffix("#Sheet #1").unwrap(), Some("Sheet #1")),
            (odd.to_str().unwrap(), odd.to_str().unwrap(), None),
            ("day#1.csv", "day#1.csv", None),
            ("sqlite:a.zip#t", "sqlite:a.zip#t", None),
            ("https://h/day.csv#x", "https://h/day.csv#x", None),
            ("file:///no/b%20k.xlsx#S", "/no/b k.xlsx", Some("S")),
        ] {
            assert_eq!(with_part(Path::new(argument)), (PathBuf::from(file), part.map(str::to_owned)), "{argument}");
        }
    }

    #[test]
    fn folders_and_patterns_are_files_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", "c.txt", ".hidden"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let names = |argument: &str| -> Vec<String> {
            let files = files(&[folder.path().join(argument)], true, &Arc::default()).unwrap();
            files.iter().map(|file| String::from_utf8_lossy(file.name().unwrap()).into_owned()).collect()
        };
        assert_eq!(names(""), ["a.csv", "b.csv", "c.txt"]);
        assert_eq!(names("*.csv"), ["a.csv", "b.csv"]);
        assert_eq!(names("missing.csv"), ["missing.csv"], "its own error names it");
        assert!(files(&[folder.path().join("*.json")], true, &Arc::default()).is_err());
        let url = format!("file://{}", folder.path().join("*.csv").display());
        assert_eq!(files(&[PathBuf::from(url)], true, &Arc::default()).unwrap().len(), 2);
        let error = files(&[PathBuf::from("ftp://me:secret@h/a.csv")], true, &Arc::default()).unwrap_err();
        assert_eq!(error.message(), "files are not read from ftp:// URLs");
    }
}
