//! Pages, pages of indexes, descriptors of chunks, definitions of tables.

use super::corpus::{committed, without_checksum};
use crate::target::Target;
use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use atsdb_codec::{
    Effort, decode_descriptor, decode_membership, decode_page, encode_descriptor, encode_membership, encode_page,
};
use atsdb_core::{ChunkUid, Column, ColumnId, ColumnType, TableDefinition, TableId};
use atsdb_testkit::sample::{Plan, Random};
use std::sync::Arc;
use twox_hash::XxHash3_64;

const UID: ChunkUid = ChunkUid([9; 16]);
const COLUMN: ColumnId = ColumnId(3);
const ROWS: usize = 300;
const TYPES: [ColumnType; 4] = [ColumnType::Int64, ColumnType::Float64, ColumnType::Text, ColumnType::Bool];

pub(super) fn all() -> Vec<Target> {
    vec![
        Target { name: "page", test_count: 20_000, corpus: pages, reseal: reseal_page, read: read_page },
        Target {
            name: "membership",
            test_count: 10_000,
            corpus: memberships,
            reseal: reseal_page,
            read: read_membership,
        },
        Target {
            name: "descriptor",
            test_count: 20_000,
            corpus: descriptors,
            reseal: reseal_descriptor,
            read: read_descriptor,
        },
        Target {
            name: "definition",
            test_count: 5_000,
            corpus: definitions,
            reseal: without_checksum,
            read: read_definition,
        },
    ]
}

/// One array of each type and shape: constant, counting, random, with NULLs.
fn arrays() -> Vec<(ColumnType, ArrayRef)> {
    let mut random = Random::new(1);
    let mut arrays: Vec<(ColumnType, ArrayRef)> = Vec::new();
    for shape in 0..5_i64 {
        let mut number = |row: i64| match shape {
            0 => 5,
            1 => row,
            2 => row / 10 * 1_000,
            3 => random.below(100) as i64,
            _ => random.bits() as i64,
        };
        let numbers: Vec<Option<i64>> =
            (0..ROWS as i64).map(|row| (shape != 3 || row % 7 > 0).then(|| number(row))).collect();
        arrays.push((ColumnType::Int64, Arc::new(Int64Array::from(numbers.clone()))));
        let floats = numbers.iter().map(|number| number.map(|number| number as f64 / 4.0));
        arrays.push((ColumnType::Float64, Arc::new(floats.collect::<Float64Array>())));
        let texts = numbers.iter().map(|number| number.map(|number| format!("text {number}")));
        arrays.push((ColumnType::Text, Arc::new(texts.collect::<StringArray>())));
        let booleans = numbers.iter().map(|number| number.map(|number| number % 3 == 0));
        arrays.push((ColumnType::Bool, Arc::new(booleans.collect::<BooleanArray>())));
    }
    arrays
}

fn pages() -> Vec<Vec<u8>> {
    let efforts = [Effort::Fresh, Effort::Sealed];
    let page = |(column_type, array): (ColumnType, ArrayRef)| {
        let column = Column::new(COLUMN, "c", column_type);
        efforts.map(|effort| encode_page(UID, &column, &array, effort).expect("a page").bytes)
    };
    arrays().into_iter().flat_map(page).collect()
}

/// Sets the checksum to that of the bytes, as described in `docs/format/page.md`.
fn reseal_page(page: &mut [u8]) {
    if page.len() < 20 {
        return;
    }
    let payload_bytes = page.len() as u32 - 20;
    page[8..12].copy_from_slice(&payload_bytes.to_le_bytes());
    let bound = [UID.0.as_slice(), &COLUMN.0.to_le_bytes(), &page[..12]].concat();
    let checksum = XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(&bound), &page[20..]);
    page[12..20].copy_from_slice(&checksum.to_le_bytes());
}

fn read_page(bytes: &[u8]) {
    for column_type in TYPES {
        if let Ok(array) = decode_page(UID, &Column::new(COLUMN, "c", column_type), ROWS, bytes) {
            assert_eq!(array.len(), ROWS);
            array.to_data().validate_full().expect("an array that holds together");
        }
    }
}

fn memberships() -> Vec<Vec<u8>> {
    let texts: ArrayRef = Arc::new((0..ROWS).map(|row| Some(format!("s{}", row % 40))).collect::<StringArray>());
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    [vec![texts.clone()], vec![numbers.clone()], vec![texts, numbers]]
        .map(|columns| encode_membership(UID, COLUMN, &columns).expect("a page").bytes)
        .to_vec()
}

fn read_membership(bytes: &[u8]) {
    let _ = decode_membership(UID, COLUMN, ROWS, bytes);
}

fn descriptors() -> Vec<Vec<u8>> {
    let plans = [Plan::new(1), Plan::new(2).with_pages(1, 10), Plan::new(3).with_pages(12, 40)];
    plans.map(|plan| encode_descriptor(&plan.chunk(TableId(1)).descriptor)).to_vec()
}

fn reseal_descriptor(bytes: &mut [u8]) {
    if bytes.len() >= 9 {
        let checksum = XxHash3_64::oneshot(&bytes[9..]);
        bytes[1..9].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// A descriptor that is decoded is encoded to the same bytes.
fn read_descriptor(bytes: &[u8]) {
    if let Ok(descriptor) = decode_descriptor(bytes) {
        let again = decode_descriptor(&encode_descriptor(&descriptor)).expect("what was written is read");
        assert_eq!(format!("{again:?}"), format!("{descriptor:?}"));
    }
}

fn definitions() -> Vec<Vec<u8>> {
    let made = [atsdb_testkit::sample::series_table("readings"), atsdb_testkit::sample::wide_table("wide", 9)];
    let made = made.iter().map(|definition| serde_json::to_vec(definition).expect("JSON"));
    made.chain(committed("definitions")).collect()
}

fn read_definition(bytes: &[u8]) {
    let Ok(definition) = serde_json::from_slice::<TableDefinition>(bytes) else { return };
    if definition.check().is_ok() {
        let text = atsdb_sql::create_table_sql(&definition);
        drop(text);
        let json = serde_json::to_vec(&definition).expect("JSON");
        assert_eq!(serde_json::from_slice::<TableDefinition>(&json).expect("the same"), definition);
    }
}
