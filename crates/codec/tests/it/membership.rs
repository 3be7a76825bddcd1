//! Pages of indexes: an existing value is always found, damage is an error, and equal values are equal in every
//! width.

use crate::samples::{Random, SHAPES, UID, array, columns, reseal};
use arrow::array::{Array, ArrayRef, Float32Array, Float64Array, Int8Array, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use atsdb_codec::{Membership, check_page, decode_membership, encode_membership, rebind_page, tuple_hashes};
use atsdb_core::{ChunkUid, ColumnId, ErrorKind};
use std::sync::Arc;

const ROWS: usize = 5_000;
const INDEX: ColumnId = ColumnId(0x8000);

fn filter_of(columns: &[ArrayRef]) -> Membership {
    let page = encode_membership(UID, INDEX, columns).unwrap();
    assert_eq!((page.descriptor.column, page.descriptor.encoding), (INDEX, 12));
    assert_eq!(page.descriptor.byte_count as usize, page.bytes.len());
    decode_membership(UID, INDEX, columns[0].len(), &page.bytes).unwrap()
}

#[test]
fn every_tuple_that_is_there_is_found_and_few_others_are() {
    let mut random = Random(5);
    for column in columns() {
        for shape in 0..SHAPES {
            let own = array(&column, ROWS, shape, shape + 1, &mut random);
            let with: ArrayRef = Arc::new((0..ROWS as i64).collect::<Int64Array>());
            for columns in [vec![ArrayRef::clone(&own)], vec![own, with]] {
                let filter = filter_of(&columns);
                let hashes = tuple_hashes(&columns).unwrap();
                assert!(hashes.iter().all(|hash| filter.may_contain(hash)));
                let wrong = (0..10_000).filter(|_| filter.may_contain(random.next())).count();
                assert!(wrong < 400, "{wrong} of 10,000 with {} words", filter.words().len());
                let bits = filter.words().len() * 32;
                let mut distinct: Vec<u64> = hashes.iter().collect();
                distinct.sort_unstable();
                distinct.dedup();
                let tuple_bits = (bits as f64 - 128.0) / distinct.len().max(1) as f64;
                assert!(distinct.len() < 400 && bits < 4_300 || (9.5..10.5).contains(&tuple_bits), "{tuple_bits}");
            }
        }
    }
}

#[test]
fn equal_values_are_equal_in_every_width_and_a_null_is_in_no_tuple() {
    let hashes = |array: ArrayRef| tuple_hashes(&[array]).unwrap().iter().collect::<Vec<u64>>();
    let narrow: ArrayRef = Arc::new(Int8Array::from(vec![-128, -1, 0, 127]));
    for wide in [DataType::Int16, DataType::Int32, DataType::Int64] {
        assert_eq!(hashes(ArrayRef::clone(&narrow)), hashes(cast(&narrow, &wide).unwrap()));
    }
    let floats = hashes(Arc::new(Float32Array::from(vec![0.5, -0.0, f32::INFINITY, f32::NAN])));
    assert_eq!(floats, hashes(Arc::new(Float64Array::from(vec![0.5, 0.0, f64::INFINITY, -f64::NAN]))));
    let with_null: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("")]));
    assert_eq!(hashes(ArrayRef::clone(&with_null)).len(), 2);
    assert_eq!(
        tuple_hashes(&[with_null, Arc::new(Int64Array::from(vec![None, Some(1), Some(1)]))]).unwrap().iter().count(),
        1
    );
    let empty = filter_of(&[Arc::new(Int64Array::new_null(9))]);
    assert!(empty.words().is_empty() && !empty.may_contain(0));
}

#[test]
fn the_order_and_the_bounds_of_values_in_a_tuple_count() {
    let pair =
        |a: &str, b: &str| -> [ArrayRef; 2] { [a, b].map(|text| Arc::new(StringArray::from(vec![text])) as ArrayRef) };
    let hash = |columns: &[ArrayRef]| tuple_hashes(columns).unwrap().iter().next().unwrap();
    assert_ne!(hash(&pair("a", "b")), hash(&pair("b", "a")));
    assert_ne!(hash(&pair("ab", "c")), hash(&pair("a", "bc")));
}

#[test]
fn damage_is_an_error_and_never_an_answer() {
    let column: ArrayRef = Arc::new((0..200).collect::<Int64Array>());
    let page = encode_membership(UID, INDEX, &[column]).unwrap().bytes;
    let decode = |page: &[u8]| decode_membership(UID, INDEX, 200, page);
    for bit in 0..page.len() * 8 {
        let mut flipped = page.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let error = decode(&flipped).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NewerFormat), "{error}");
    }
    for length in 0..page.len() {
        assert_eq!(decode(&page[..length]).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    assert!(decode_membership(UID, ColumnId(0x8001), 200, &page).is_err());
    assert!(decode_membership(UID, INDEX, 201, &page).is_err());
    // A change under a valid checksum is an error as well.
    let mut within_a_block = page[..page.len() - 4].to_vec();
    within_a_block[8..12].copy_from_slice(&(page.len() as u32 - 24).to_le_bytes());
    reseal(&mut within_a_block, UID, INDEX);
    assert!(decode(&within_a_block).is_err());
    for encoding in 0..12 {
        let mut other = page.clone();
        other[3] = encoding;
        reseal(&mut other, UID, INDEX);
        assert!(decode(&other).is_err());
    }
}

#[test]
fn a_page_bound_to_another_chunk_is_there_and_no_longer_here() {
    let other = ChunkUid([9; 16]);
    let column: ArrayRef = Arc::new((0..200).collect::<Int64Array>());
    let page = encode_membership(UID, INDEX, &[column]).unwrap().bytes;
    let bound = rebind_page(UID, other, INDEX, &page).unwrap();
    check_page(other, INDEX, &bound).unwrap();
    assert!(check_page(UID, INDEX, &bound).is_err());
    assert_eq!(rebind_page(other, UID, INDEX, &bound).unwrap(), page);
    let mut damaged = page.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(rebind_page(UID, other, INDEX, &damaged).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(rebind_page(other, UID, INDEX, &page).is_err() && rebind_page(UID, other, INDEX, &page[..7]).is_err());
}
