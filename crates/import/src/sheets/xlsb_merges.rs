//! The merged areas of workbooks of Excel in binary form, which the reader of workbooks leaves out. The records are
//! those of the specification MS-XLSB: a number, a length, the content.

use crate::sheets::workbook::{MergedArea, SheetArea};
use quick_xml::Reader;
use quick_xml::events::Event;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};

/// The most merged areas of a sheet.
const AREAS_MAX: usize = 1 << 20;

/// The longest record that is looked at: a sheet of a workbook has a name of 31 characters.
const RECORD_BYTES_MAX: u64 = 4_096;

/// Numbers of records.
mod record {
    pub(super) const SHEET: u32 = 156;
    pub(super) const MERGED_AREA: u32 = 176;
}

/// Returns whether a part of the archive is a sheet.
pub(crate) fn is_sheet(entry: &str) -> bool {
    let entry = entry.to_lowercase();
    entry.starts_with("xl/worksheets/") && entry.ends_with(".bin")
}

/// The areas of a sheet that have several rows.
pub(crate) fn areas(sheet: impl Read) -> io::Result<Vec<MergedArea>> {
    let mut areas = Vec::new();
    each_record(sheet, record::MERGED_AREA, |data| {
        if let [Some(first_row), Some(last_row), Some(column), _] = [0, 4, 8, 12].map(|at| u32_at(data, at))
            && last_row > first_row
            && areas.len() < AREAS_MAX
        {
            areas.push(MergedArea { first_row, last_row, column });
        }
    })?;
    Ok(areas)
}

/// The names of the sheets by the parts that they are in. `workbook` lists the sheets, and `relations` their parts.
pub(crate) fn sheet_names(workbook: impl Read, relations: impl Read) -> io::Result<HashMap<String, String>> {
    let parts = parts(relations)?;
    let mut names = HashMap::new();
    each_record(workbook, record::SHEET, |data| {
        let found = text_at(data, 8).and_then(|(relation, end)| Some((relation, text_at(data, end)?.0)));
        if let Some((relation, name)) = found
            && let Some(part) = parts.get(&relation)
        {
            names.insert(format!("xl/{part}").to_lowercase(), name);
        }
    })?;
    Ok(names)
}

/// The areas with the names of their sheets. `areas` are those of parts of the archive.
pub(crate) fn named(areas: Vec<(String, MergedArea)>, names: &HashMap<String, String>) -> Vec<SheetArea> {
    let named = |(part, area): (String, MergedArea)| Some((names.get(&part.to_lowercase())?.clone(), area));
    areas.into_iter().filter_map(named).collect()
}

/// The parts of relations, by their ids.
fn parts(relations: impl Read) -> io::Result<HashMap<String, String>> {
    let mut reader = Reader::from_reader(BufReader::new(relations));
    let (mut parts, mut buffer) = (HashMap::new(), Vec::new());
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(io::Error::other)? {
            Event::Start(element) | Event::Empty(element) => {
                let value = |name: &str| {
                    let mut attributes = element.attributes().flatten();
                    attributes.find(|attribute| attribute.key.0 == name).map(|attribute| attribute.value.to_string())
                };
                if let (Some(id), Some(target)) = (value("Id"), value("Target")) {
                    parts.insert(id, target);
                }
            }
            Event::Eof => return Ok(parts),
            _ => {}
        }
    }
}

/// Passes on the content of the records of one kind.
fn each_record(part: impl Read, wanted: u32, mut receive: impl FnMut(&[u8])) -> io::Result<()> {
    let mut part = BufReader::new(part);
    let mut data = Vec::new();
    while !part.fill_buf()?.is_empty() {
        let kind = kind(&mut part)?;
        let length = u64::from(number(&mut part, 4)?);
        let mut content = (&mut part).take(length);
        if kind == wanted && length <= RECORD_BYTES_MAX {
            data.clear();
            content.read_to_end(&mut data)?;
            receive(&data);
        } else {
            io::copy(&mut content, &mut io::sink())?;
        }
    }
    Ok(())
}

/// The number of a record: one byte, or two, the first of which has its highest bit set.
fn kind(part: &mut impl Read) -> io::Result<u32> {
    number(part, 2)
}

/// A number of seven bits a byte, of at most `byte_count` bytes.
fn number(part: &mut impl Read, byte_count: u32) -> io::Result<u32> {
    let mut number = 0;
    for position in 0..byte_count {
        let mut byte = [0];
        part.read_exact(&mut byte)?;
        number |= u32::from(byte[0] & 0x7f) << (7 * position);
        if byte[0] < 0x80 {
            break;
        }
    }
    Ok(number)
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// A text of 16 bits a character after its length, and where it ends.
fn text_at(data: &[u8], at: usize) -> Option<(String, usize)> {
    let length = usize::try_from(u32_at(data, at)?).ok()?.checked_mul(2)?;
    let (start, end) = (at + 4, (at + 4).checked_add(length)?);
    let units: Vec<u16> =
        data.get(start..end)?.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
    Some((String::from_utf16_lossy(&units), end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of up to 127 bytes.
    fn record(kind: u32, data: &[u8]) -> Vec<u8> {
        let kind = [kind as u8 | 0x80, (kind >> 7) as u8];
        [&kind[..], &[data.len() as u8], data].concat()
    }

    fn text(text: &str) -> Vec<u8> {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        [&(text.encode_utf16().count() as u32).to_le_bytes()[..], &units].concat()
    }

    #[test]
    fn areas_of_several_rows_are_found_with_the_names_of_their_sheets() {
        let area = |numbers: [u32; 4]| record(record::MERGED_AREA, &numbers.map(u32::to_le_bytes).concat());
        let sheet = [vec![5, 0], record(148, &[0; 12]), area([1, 3, 2, 2]), area([4, 4, 0, 9]), vec![7, 2, 0, 0]];
        let found = areas(sheet.concat().as_slice()).unwrap();
        assert_eq!(found, [MergedArea { first_row: 1, last_row: 3, column: 2 }]);
        let relations =
            br#"<Relationships><Relationship Id="r2" Type="x" Target="worksheets/Sheet1.bin"/></Relationships>"#;
        let workbook = record(record::SHEET, &[vec![0; 8], text("r2"), text("Täg")].concat());
        let names = sheet_names(workbook.as_slice(), &relations[..]).unwrap();
        let places = vec![("xl/worksheets/sheet1.bin".to_owned(), found[0]), ("xl/other.bin".to_owned(), found[0])];
        assert_eq!(named(places, &names), [("Täg".to_owned(), found[0])]);
    }

    #[test]
    fn what_is_cut_off_is_an_error_or_ends() {
        let area = record(record::MERGED_AREA, &[[1, 0, 0, 0], [2, 0, 0, 0], [0; 4], [0; 4]].concat());
        assert!(areas(&area[..1]).is_err() && areas(&area[..2]).is_err());
        assert_eq!(areas(&area[..12]).unwrap(), []);
        assert!(is_sheet("xl/worksheets/Sheet1.bin") && !is_sheet("xl/worksheets/_rels/sheet1.bin.rels"));
    }
}
