//! Finding damage in page files: whether they exist, whether each chunk's block does, and whether they agree with the
//! catalogue. Bytes between blocks have no meaning and are not checked.

use crate::split::file::{self, PageFileError};
use crate::split::files::PageFiles;
use crate::split::page_location::{PAGE_LOCATION_MIN, PageLocation};
use crate::split::reclaim::known;
use crate::verify::unreadable;
use atsdb_core::Error;
use atsdb_core::store::Finding;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;

/// Returns all findings. The files must have been listed before the connection's snapshot began, since a file is
/// registered before it is created.
pub(crate) fn verify(connection: &Connection, files: &PageFiles, listed: &BTreeSet<i64>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(error) = chunks(connection, files, &mut findings) {
        findings.push(unreadable("atsdb_chunk", error, files.catalogue()));
    }
    if Finding::is_incomplete(&findings) {
        return findings;
    }
    match known(connection) {
        Ok(known) => findings.extend(listed.difference(&known).filter_map(|number| check_unknown_file(files, *number))),
        Err(failure) => {
            let error = failure.into_error(files.catalogue());
            findings.push(Finding::from_error("atsdb_page_file", format!("cannot be read: {error}"), &error));
        }
    }
    findings
}

/// Checks a file that the catalogue does not know. It is not reported if it belongs to this store or its header never
/// reached the disk: a power cut leaves such files, and reclaiming removes them.
fn check_unknown_file(files: &PageFiles, number: i64) -> Option<Finding> {
    let path = files.path(number);
    let looked = File::open(&path)
        .map_err(PageFileError::Io)
        .and_then(|file| if file::has_head(&file)? { file::check_head(&file, files.uid, number) } else { Ok(()) });
    let location = path.display().to_string();
    match looked {
        Ok(()) => None,
        Err(PageFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
        Err(PageFileError::Damaged(problem)) => {
            Some(Finding::damage(location, format!("is not in the catalogue, and {problem}")))
        }
        Err(error) => Some(finding_of_error(location, &files.failure(number, "a page file", error))),
    }
}

fn finding_of_error(location: String, error: &Error) -> Finding {
    Finding::from_error(location, error.to_string(), error)
}

/// Compares visible chunks with their blocks, in the order of their locations. The pages of a stage need not be on
/// disk: after a power cut its rows may exist without them, until the stage is discarded.
fn chunks(connection: &Connection, files: &PageFiles, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!(
        "SELECT payload, id, page_count, byte_count, (payload - {PAGE_LOCATION_MIN}) >> 32 IN (SELECT id FROM atsdb_page_file)
         FROM atsdb_chunk WHERE payload >= {PAGE_LOCATION_MIN} AND stage IS NULL ORDER BY payload"
    ))?;
    let mut rows = statement.query([])?;
    let (mut last_end, mut unreadable) = ((0, 0), None);
    while let Some(row) = rows.next()? {
        let (payload, chunk): (i64, String) = (row.get(0)?, format!("chunk {}", row.get::<_, i64>(1)?));
        let (page_count, byte_count): (u64, u64) = (row.get(2)?, row.get(3)?);
        let Some(location) = PageLocation::of(payload) else { continue };
        if !row.get::<_, bool>(4)? {
            findings.push(Finding::damage(
                &chunk,
                format!("is in page file {}, which is not in the catalogue", location.file),
            ));
        }
        if unreadable == Some(location.file) {
            continue;
        }
        let file = match files.reader(location.file) {
            Ok(file) => file,
            Err(error) => {
                // This is reported once, for the first of its chunks.
                unreadable = Some(location.file);
                findings.push(finding_of_error(chunk, &problem(files, location, error)));
                if Finding::is_incomplete(findings) {
                    return Ok(());
                }
                continue;
            }
        };
        match file::read_block(&file, location) {
            Err(error) => findings.push(finding_of_error(chunk, &problem(files, location, error))),
            Ok(block) => {
                let bytes: u64 = block.pages.iter().map(|(_, _, byte_count)| byte_count).sum();
                let found = (block.pages.len() as u64, bytes);
                if found != (page_count, byte_count) {
                    let problem =
                        format!("has {} pages of {} bytes, not {page_count} of {byte_count}", found.0, found.1);
                    findings.push(Finding::damage(&chunk, problem));
                }
                if last_end > (location.file, u64::from(location.offset)) {
                    findings.push(Finding::damage(chunk, "its block begins in another's"));
                }
                last_end = (location.file, block.end);
            }
        }
    }
    Ok(())
}

fn problem(files: &PageFiles, location: PageLocation, error: PageFileError) -> Error {
    files.failure(location.file, "its pages", error)
}
