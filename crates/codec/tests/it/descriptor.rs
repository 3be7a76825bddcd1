//! Descriptors are read back as written, are small, and every damage to them is an error.

use crate::samples::{Random, UID};
use atsdb_codec::{DescriptorKey, decode_descriptor, encode_descriptor};
use atsdb_core::{Bound, ChunkDescriptor, ColumnId, ColumnStatistics, ErrorKind, PageDescriptor, Slice, Sum};
use twox_hash::XxHash3_64;

fn page(column: u16, min: Option<Bound>, max: Option<Bound>) -> PageDescriptor {
    let sum = match min {
        // The sum of such times exceeds 64 bits.
        Some(Bound::Int(low)) => Some(Sum::Int(i128::from(low) * 131_072)),
        Some(Bound::Float(low)) => Some(Sum::Float(low)),
        _ => None,
    };
    let statistics = ColumnStatistics { null_count: 12, min, max, sum };
    PageDescriptor { column: ColumnId(column), byte_count: 54_321, encoding: 4, statistics }
}

fn nine_columns() -> ChunkDescriptor {
    let start = 1_709_251_200_000_000;
    let mut pages = vec![
        page(0, Some(Bound::Int(start + 5)), Some(Bound::Int(start + 86_399_999_999))),
        page(1, Some(Bound::UInt(0)), Some(Bound::UInt(4_999))),
        page(2, Some(Bound::UInt(0)), Some(Bound::UInt(7))),
    ];
    pages.extend((3..9).map(|column| page(column, Some(Bound::Int(-70_000)), Some(Bound::Int(120_000)))));
    ChunkDescriptor {
        uid: UID,
        row_count: 131_072,
        sealed: true,
        slice: Slice { start, last: start + 86_399_999_999 },
        time_min: start + 5,
        time_max: start + 86_399_999_999,
        pages,
    }
}

fn odd() -> ChunkDescriptor {
    let pages = vec![
        page(7, Some(Bound::Float(-0.0)), Some(Bound::Float(f64::INFINITY))),
        page(900, Some(Bound::Bytes(vec![0; 32])), None),
        page(u16::MAX, None, None),
    ];
    let slice = Slice { start: i64::MIN, last: i64::MAX };
    ChunkDescriptor {
        row_count: 12,
        sealed: false,
        slice,
        time_min: i64::MAX,
        time_max: i64::MIN,
        pages,
        ..nine_columns()
    }
}

#[test]
fn a_descriptor_comes_back_and_nine_columns_take_under_240_bytes() {
    for descriptor in [nine_columns(), odd()] {
        assert_eq!(decode_descriptor(&encode_descriptor(&descriptor)).unwrap(), descriptor);
    }
    let byte_count = encode_descriptor(&nine_columns()).len();
    assert!(byte_count < 240, "{byte_count}");
}

#[test]
fn every_truncation_and_every_flipped_bit_is_an_error() {
    let bytes = encode_descriptor(&nine_columns());
    for length in 0..bytes.len() {
        assert_eq!(decode_descriptor(&bytes[..length]).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let kind = decode_descriptor(&flipped).unwrap_err().kind();
        assert_eq!(kind == ErrorKind::NewerFormat, bit / 8 == 0 && flipped[0] > 2, "bit {bit}");
    }
}

#[test]
fn a_key_belongs_to_one_undamaged_descriptor() {
    let (first, second) = (nine_columns(), odd());
    // An index was built over the chunk.
    let mut amended = nine_columns();
    amended.pages.push(page(900, Some(Bound::UInt(7)), None));
    let encoded: Vec<Vec<u8>> = [&first, &second, &amended].map(encode_descriptor).into();
    let keys: Vec<DescriptorKey> = encoded.iter().map(|bytes| DescriptorKey::of(bytes).unwrap()).collect();
    assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);
    assert_eq!(DescriptorKey::of(&encode_descriptor(&nine_columns())), Some(keys[0]));
    let bytes = &encoded[0];
    for length in 0..bytes.len() {
        assert_eq!(DescriptorKey::of(&bytes[..length]), None);
    }
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(DescriptorKey::of(&flipped), None, "bit {bit}");
    }
}

#[test]
fn hostile_descriptors_never_panic() {
    let mut random = Random(3);
    for descriptor in [nine_columns(), odd()] {
        let bytes = encode_descriptor(&descriptor);
        for _ in 0..20_000 {
            let mut hostile = bytes.clone();
            let length = 10 + random.below(hostile.len() - 9);
            hostile.truncate(length);
            for _ in 0..=random.below(3) {
                let position = 9 + random.below(hostile.len() - 9);
                hostile[position] = [0, 0x80, 0xff, random.next() as u8][random.below(4)];
            }
            let checksum = XxHash3_64::oneshot(&hostile[9..]);
            hostile[1..9].copy_from_slice(&checksum.to_le_bytes());
            let _ = decode_descriptor(&hostile);
        }
    }
}
