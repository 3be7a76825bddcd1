//! Values in binary, in the form of PostgreSQL's send functions.

use super::calendar::{EPOCH_DAYS, EPOCH_US};
use super::cells::{Cell, Cells};
use super::{known, numeric, ranges, text};
use crate::pg::error::PgError;
use arrow::array::{Array, ArrayRef};
use atsdb::uuid_text;
use datafusion::common::ScalarValue;
use std::net::IpAddr;
use std::sync::Arc;

/// Appends the value for a column of this type. Returns `false` for NULL, for which nothing is appended.
pub(in crate::pg) fn push(out: &mut Vec<u8>, type_id: u32, cell: &Cell<'_>) -> Result<bool, PgError> {
    if known::is_sent_as_text(type_id) {
        let start = out.len();
        let is_value = text::push(out, type_id, cell)?;
        // A "char" has one byte, also an empty one.
        if is_value && type_id == known::CHAR && out.len() == start {
            out.push(0);
        }
        return Ok(is_value);
    }
    match cell {
        Cell::Null => return Ok(false),
        Cell::Bool(value) => out.push(u8::from(*value)),
        Cell::Int(value) => match type_id {
            known::INT2 => out.extend((*value as i16).to_be_bytes()),
            known::INT8 => out.extend(value.to_be_bytes()),
            _ => out.extend((*value as i32).to_be_bytes()),
        },
        // Object numbers of the catalogue have 32 bits, unsigned.
        Cell::Named(number, _) => out.extend((*number as u32).to_be_bytes()),
        Cell::Float32(value) => out.extend(value.to_be_bytes()),
        Cell::Float64(value) => out.extend(value.to_be_bytes()),
        Cell::Numeric(digits) if type_id == known::NUMERIC => numeric::push(out, digits),
        Cell::Numeric(digits) => return Err(super::input::out_of_range(type_id, digits)),
        Cell::Text(text) if type_id == known::UUID => {
            out.extend(uuid_text::to_bytes(text).ok_or_else(|| super::input::invalid(type_id, text))?);
        }
        Cell::Text(text) if matches!(type_id, known::INET | known::CIDR) => {
            let address = address_bytes(text, type_id == known::CIDR);
            out.extend(address.ok_or_else(|| super::input::invalid(type_id, text))?);
        }
        Cell::Text(text) if known::bounds_of(type_id).is_some() => push_range(out, type_id, text)?,
        Cell::Text(text) if type_id == known::JSONB => {
            out.push(known::JSONB_VERSION);
            out.extend(text.as_bytes());
        }
        Cell::Text(text) => out.extend(text.as_bytes()),
        Cell::Json(text) => out.extend(text.as_bytes()),
        Cell::Bytes(bytes) => out.extend(*bytes),
        Cell::Date(days) => {
            let days = i32::try_from(*days - i64::from(EPOCH_DAYS)).map_err(|_| text::out_of_range())?;
            out.extend(days.to_be_bytes());
        }
        Cell::Time(microseconds) => out.extend(microseconds.to_be_bytes()),
        Cell::Timestamp(microseconds) => {
            let since = microseconds.and_then(|microseconds| microseconds.checked_sub(EPOCH_US));
            out.extend(since.ok_or_else(text::out_of_range)?.to_be_bytes());
        }
        Cell::Interval { months, days, microseconds } => {
            out.extend(microseconds.to_be_bytes());
            out.extend(days.to_be_bytes());
            out.extend(months.to_be_bytes());
        }
        // An array of UUIDs has texts.
        Cell::List(element, list) => {
            push_array(out, known::element_of(type_id).map_or(*element, |known| known.id), list)?;
        }
        Cell::Items(items) => match known::elements_of(type_id) {
            Some((element, first)) => push_items(out, element, first, items)?,
            None => return Err(only_as_text("an array of arrays")),
        },
        Cell::Record(_) => return Err(only_as_text("a row")),
    }
    Ok(true)
}

fn only_as_text(what: &str) -> PgError {
    PgError::not_supported(format_args!("{what} of the catalogue in the binary format")).with_hint("read it as text")
}

