//! Zip archives: a plain one with files to import, or one that is a workbook.

use crate::sheets::watched_file::WatchedFile;
use crate::sheets::workbook::{MergedArea, MergedAreas, WorkbookKind};
use crate::sheets::zip_limits::{PartScan, scan_part};
use crate::sheets::{damaged, is_protected, ods_limits, xlsb_merges, zip_limits};
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{Error, Result};
use atsdb_temporary::{PositionedFile, TemporaryFile, TemporarySpace};
use std::collections::HashMap;
use std::io::{self, BufReader, Read, Seek};
use std::sync::Arc;
use zip::ZipArchive;

/// The maximum number of files that a message lists.
const NAMES_SHOWN: usize = 20;

/// The bytes that are copied at once.
const COPIED_AT_ONCE: u64 = 1 << 20;

/// The most bytes of the parts of a workbook in binary form that list its sheets.
const SHEET_LIST_BYTES_MAX: u64 = 1 << 24;

/// An open archive.
pub(crate) struct Archive<'a> {
    name: &'a str,
    zip: ZipArchive<BufReader<WatchedFile<'a>>>,
    /// The names of its entries, in order.
    entries: Vec<String>,
}

impl<'a> Archive<'a> {
    /// Reads the list of files.
    pub(crate) fn open(name: &'a str, file: WatchedFile<'a>) -> Result<Self> {
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(name, "a zip archive", error))?;
        let entries = zip.file_names().map(|name| name.map(|name| name.replace('\\', "/"))).collect::<Result<_, _>>();
        let entries = entries.map_err(|error| damaged(name, "a zip archive", error))?;
        Ok(Self { name, zip, entries })
    }

    /// The kind of workbook that it is, if it is one. Other documents are refused.
    pub(crate) fn workbook_kind(&mut self) -> Result<Option<WorkbookKind>> {
        let has = |part: &str| self.entries.iter().any(|entry| entry.eq_ignore_ascii_case(part));
        let begins = |start: &str| self.entries.iter().any(|entry| entry.to_lowercase().starts_with(start));
        if has("[Content_Types].xml") {
            if has("xl/workbook.bin") {
                return Ok(Some(WorkbookKind::Xlsb));
            }
            if begins("xl/") || !(begins("word/") || begins("ppt/")) {
                return Ok(Some(WorkbookKind::Xlsx));
            }
            return Err(self.other_document());
        }
        if has("mimetype") && has("content.xml") {
            let mut mimetype = Vec::new();
            let part = self.zip.by_name("mimetype").map_err(|error| damaged(self.name, "a spreadsheet", error))?;
            part.take(128).read_to_end(&mut mimetype).map_err(|error| damaged(self.name, "a spreadsheet", error))?;
            if mimetype.starts_with(b"application/vnd.oasis.opendocument.spreadsheet") {
                return Ok(Some(WorkbookKind::Ods));
            }
            return Err(self.other_document());
        }
        if has("Index/Document.iwa") || has("Index.zip") {
            return Err(Error::usage(format!("{} is a document of Numbers or Pages", self.name))
                .with_hint("export it as Excel or CSV"));
        }
        Ok(None)
    }

    fn other_document(&self) -> Error {
        Error::usage(format!("{} is a document, but not a spreadsheet", self.name)).with_hint("export its rows as CSV")
    }

    /// Checks that the parts of a workbook do not take more memory than they may, and finds merged areas.
    pub(crate) fn check_parts(&mut self, kind: WorkbookKind) -> Result<MergedAreas> {
        let (name, mut held_bytes, mut merge_count) = (self.name, 0, 0);
        let (mut areas, mut areas_of_parts) = (Vec::new(), Vec::<(String, MergedArea)>::new());
        for position in 0..self.zip.len() {
            let entry = self.entries.get(position).map_or("", String::as_str);
            let part = self.zip.by_index(position).map_err(|error| damaged(name, "a spreadsheet", error))?;
            if kind == WorkbookKind::Ods && entry == "content.xml" {
                areas = ods_limits::check(name, part)?;
                continue;
            }
            if kind == WorkbookKind::Xlsb && xlsb_merges::is_sheet(entry) {
                let found = xlsb_merges::areas(part)
                    .map_err(|error| damaged(name, "a workbook of Excel", format!("{entry}: {error}")))?;
                areas_of_parts.extend(found.into_iter().map(|area| (entry.to_owned(), area)));
                continue;
            }
            let scan: PartScan = scan_part(name, entry, part, kind)?;
            let byte_count = scan.byte_count;
            merge_count += scan.merge_count;
            if zip_limits::is_held(entry) {
                held_bytes += byte_count;
            }
        }
        zip_limits::check_held(name, held_bytes)?;
        if !areas_of_parts.is_empty() {
            let names = self.sheet_names().map_err(|error| damaged(name, "a workbook of Excel", error))?;
            areas = xlsb_merges::named(areas_of_parts, &names);
        }
        Ok(if merge_count > 0 { MergedAreas::InWorkbook } else { MergedAreas::Known(areas) })
    }

    /// The names of the sheets of a workbook in binary form, by their parts.
    fn sheet_names(&mut self) -> io::Result<HashMap<String, String>> {
        let mut part = |name: &str| {
            let mut bytes = Vec::new();
            let part = self.zip.by_name(name).map_err(io::Error::other)?;
            part.take(SHEET_LIST_BYTES_MAX).read_to_end(&mut bytes).map(|_| bytes)
        };
        let (workbook, relations) = (part("xl/workbook.bin")?, part("xl/_rels/workbook.bin.rels")?);
        xlsb_merges::sheet_names(workbook.as_slice(), relations.as_slice())
    }

    /// The file of the archive, from its start.
    pub(crate) fn into_file(self) -> Result<WatchedFile<'a>> {
        let failed = |error: io::Error| damaged(self.name, "a zip archive", error);
        let mut file = self.zip.into_inner().into_inner();
        file.rewind().map_err(failed)?;
        Ok(file)
    }

    /// Copies one file of the archive to a temporary file: the one named, or the only one.
    pub(crate) fn file(
        mut self,
        part: &mut Option<String>,
        space: &Arc<TemporarySpace>,
    ) -> Result<(String, PositionedFile)> {
        let position = self.position(part)?;
        let entry = self.entries[position].clone();
        let failed = |error: io::Error| damaged(self.name, "a zip archive", format!("{entry}: {error}"));
        let mut part = self.zip.by_index(position).map_err(|error| match error.to_string() {
            text if text.to_lowercase().contains("password") => is_protected(self.name),
            text => damaged(self.name, "a zip archive", format!("{entry}: {text}")),
        })?;
        let file = TemporaryFile::new(space)?;
        loop {
            let mut bytes = Vec::new();
            let count = (&mut part).take(COPIED_AT_ONCE).read_to_end(&mut bytes).map_err(failed)?;
            let kept = file.append(&bytes);
            kept.map_err(|error| error.context(format!("cannot copy {entry} to a temporary file")))?;
            if (count as u64) < COPIED_AT_ONCE {
                break;
            }
        }
        let name = entry.rsplit('/').next().unwrap_or(&entry).to_owned();
        Ok((name, PositionedFile::from(Arc::new(file))))
    }

    /// Returns the position of the wanted file. Folders, hidden files and those that macOS adds are skipped.
    fn position(&self, part: &mut Option<String>) -> Result<usize> {
        let is_file = |entry: &str| {
            let name = entry.rsplit('/').next().unwrap_or(entry);
            !name.is_empty() && !name.starts_with('.') && !entry.starts_with("__MACOSX/")
        };
        let files: Vec<(usize, &str)> =
            self.entries.iter().map(String::as_str).enumerate().filter(|(_, entry)| is_file(entry)).collect();
        // The name of a sheet may be meant for a workbook in the archive.
        if let [(position, _)] = files.as_slice()
            && part.as_ref().is_none_or(|part| !files.iter().any(|(_, entry)| is_named(entry, part)))
        {
            return Ok(*position);
        }
        let name = self.name;
        let Some(wanted) = part.take() else {
            let Some((_, first)) = files.first() else {
                return Err(Error::usage(format!("{name} is a zip archive without files"))
                    .with_hint("fetch or write the archive again"));
            };
            return Err(Error::usage(format!("{name} is a zip archive of {} files", files.len()))
                .with_hint(format!("name one of them: {name}#{first}; available: {}", listed(&files))));
        };
        let exact = files.iter().find(|(_, entry)| *entry == wanted);
        let found = exact.or_else(|| files.iter().find(|(_, entry)| is_named(entry, &wanted)));
        found.map(|(position, _)| *position).ok_or_else(|| {
            let error = unknown_name("file", &wanted, files.iter().map(|(_, entry)| *entry));
            error.context(name)
        })
    }
}

/// Returns whether a name is that of an entry, with or without its folders.
fn is_named(entry: &str, name: &str) -> bool {
    same_name(entry, name) || entry.rsplit('/').next().is_some_and(|last| same_name(last, name))
}

fn listed(files: &[(usize, &str)]) -> String {
    let shown: Vec<&str> = files.iter().take(NAMES_SHOWN).map(|(_, entry)| *entry).collect();
    let more = match files.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// The error of an archive in an archive.
pub(crate) fn nested(name: &str) -> Error {
    Error::usage(format!("{name} is a zip archive in a zip archive")).with_hint("unpack the outer one")
}
