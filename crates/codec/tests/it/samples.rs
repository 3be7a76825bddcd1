//! Arrays of every stored type that lead to every encoding, and helpers to compare and change pages.

use arrow::array::{Array, ArrayData, ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, StringArray};
use arrow::array::{Int64Array, ListArray, cast::AsArray, make_array};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, FieldRef};
use atsdb_codec::stored_type;
use atsdb_core::{ChunkUid, Column, ColumnId, ColumnType, MapWidth};
use std::sync::Arc;
use twox_hash::XxHash3_64;

pub(crate) const UID: ChunkUid = ChunkUid(*b"0123456789abcdef");

pub(crate) fn column(column_type: ColumnType, map: Option<MapWidth>) -> Column {
    Column { map, ..Column::new(ColumnId(3), "x", column_type) }
}

/// One column of each type and of each map width.
pub(crate) fn columns() -> Vec<Column> {
    let mapped = MapWidth::ALL.iter().map(|width| column(ColumnType::Text, Some(*width)));
    ColumnType::PLAIN.map(|column_type| column(column_type, None)).into_iter().chain(mapped).collect()
}

/// Columns of arrays, whose elements have each stored type.
pub(crate) fn array_columns() -> Vec<Column> {
    let decimals = ColumnType::decimal(18, 2).into_iter().chain(ColumnType::decimal(38, 9));
    let elements = ColumnType::PLAIN.into_iter().chain(decimals).chain([ColumnType::Time, ColumnType::Uuid]);
    elements.filter_map(ColumnType::array).map(|column_type| column(column_type, None)).collect()
}

/// All columns.
pub(crate) fn all_columns() -> Vec<Column> {
    columns().into_iter().chain(array_columns()).collect()
}

/// splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// The number of shapes that [`array`] knows.
pub(crate) const SHAPES: usize = 10;

/// An array of a column's stored type. `shape` is 0 constant, 1 regular, 2 walking, 3 random bits, 4 few distinct, 5
/// extremes, 6 walking with far values, 7 multiples (decimals in floats), 8 all NULL, 9 times of instruments. Every odd
/// `nulls` has NULLs.
pub(crate) fn array(column: &Column, rows: usize, shape: usize, nulls: usize, random: &mut Random) -> ArrayRef {
    if let DataType::List(field) = stored_type(column) {
        return arrays(column, field, rows, shape, nulls, random);
    }
    let mut walk = 1_000_i64;
    let extremes = [0, u64::MAX, 1 << 63, (1 << 63) - 1, 0x7ff8_0000_0000_1234, 0xfff0_0000_0000_0000, 0x7fc0_1234];
    let times = rhythm(rows, &Rhythm { first: 1_700_000_000, step: 60, jitter: 1, run: 150, oddity: 70 }, random);
    let bits: Vec<u64> = (0..rows)
        .map(|row| match shape {
            9 => times[row] as u64,
            0 | 8 => 0x4142_4344,
            1 => (row as u64).wrapping_mul(60_000).wrapping_sub(7_000_000),
            2 => {
                walk += random.below(9) as i64 - 4;
                walk as u64
            }
            3 => random.next(),
            4 => random.below(7) as u64,
            5 => extremes[random.below(extremes.len())],
            6 if random.below(40) == 0 => random.next(),
            6 => {
                walk += random.below(9) as i64 - 4;
                walk as u64
            }
            _ => random.below(1_000) as u64 * 500,
        })
        .collect();
    let present: Option<Vec<bool>> = match (shape, nulls % 4) {
        (8, _) => Some(vec![false; rows]),
        (_, 1) => Some((0..rows).map(|_| random.below(3) > 0).collect()),
        (_, 3) => Some((0..rows).map(|row| row / 50 % 5 > 0).collect()),
        _ => None,
    };
    let is_present = |row: usize| present.as_ref().is_none_or(|present| present[row]);
    match stored_type(column) {
        DataType::Boolean => {
            let flag = |row: usize| {
                is_present(row).then(|| match shape {
                    2 => (row / 90).is_multiple_of(2),
                    6 => row.is_multiple_of(7),
                    _ => bits[row] & 4 > 0,
                })
            };
            Arc::new((0..rows).map(flag).collect::<BooleanArray>())
        }
        DataType::Utf8 => {
            let text = |row: usize| is_present(row).then(|| text(bits[row], shape));
            Arc::new((0..rows).map(text).collect::<StringArray>())
        }
        DataType::Binary => {
            let bytes =
                |row: usize| is_present(row).then(|| bits[row].to_le_bytes()[..bits[row] as usize % 9].to_vec());
            Arc::new((0..rows).map(bytes).collect::<BinaryArray>())
        }
        DataType::Float64 if shape == 7 => {
            let tenth = |row: usize| is_present(row).then(|| tenth(bits[row], row));
            Arc::new((0..rows).map(tenth).collect::<Float64Array>())
        }
        DataType::Float32 if shape == 7 => {
            let tenth = |row: usize| is_present(row).then(|| tenth(bits[row], row) as f32);
            Arc::new((0..rows).map(tenth).collect::<Float32Array>())
        }
        data_type => number_array(&data_type, &bits, present.as_deref()),
    }
}

