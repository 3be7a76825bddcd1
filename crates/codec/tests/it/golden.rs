//! Pages and descriptors that released formats wrote, read for ever.
//!
//! `ATSDB_WRITE_GOLDEN=1` writes those that are missing, and never one that is there: a changed format gets files of
//! its own. What they must hold is made by `samples`, whose [`Random`] is fixed.

use crate::samples::{Random, SHAPES, UID, array, column, columns, same_bits};
use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use atsdb_codec::{
    Effort, decode_descriptor, decode_membership, decode_page, encode_descriptor, encode_membership, encode_page,
    stored_type, tuple_hashes,
};
use atsdb_core::{ChunkDescriptor, Column, ColumnId, ColumnType, Slice};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const ROWS: usize = 600;

fn golden(name: &str, make: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("ATSDB_WRITE_GOLDEN").is_some() && !path.exists() {
        fs::write(&path, make()).unwrap();
    }
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn samples() -> impl Iterator<Item = (String, Column, ArrayRef, Effort)> {
    columns().into_iter().flat_map(|column| {
        (0..SHAPES).flat_map(move |shape| {
            let column = column.clone();
            [Effort::Fresh, Effort::Sealed].map(move |effort| {
                let array = array(&column, ROWS, shape, shape + 1, &mut Random(shape as u64));
                let map = column.map.map_or(String::new(), |width| format!("_{width}"));
                let name = format!("{}{map}_{shape}_{effort:?}", column.column_type).to_lowercase();
                (name, column.clone(), array, effort)
            })
        })
    })
}

/// All pages of a format in one file: for each its name and its bytes, led by their lengths in two and four bytes.
#[test]
fn pages_of_format_1_are_read() {
    let make = || {
        let mut file = Vec::new();
        for (name, column, array, effort) in samples() {
            let page = encode_page(UID, &column, &array, effort).unwrap().bytes;
            file.extend_from_slice(&(name.len() as u16).to_le_bytes());
            file.extend_from_slice(name.as_bytes());
            file.extend_from_slice(&(page.len() as u32).to_le_bytes());
            file.extend_from_slice(&page);
        }
        file
    };
    let file = golden("format1.page", make);
    let mut encodings = BTreeSet::new();
    each_page(&file, |name, column, array, page| {
        encodings.insert(page[3]);
        let decoded = decode_page(UID, column, ROWS, page).unwrap();
        assert!(same_bits(array, &decoded), "{name}");
    });
    assert_eq!(encodings, (0..=11).collect(), "each encoding of format 1 is in the file");
}

/// Goes through a file of pages, which are those of [`samples`].
fn each_page(file: &[u8], mut each: impl FnMut(&str, &Column, &ArrayRef, &[u8])) {
    let mut rest = file;
    let mut take = |count: usize| {
        let (taken, after) = rest.split_at(count);
        rest = after;
        taken
    };
    for (name, column, array, _) in samples() {
        let name_bytes = u16::from_le_bytes(take(2).try_into().unwrap());
        assert_eq!(take(name_bytes.into()), name.as_bytes());
        let page_bytes = u32::from_le_bytes(take(4).try_into().unwrap());
        each(&name, &column, &array, take(page_bytes as usize));
    }
    assert!(rest.is_empty());
}

/// Whether a column of one stored type may become one of the other while its pages stay.
fn is_widened(from: &DataType, to: &DataType) -> bool {
    let same_kind = (from.is_signed_integer() && to.is_signed_integer())
        || (from.is_unsigned_integer() && to.is_unsigned_integer())
        || (from.is_floating() && to.is_floating());
    same_kind && from.primitive_width() < to.primitive_width()
}

#[test]
fn pages_of_format_1_are_read_as_a_wider_column_and_as_no_other() {
    let (mut read, mut refused) = (0, 0);
    each_page(&golden("format1.page", || panic!("another test writes it")), |name, _, array, page| {
        for column in columns() {
            let present = stored_type(&column);
            let decoded = decode_page(UID, &column, ROWS, page);
            if is_widened(array.data_type(), &present) {
                assert!(same_bits(&cast(array, &present).unwrap(), &decoded.unwrap()), "{name} as {present}");
                read += 1;
            } else if present != *array.data_type() {
                assert!(decoded.is_err(), "{name} as {present}");
                refused += 1;
            }
        }
    });
    assert!(read > 400 && refused > 4_000, "{read} {refused}");
}

#[test]
fn an_index_page_of_format_2_is_read() {
    let columns = [(ColumnType::Int32, None), (ColumnType::Text, None)]
        .map(|(column_type, map)| array(&column(column_type, map), ROWS, 3, 0, &mut Random(11)));
    let index = ColumnId(0x8001);
    let page = golden("format2.membership", || encode_membership(UID, index, &columns).unwrap().bytes);
    let filter = decode_membership(UID, index, ROWS, &page).unwrap();
    assert!(tuple_hashes(&columns).unwrap().iter().all(|hash| filter.may_contain(hash)));
    let other = array(&column(ColumnType::Int32, None), ROWS, 3, 0, &mut Random(12));
    let absent = tuple_hashes(&[other, ArrayRef::clone(&columns[1])]).unwrap();
    let wrong = absent.iter().filter(|hash| filter.may_contain(*hash)).count();
    assert!(wrong < ROWS / 20, "{wrong} of {ROWS}");
}

#[test]
fn descriptors_of_formats_1_and_2_are_read() {
    let pages = samples().step_by(SHAPES * 2).enumerate().map(|(position, (_, column, array, effort))| {
        let mut descriptor = encode_page(UID, &column, &array, effort).unwrap().descriptor;
        descriptor.column.0 = position as u16 * 2;
        descriptor
    });
    let mut expected = ChunkDescriptor {
        uid: UID,
        row_count: ROWS as u32,
        sealed: true,
        slice: Slice { start: -86_400, last: -1 },
        time_min: -86_000,
        time_max: -7,
        pages: pages.collect(),
    };
    let bytes = golden("format2.descriptor", || encode_descriptor(&expected));
    assert_eq!(decode_descriptor(&bytes).unwrap(), expected);
    assert!(expected.pages.iter().any(|page| page.statistics.sum.is_some()));
    // Format 1 had no sums.
    expected.pages.iter_mut().for_each(|page| page.statistics.sum = None);
    let bytes = golden("format1.descriptor", || panic!("it is there"));
    assert_eq!(decode_descriptor(&bytes).unwrap(), expected);
}
