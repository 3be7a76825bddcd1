//! Files with parts: workbooks, whose sheets become text, and zip archives, whose files are imported.
//!
//! Owned here: recognizing and opening them ([`unpack`]), zip archives ([`archive`]), the sheets of workbooks and their
//! cells ([`workbook`], [`cells`]), merged areas that the reader of workbooks leaves out ([`xlsb_merges`]), cells as
//! records of text ([`rows`]), the progress of reading ([`watched_file`]), and limits for files that are made to do
//! harm, because the reader of workbooks trusts what they declare ([`zip_limits`], [`ods_limits`], [`xls_limits`],
//! [`compound`]). Not owned: header, types and NULLs of a sheet, which are found like those of separated values.

mod archive;
mod cells;
mod compound;
mod ods_limits;
mod rows;
pub(crate) mod unpack;
mod watched_file;
mod workbook;
mod xls_limits;
mod xlsb_merges;
mod zip_limits;

use atsdb_core::{Error, ErrorKind};
use std::fmt::Display;

/// The most cells of the sheets that are held in memory.
const CELLS_MAX: u64 = 1 << 25;

/// The most bytes of text that are held in memory.
const TEXT_BYTES_MAX: u64 = 1 << 30;

/// The error of a file that cannot be read as `format`.
fn damaged(name: &str, format: &str, error: impl Display) -> Error {
    let text = error.to_string();
    if text.to_lowercase().contains("password") {
        return is_protected(name);
    }
    Error::invalid(format!("{name}: cannot read it as {format}: {text}")).with_hint("fetch or write the file again")
}

fn is_protected(name: &str) -> Error {
    Error::usage(format!("{name} is protected by a password")).with_hint("save it without a password")
}

/// The error of a file that would take more memory than its kind may.
fn too_large(name: &str, what: impl Display) -> Error {
    Error::new(ErrorKind::Limit, format!("{name}: {what}")).with_hint("save the sheet as CSV, and import that")
}
