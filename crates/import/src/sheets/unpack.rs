//! Opens a file with parts, and takes the one part that is imported.

use crate::options::report::Progress;
use crate::sheets::archive::{self, Archive};
use crate::sheets::damaged;
use crate::sheets::rows::{SheetText, sheet_text};
use crate::sheets::watched_file::{ReadProgress, WatchedFile};
use crate::sheets::workbook::{MergedAreas, Workbook, WorkbookKind};
use atsdb_core::{Error, Result};
use atsdb_temporary::{PositionedFile, TemporarySpace};
use std::sync::Arc;

/// The bytes at the beginning of a compound file, such as a workbook of Excel 97.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// The content of an archive.
pub(crate) enum Unpacked {
    /// A file of a zip archive, with its name.
    File(String, PositionedFile),
    /// A sheet of a workbook.
    Sheet(SheetText),
}

/// Returns whether a file that begins with these bytes has parts.
pub(crate) fn has_parts(head: &[u8]) -> bool {
    matches!(head, [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..]) || head.starts_with(COMPOUND)
}

/// Takes a part of a file: the one named, which is then no longer there, or the only one of an archive, or the first
/// sheet with rows.
pub(crate) fn unpack(
    name: &str,
    file: PositionedFile,
    head: &[u8],
    part: &mut Option<String>,
    space: &Arc<TemporarySpace>,
    progress: &dyn Fn(Progress),
) -> Result<Unpacked> {
    let byte_count = file.byte_count().unwrap_or(0);
    let progress = ReadProgress::new(byte_count, progress);
    let file = WatchedFile::new(file, &progress);
    if head.starts_with(COMPOUND) {
        return sheet(Workbook::open(name, file, WorkbookKind::Xls, MergedAreas::InWorkbook)?, part, space, &progress);
    }
    let mut archive = Archive::open(name, file)?;
    let Some(kind) = archive.workbook_kind()? else {
        let (name, file) = archive.file(part, space)?;
        return Ok(Unpacked::File(name, file));
    };
    let merged = archive.check_parts(kind)?;
    sheet(Workbook::open(name, archive.into_file()?, kind, merged)?, part, space, &progress)
}

fn sheet(
    mut workbook: Workbook<'_>,
    part: &mut Option<String>,
    space: &Arc<TemporarySpace>,
    progress: &ReadProgress<'_>,
) -> Result<Unpacked> {
    let sheet = workbook.choose(part.take().as_deref())?;
    Ok(Unpacked::Sheet(sheet_text(&mut workbook, &sheet, space, progress)?))
}

/// The error of a file that has no parts although one was named.
pub(crate) fn no_parts(name: &str, part: &str) -> Error {
    Error::usage(format!("{name} has no sheet or file {part:?}: it is neither a workbook nor a zip archive"))
        .with_hint("leave out --sheet, and # in the name of the file")
}

/// The error of an archive in an archive.
pub(crate) fn nested(name: &str) -> Error {
    archive::nested(name)
}

/// The error of a reader that panicked.
pub(crate) fn gave_up(name: &str, panic: &str) -> Error {
    damaged(name, "a workbook or zip archive", panic)
}
