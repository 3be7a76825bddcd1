//! Looking for damage in page files: whether they are there, whether each chunk's block is, and whether they agree with the
//! catalogue. What lies between blocks is nothing, and not looked at.

use crate::split::file::{self, Unreadable};
use crate::split::files::PageFiles;
use crate::split::place::{PLACED, Place};
use crate::split::reclaim::known;
use crate::verify::unreadable;
use atsdb_core::Error;
use atsdb_core::store::Finding;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;

/// Everything found. The files must have been listed before the connection's snapshot began: one that is made is announced
/// first.
pub(crate) fn verify(connection: &Connection, files: &PageFiles, listed: &BTreeSet<i64>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Err(error) = chunks(connection, files, &mut findings) {
        findings.push(unreadable("atsdb_chunk", error, files.catalogue()));
    }
    if Finding::is_cut_short(&findings) {
        return findings;
    }
    match known(connection) {
        Ok(known) => findings.extend(listed.difference(&known).filter_map(|number| stray(files, *number))),
        Err(failure) => {
            let error = failure.at(files.catalogue());
            findings.push(Finding::of_error("atsdb_page_file", format!("cannot be read: {error}"), &error));
        }
    }
    findings
}

/// What is to be said of a file that the catalogue does not know. Of this store's own, and of one whose head never came to
/// the disk, nothing: a power cut leaves them, and reclaiming removes them.
fn stray(files: &PageFiles, number: i64) -> Option<Finding> {
    let path = files.path(number);
    let looked = File::open(&path)
        .map_err(Unreadable::Io)
        .and_then(|file| if file::has_head(&file)? { file::check_head(&file, files.uid, number) } else { Ok(()) });
    let place = path.display().to_string();
    match looked {
        Ok(()) => None,
        Err(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
        Err(Unreadable::Damaged(problem)) => Some(finding(place, format!("is not in the catalogue, and {problem}"))),
        Err(error) => Some(told(place, &files.failure(number, "a page file", error))),
    }
}

fn finding(place: impl Into<String>, problem: impl Into<String>) -> Finding {
    Finding::damage(place, problem)
}

fn told(place: String, error: &Error) -> Finding {
    Finding::of_error(place, error.to_string(), error)
}

/// Compares visible chunks with their blocks, in the order in which they lie. What a stage wrote need not be on disk: after
/// a power cut its rows may be there without it, until it is given up.
fn chunks(connection: &Connection, files: &PageFiles, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(&format!(
        "SELECT payload, id, page_count, byte_count, (payload - {PLACED}) >> 32 IN (SELECT id FROM atsdb_page_file)
         FROM atsdb_chunk WHERE payload >= {PLACED} AND stage IS NULL ORDER BY payload"
    ))?;
    let mut rows = statement.query([])?;
    let (mut last_end, mut unreadable) = ((0, 0), None);
    while let Some(row) = rows.next()? {
        let (payload, chunk): (i64, String) = (row.get(0)?, format!("chunk {}", row.get::<_, i64>(1)?));
        let (page_count, byte_count): (u64, u64) = (row.get(2)?, row.get(3)?);
        let Some(place) = Place::of(payload) else { continue };
        if !row.get::<_, bool>(4)? {
            findings.push(finding(&chunk, format!("lies in page file {}, which is not in the catalogue", place.file)));
        }
        if unreadable == Some(place.file) {
            continue;
        }
        let file = match files.reader(place.file) {
            Ok(file) => file,
            Err(error) => {
                // Told once, at the first of its chunks.
                unreadable = Some(place.file);
                findings.push(told(chunk, &problem(files, place, error)));
                if Finding::is_cut_short(findings) {
                    return Ok(());
                }
                continue;
            }
        };
        match file::read_block(&file, place) {
            Err(error) => findings.push(told(chunk, &problem(files, place, error))),
            Ok(block) => {
                let bytes: u64 = block.pages.iter().map(|(_, _, byte_count)| byte_count).sum();
                let found = (block.pages.len() as u64, bytes);
                if found != (page_count, byte_count) {
                    let problem =
                        format!("has {} pages of {} bytes, not {page_count} of {byte_count}", found.0, found.1);
                    findings.push(finding(&chunk, problem));
                }
                if last_end > (place.file, u64::from(place.offset)) {
                    findings.push(finding(chunk, "its block begins in another's"));
                }
                last_end = (place.file, block.end);
            }
        }
    }
    Ok(())
}

fn problem(files: &PageFiles, place: Place, error: Unreadable) -> Error {
    files.failure(place.file, "its pages", error)
}