/// A value of type `inet` or `cidr`: the family, how many bits name the network, whether it is a `cidr`, how many bytes
/// the address has, and these bytes. `None` if the text is no address.
fn address_bytes(text: &str, is_cidr: bool) -> Option<Vec<u8>> {
    let (address, mask) = text.split_once('/').map_or((text, None), |(address, mask)| (address, Some(mask)));
    let (family, bits, length, octets) = match address.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => (2, 32, 4, address.octets().to_vec()),
        IpAddr::V6(address) => (3, 128, 16, address.octets().to_vec()),
    };
    let bits = mask.map_or(Some(bits), |mask| mask.parse::<u8>().ok().filter(|mask| *mask <= bits))?;
    Some([vec![family, bits, u8::from(is_cidr), length], octets].concat())
}

/// Appends a range: its flags, and each bound that it has, with its length before it.
fn push_range(out: &mut Vec<u8>, type_id: u32, text: &str) -> Result<(), PgError> {
    let invalid = || super::input::invalid(type_id, text);
    let bound_type = known::bounds_of(type_id).ok_or_else(invalid)?;
    let (flags, bounds) = ranges::flags_and_bounds(text).ok_or_else(invalid)?;
    out.push(flags);
    for bound in bounds {
        let cell = if bound_type == known::NUMERIC {
            // As text, it has all its digits.
            Cell::Numeric(bound.to_owned())
        } else {
            match super::input::of_text(bound_type, bound)? {
                ScalarValue::Int32(Some(value)) => Cell::Int(value.into()),
                ScalarValue::Int64(Some(value)) => Cell::Int(value),
                ScalarValue::Date32(Some(days)) => Cell::Date(days.into()),
                ScalarValue::TimestampMicrosecond(Some(microseconds), _) => Cell::Timestamp(Some(microseconds)),
                _ => return Err(invalid()),
            }
        };
        push_value(out, |out| push(out, bound_type, &cell))?;
    }
    Ok(())
}

