//! Damaged pages give errors that name their location. Hostile pages do so too, and do not allocate much memory.

use crate::samples::{Random, SHAPES, UID, all_columns, array, column, reseal};
use atsdb_codec::{Effort, check_page, decode_page, encode_page};
use atsdb_core::{ChunkUid, Column, ColumnId, ColumnType, ErrorKind};

const ROWS: usize = 300;

fn pages(mut each: impl FnMut(&Column, &[u8], &mut Random)) {
    let mut random = Random(42);
    for column in all_columns() {
        for shape in 0..SHAPES {
            let array = array(&column, ROWS, shape, shape + 1, &mut random);
            for effort in [Effort::Fresh, Effort::Sealed] {
                each(&column, &encode_page(UID, &column, &array, effort).unwrap().bytes, &mut random);
            }
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    pages(|column, page, random| {
        for length in (0..page.len()).filter(|length| *length < 60 || random.below(20) == 0) {
            let error = decode_page(UID, column, ROWS, &page[..length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            // A shorter page with a valid checksum must not panic.
            if length >= 20 {
                let mut shorter = page[..length].to_vec();
                shorter[8..12].copy_from_slice(&(length as u32 - 20).to_le_bytes());
                reseal(&mut shorter, UID, column.id);
                check_page(UID, column.id, &shorter).unwrap();
                let _ = decode_page(UID, column, ROWS, &shorter);
            }
        }
    });
}

#[test]
fn every_flipped_bit_is_an_error_that_names_chunk_and_column() {
    pages(|column, page, random| {
        for flip in 0..10_000 / (2 * SHAPES) + 1 {
            let bit = if flip < 160 { flip } else { random.below(page.len() * 8) };
            let mut flipped = page.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = decode_page(UID, column, ROWS, &flipped).unwrap_err();
            assert!(error.message().contains(&UID.to_string()) && error.message().contains("column 3"), "{error}");
            let kind =
                if bit / 8 == 2 { [ErrorKind::NewerFormat, ErrorKind::Corrupt] } else { [ErrorKind::Corrupt; 2] };
            assert!(kind.contains(&error.kind()), "{error}");
        }
    });
}

#[test]
fn bytes_that_are_wrong_under_a_right_checksum_never_panic() {
    pages(|column, page, random| {
        for _ in 0..1_200 {
            let mut hostile = page.to_vec();
            for _ in 0..=random.below(3) {
                let span = if random.below(2) == 0 { hostile.len() } else { 60.min(hostile.len()) };
                let position = random.below(span);
                hostile[position] = match random.below(3) {
                    0 => hostile[position] ^ 1 << random.below(8),
                    1 => [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                    _ => random.next() as u8,
                };
            }
            hostile[0..2].copy_from_slice(b"aP");
            hostile[2] = page[2];
            hostile[4..12].copy_from_slice(&page[4..12]);
            reseal(&mut hostile, UID, column.id);
            if let Ok(array) = decode_page(UID, column, ROWS, &hostile) {
                assert_eq!(array.len(), ROWS);
                array.to_data().validate_full().unwrap();
            }
        }
    });
}

#[test]
fn random_payloads_in_every_encoding_never_panic() {
    let mut random = Random(7);
    for column in all_columns() {
        let array = array(&column, ROWS, 3, 0, &mut random);
        let page = encode_page(UID, &column, &array, Effort::Fresh).unwrap().bytes;
        for encoding in 0..15 {
            for _ in 0..400 {
                let length = random.below(80);
                let mut hostile = page[..20].to_vec();
                hostile[3] = encoding;
                hostile[8..12].copy_from_slice(&(length as u32).to_le_bytes());
                hostile.extend((0..length).map(|_| random.next() as u8 >> random.below(8)));
                reseal(&mut hostile, UID, column.id);
                let _ = decode_page(UID, &column, ROWS, &hostile);
            }
        }
    }
}

#[test]
fn a_page_in_another_place_is_refused() {
    pages(|column, page, _| {
        let elsewhere = ChunkUid([9; 16]);
        assert_eq!(check_page(elsewhere, column.id, page).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(check_page(UID, ColumnId(4), page).unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(decode_page(UID, &Column { id: ColumnId(4), ..column.clone() }, ROWS, page).is_err());
        assert!(decode_page(UID, column, ROWS + 1, page).is_err());
    });
}

#[test]
fn a_page_of_another_type_is_refused() {
    let written = column(ColumnType::Int64, None);
    let page = encode_page(UID, &written, &array(&written, 9, 3, 0, &mut Random(1)), Effort::Fresh).unwrap();
    let error = decode_page(UID, &column(ColumnType::Float64, None), 9, &page.bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn a_page_of_a_later_format_asks_for_an_upgrade() {
    let column = column(ColumnType::Int64, None);
    let mut page = encode_page(UID, &column, &array(&column, 9, 3, 0, &mut Random(1)), Effort::Fresh).unwrap().bytes;
    page[2] = 4;
    reseal(&mut page, UID, column.id);
    assert_eq!(decode_page(UID, &column, 9, &page).unwrap_err().kind(), ErrorKind::NewerFormat);
}

#[test]
fn few_bytes_do_not_buy_much_memory() {
    let text = column(ColumnType::Text, None);
    // No NULLs, and a constant of 10,000 bytes for 131,072 rows: more than a gigabyte.
    let mut page = b"aP\x01\x01\x0c\0\0\x02".to_vec();
    page.extend_from_slice(&10_001_u32.to_le_bytes());
    page.extend_from_slice(&[0; 8]);
    page.push(0);
    page.extend_from_slice(&[b'x'; 10_000]);
    reseal(&mut page, UID, text.id);
    let error = decode_page(UID, &text, 131_072, &page).unwrap_err();
    assert!(error.message().contains("bytes of text"), "{error}");

    // pcodec's dictionary mode would allocate 2^25 numbers for six bytes.
    let numbers = column(ColumnType::Int64, None);
    let mut page = b"aP\x01\x04\x05\x09\0\0".to_vec();
    page.extend_from_slice(&7_u32.to_le_bytes());
    page.extend_from_slice(&[0; 8]);
    page.extend_from_slice(&[0, 4, 1, 0xf4, 0xff, 0xff, 0xff]);
    reseal(&mut page, UID, numbers.id);
    let error = decode_page(UID, &numbers, 9, &page).unwrap_err();
    assert!(error.message().contains("dictionary mode"), "{error}");
}