/// Arrays whose elements are such an array. Some of those that are NULL have elements.
fn arrays(column: &Column, field: FieldRef, rows: usize, shape: usize, nulls: usize, random: &mut Random) -> ArrayRef {
    let ColumnType::Array(element) = column.column_type else { panic!("{}", column.column_type) };
    let lengths: Vec<usize> = (0..rows).map(|_| if shape < 2 { 3 } else { random.below(4) }).collect();
    let present: Option<NullBuffer> = match (shape, nulls % 4) {
        (8, _) => Some(NullBuffer::new_null(rows)),
        (_, 1 | 2) => Some((0..rows).map(|_| random.below(3) > 0).collect()),
        _ => None,
    };
    let element = Column::new(column.id, &column.name, element.column_type());
    let elements = array(&element, lengths.iter().sum(), shape, nulls, random);
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), elements, present))
}

/// The parameters of [`rhythm`].
#[derive(Debug, Clone)]
pub(crate) struct Rhythm {
    pub(crate) first: i64,
    pub(crate) step: i64,
    /// The most by which a time may be early or late.
    pub(crate) jitter: usize,
    /// The maximum number of times before the next instrument.
    pub(crate) run: usize,
    /// One in this many times is odd: after a gap, a duplicate, late, or arbitrary.
    pub(crate) oddity: usize,
}

/// Times of instruments that are read at a steady step, one instrument after another. Overflow wraps.
pub(crate) fn rhythm(rows: usize, rhythm: &Rhythm, random: &mut Random) -> Vec<i64> {
    let (mut left, mut beat) = (0, rhythm.first);
    let mut times: Vec<i64> = Vec::with_capacity(rows);
    while times.len() < rows {
        if left == 0 {
            left = 1 + random.below(rhythm.run);
            beat = rhythm.first.wrapping_add((random.next() % rhythm.step.unsigned_abs().max(1)) as i64);
        }
        left -= 1;
        beat = beat.wrapping_add(rhythm.step);
        let jitter = random.below(2 * rhythm.jitter + 1) as i64 - rhythm.jitter as i64;
        let mut time = beat.wrapping_add(jitter);
        if random.below(rhythm.oddity) == 0 {
            match random.below(4) {
                0 => beat = beat.wrapping_add(rhythm.step.wrapping_mul(random.below(9) as i64)),
                1 => time = times.last().copied().unwrap_or(time),
                2 => time = time.wrapping_sub(rhythm.step.wrapping_mul(2)),
                _ => time = [i64::MIN, i64::MAX, 0, random.next() as i64][random.below(4)],
            }
        }
        times.push(time);
    }
    times
}

fn text(bits: u64, shape: usize) -> String {
    match bits % 5 {
        0 if shape == 3 => String::new(),
        1 if shape == 3 => format!("\0{bits}\0"),
        2 if shape == 3 => format!("gr\u{fc}n \u{1f600} {bits}"),
        _ => format!("value {bits}"),
    }
}

/// Mostly numbers with one decimal place, sometimes NaN, -0.0 or pi.
fn tenth(bits: u64, row: usize) -> f64 {
    match row % 97 {
        13 => f64::NAN,
        14 => -0.0,
        15 => std::f64::consts::PI,
        _ => bits as f64 / 10.0 - 3_000.0,
    }
}

fn number_array(data_type: &DataType, bits: &[u64], present: Option<&[bool]>) -> ArrayRef {
    let width = data_type.primitive_width().expect("a number");
    let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()[..width].to_vec()).collect();
    let validity = present.map(|present| BooleanArray::from(present.to_vec()).values().inner().clone());
    let data = ArrayData::builder(data_type.clone())
        .len(bits.len())
        .add_buffer(Buffer::from(bytes.as_slice()))
        .null_bit_buffer(validity)
        .align_buffers(true)
        .build()
        .expect("a sound array");
    make_array(data)
}

/// Returns whether two arrays are the same bit for bit: type, NULLs, and the bytes of each value.
pub(crate) fn same_bits(a: &dyn Array, b: &dyn Array) -> bool {
    a.data_type() == b.data_type() && a.len() == b.len() && bytes_of(a) == bytes_of(b)
}

/// The bytes of each value. Those of arrays are the lengths and bytes of their elements.
fn bytes_of(array: &dyn Array) -> Vec<Option<Vec<u8>>> {
    let row = |row: usize| {
        array.is_valid(row).then(|| match array.data_type() {
            DataType::Boolean => vec![u8::from(array.as_boolean().value(row))],
            DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes().to_vec(),
            DataType::Binary => array.as_binary::<i32>().value(row).to_vec(),
            DataType::List(_) => {
                let elements = bytes_of(&array.as_list::<i32>().value(row));
                let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(u32::MAX, |bytes| bytes.len() as u32);
                let parts = elements.iter().map(|bytes| (length(bytes).to_le_bytes(), bytes.as_deref()));
                parts.flat_map(|(length, bytes)| [&length, bytes.unwrap_or_default()].concat()).collect()
            }
            data_type => {
                let width = data_type.primitive_width().expect("a number");
                let data = array.to_data();
                let start = (data.offset() + row) * width;
                data.buffers()[0].as_slice()[start..start + width].to_vec()
            }
        })
    };
    (0..array.len()).map(row).collect()
}

/// Sets the checksum of a page to that of its bytes, as described in `docs/format/page.md`.
pub(crate) fn reseal(page: &mut [u8], uid: ChunkUid, column: ColumnId) {
    let bound = [uid.0.as_slice(), &column.0.to_le_bytes(), &page[..12]].concat();
    let checksum = XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(&bound), &page[20..]);
    page[12..20].copy_from_slice(&checksum.to_le_bytes());
}

/// Integers that end in a NULL, sliced so that the validity begins within a byte.
pub(crate) fn sliced() -> ArrayRef {
    let whole: Int64Array = (0..100).map(|row| (row % 7 != 0).then_some(row * row)).collect();
    Arc::new(whole.slice(13, 72))
}