/// Appends an array of one dimension, whose elements are numbered from `first`. Without elements it has no dimension,
/// except a vector, which is numbered from 0.
fn push_items(out: &mut Vec<u8>, element: u32, first: i32, items: &[Cell<'_>]) -> Result<(), PgError> {
    let has_dimension = !items.is_empty() || first == 0;
    let has_null = items.iter().any(|item| matches!(item, Cell::Null));
    out.extend(i32::from(has_dimension).to_be_bytes());
    out.extend(i32::from(has_null).to_be_bytes());
    out.extend(element.to_be_bytes());
    if has_dimension {
        out.extend(length_of(items.len())?.to_be_bytes());
        out.extend(first.to_be_bytes());
    }
    items.iter().try_for_each(|item| push_value(out, |out| push(out, element, item)))
}

fn length_of(count: usize) -> Result<i32, PgError> {
    i32::try_from(count).map_err(|_| PgError::error("54000", "an array is longer than the protocol allows"))
}

/// Appends an array with dimensions that begin at 1, or with none if it is empty.
fn push_array(out: &mut Vec<u8>, element: u32, list: &ArrayRef) -> Result<(), PgError> {
    let (mut lengths, mut parts) = (Vec::new(), Vec::new());
    flatten(list, 0, &mut lengths, &mut parts)?;
    if lengths.contains(&0) {
        lengths.clear();
        parts.clear();
    }
    out.extend(length_of(lengths.len())?.to_be_bytes());
    out.extend(i32::from(parts.iter().any(|part| part.null_count() > 0)).to_be_bytes());
    out.extend(element.to_be_bytes());
    for length in lengths {
        out.extend(length.to_be_bytes());
        out.extend(1_i32.to_be_bytes());
    }
    for part in &parts {
        let cells = Cells::new(part);
        for row in 0..part.len() {
            push_value(out, |out| push(out, element, &cells.get(row)))?;
        }
    }
    Ok(())
}

/// Collects the lengths of the dimensions of an array from this one on, and the innermost arrays.
fn flatten(
    list: &ArrayRef,
    dimension: usize,
    lengths: &mut Vec<i32>,
    parts: &mut Vec<ArrayRef>,
) -> Result<(), PgError> {
    let uneven = || PgError::error("2202E", "the arrays in an array differ in length").with_hint("read it as text");
    let here = length_of(list.len())?;
    match lengths.get(dimension) {
        None => lengths.push(here),
        Some(length) if *length == here => {}
        Some(_) => return Err(uneven()),
    }
    if !list.data_type().is_nested() {
        parts.push(Arc::clone(list));
        return Ok(());
    }
    let cells = Cells::new(list);
    for row in 0..list.len() {
        match cells.get(row) {
            Cell::List(_, inner) => flatten(&inner, dimension + 1, lengths, parts)?,
            _ => return Err(uneven()),
        }
    }
    Ok(())
}

/// Appends a value with its length before it, -1 for NULL.
pub(in crate::pg) fn push_value(
    out: &mut Vec<u8>,
    value: impl FnOnce(&mut Vec<u8>) -> Result<bool, PgError>,
) -> Result<(), PgError> {
    let start = out.len();
    out.extend([0; 4]);
    let length = match value(out)? {
        true => i32::try_from(out.len() - start - 4)
            .map_err(|_| PgError::error("54000", "a value is longer than the protocol allows"))?,
        false => -1,
    };
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        Decimal128Array, Int64Array, IntervalMonthDayNanoArray, ListArray, StringArray, Time64MicrosecondArray,
    };
    use arrow::datatypes::{Int64Type, IntervalMonthDayNano};

    fn bytes(type_id: u32, cell: &Cell<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(push(&mut out, type_id, cell).unwrap());
        out
    }

    fn of_first(type_id: u32, array: ArrayRef) -> Vec<u8> {
        bytes(type_id, &Cells::new(&array).get(0))
    }

    #[test]
    fn values_of_the_catalogue_have_postgresqls_bytes() {
        for (type_id, cell, expected) in [
            (known::OID, Cell::Int(4_294_967_295), vec![255, 255, 255, 255]),
            (known::NAME, Cell::Text("t"), b"t".to_vec()),
            (known::NAME, Cell::Named(7, "t"), b"t".to_vec()),
            (known::CHAR, Cell::Text("r"), b"r".to_vec()),
            (known::CHAR, Cell::Text(""), vec![0]),
            (known::TEXT, Cell::Numeric("12".to_owned()), b"12".to_vec()),
            (known::REGCLASS, Cell::Named(1, "pg_x"), vec![0, 0, 0, 1]),
            (known::REGTYPE, Cell::Int(23), vec![0, 0, 0, 23]),
            (known::FLOAT4, Cell::Float32(-1.0), vec![0xbf, 0x80, 0, 0]),
            (known::INET, Cell::Text("127.0.0.1"), vec![2, 32, 0, 4, 127, 0, 0, 1]),
            (known::INET, Cell::Text("::1"), [vec![3, 128, 0, 16], vec![0; 15], vec![1]].concat()),
            (known::INET, Cell::Text("10.1.2.3/8"), vec![2, 8, 0, 4, 10, 1, 2, 3]),
            (known::CIDR, Cell::Text("10.1.2.3/32"), vec![2, 32, 1, 4, 10, 1, 2, 3]),
            (known::CIDR, Cell::Text("::/0"), [vec![3, 0, 1, 16], vec![0; 16]].concat()),
        ] {
            assert_eq!(bytes(type_id, &cell), expected, "{type_id} {cell:?}");
        }
        assert!(!push(&mut Vec::new(), known::TEXT, &Cell::Null).unwrap());
        let row = Cell::Record("(1,2)".to_owned());
        assert_eq!(push(&mut Vec::new(), known::RECORD, &row).unwrap_err().code, "0A000");
        for text in ["10.1.2.3/33", "10.1.2/8", "::1/", "x"] {
            assert_eq!(push(&mut Vec::new(), known::INET, &Cell::Text(text)).unwrap_err().code, "22P02", "{text}");
        }
    }

    #[test]
    fn ranges_have_postgresqls_bytes() {
        let int4 = |flags: u8, bounds: &[i32]| {
            let bounds = bounds.iter().flat_map(|bound| [4_i32.to_be_bytes(), bound.to_be_bytes()].concat());
            [flags].into_iter().chain(bounds).collect::<Vec<u8>>()
        };
        let ten_days = [0, 0, 0, 4, 0, 0, 0, 10];
        let second = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0x0f, 0x42, 0x40];
        let half = [0, 0, 0, 10, 0, 1, 255, 255, 0, 0, 0, 1, 0x13, 0x88];
        for (type_id, text, expected) in [
            (3904, "empty", vec![1]),
            (3904, "[1,5)", int4(2, &[1, 5])),
            (3904, "(,-1)", int4(8, &[-1])),
            (3904, "(,)", vec![0x18]),
            (3912, "[2000-01-11,)", [vec![0x12], ten_days.to_vec()].concat()),
            (3908, "(,\"2000-01-01 00:00:01\"]", [vec![0x0c], second.to_vec()].concat()),
            (3910, "[\"2000-01-01 00:00:01+00\",)", [vec![0x12], second.to_vec()].concat()),
            (3906, "(,0.5]", [vec![0x0c], half.to_vec()].concat()),
        ] {
            assert_eq!(bytes(type_id, &Cell::Text(text)), expected, "{text}");
        }
        assert_eq!(push(&mut Vec::new(), 3904, &Cell::Text("[1")).unwrap_err().code, "22P02");
    }

    #[test]
    fn arrays_and_vectors_of_the_catalogue_have_postgresqls_bytes() {
        let numbers = || vec![Cell::Int(1), Cell::Int(2)];
        let int2: [u8; 12] = [0, 0, 0, 2, 0, 1, 0, 0, 0, 2, 0, 2];
        let oids: [u8; 16] = [0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 2];
        for (type_id, items, dimensions, values) in [
            (known::INT2VECTOR, numbers(), vec![1, 0, 21, 2, 0], int2.to_vec()),
            (known::INT2VECTOR, Vec::new(), vec![1, 0, 21, 0, 0], Vec::new()),
            (known::OIDVECTOR, numbers(), vec![1, 0, 26, 2, 0], oids.to_vec()),
            (1_005, numbers(), vec![1, 0, 21, 2, 1], int2.to_vec()),
            (1_005, Vec::new(), vec![0, 0, 21], Vec::new()),
            (1_028, numbers(), vec![1, 0, 26, 2, 1], oids.to_vec()),
            (2_211, vec![Cell::Named(23, "integer")], vec![1, 0, 2_206, 1, 1], vec![0, 0, 0, 4, 0, 0, 0, 23]),
            (1_000, vec![Cell::Bool(true), Cell::Null], vec![1, 1, 16, 2, 1], vec![0, 0, 0, 1, 1, 255, 255, 255, 255]),
            (1_003, vec![Cell::Text("ab")], vec![1, 0, 19, 1, 1], vec![0, 0, 0, 2, b'a', b'b']),
            (1_002, vec![Cell::Text("i")], vec![1, 0, 18, 1, 1], vec![0, 0, 0, 1, b'i']),
        ] {
            let head = dimensions.iter().flat_map(|number: &i32| number.to_be_bytes());
            let expected: Vec<u8> = head.chain(values).collect();
            assert_eq!(bytes(type_id, &Cell::Items(items)), expected, "{type_id}");
        }
        let nested = Cell::Items(vec![Cell::Items(numbers())]);
        assert_eq!(push(&mut Vec::new(), 1_007, &nested).unwrap_err().code, "0A000");
    }

    #[test]
    fn values_of_the_store_have_postgresqls_bytes() {
        let number = Decimal128Array::from(vec![-125_i128]).with_precision_and_scale(38, 1).unwrap();
        assert_eq!(of_first(known::NUMERIC, Arc::new(number)), [0, 2, 0, 0, 0x40, 0, 0, 1, 0, 12, 0x13, 0x88]);
        let noon = Time64MicrosecondArray::from(vec![43_200_000_000]);
        assert_eq!(of_first(known::TIME, Arc::new(noon)), 43_200_000_000_i64.to_be_bytes());
        let length = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(14, -3, 1_500_000)]);
        let expected = [1_500_i64.to_be_bytes().as_slice(), &(-3_i32).to_be_bytes(), &14_i32.to_be_bytes()].concat();
        assert_eq!(of_first(known::INTERVAL, Arc::new(length)), expected);
        let text = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        let id = [0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a, 0x11];
        assert_eq!(of_first(known::UUID, Arc::new(StringArray::from(vec![text]))), id);
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1), None])]);
        let head: Vec<u8> = [1, 1, 20, 2, 1].iter().flat_map(|number: &i32| number.to_be_bytes()).collect();
        let expected = [head, vec![0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255]].concat();
        assert_eq!(of_first(1_016, Arc::new(list)), expected);
        assert_eq!(of_first(known::INT8, Arc::new(Int64Array::from(vec![-1]))), [255; 8]);
    }
}
