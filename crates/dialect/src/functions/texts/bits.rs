//! Bytes and bits of binary values by their positions: `get_byte`, `get_bit`, `set_byte`, `set_bit` and `bit_count`.
//! The first bit of a byte is its least significant one.

use crate::functions::base::plain::Plain;
use datafusion::arrow::array::{ArrayRef, AsArray, BinaryArray, Int32Array, Int64Array};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const BYTES: DataType = DataType::Binary;
    const INTEGER: DataType = DataType::Int64;
    vec![
        Plain::new("get_byte", &[&[BYTES, INTEGER]], DataType::Int32, get_byte).udf(),
        Plain::new("get_bit", &[&[BYTES, INTEGER]], DataType::Int32, get_bit).udf(),
        Plain::new("set_byte", &[&[BYTES, INTEGER, INTEGER]], BYTES, set_byte).udf(),
        Plain::new("set_bit", &[&[BYTES, INTEGER, INTEGER]], BYTES, set_bit).udf(),
        Plain::new("bit_count", &[&[BYTES]], DataType::Int64, bit_count).udf(),
    ]
}

fn get_byte(args: &[ArrayRef]) -> Result<ArrayRef> {
    get(args, |value, index| Ok(i32::from(value[position(index, value.len())?])))
}

fn get_bit(args: &[ArrayRef]) -> Result<ArrayRef> {
    get(args, |value, index| {
        let bit = position(index, value.len().saturating_mul(8))?;
        Ok(i32::from((value[bit / 8] >> (bit % 8)) & 1))
    })
}

fn set_byte(args: &[ArrayRef]) -> Result<ArrayRef> {
    set(args, |value, index, byte| {
        let at = position(index, value.len())?;
        // Higher bits are cut off, as in PostgreSQL.
        value[at] = u8::try_from(byte & 0xff).unwrap_or_default();
        Ok(())
    })
}

fn set_bit(args: &[ArrayRef]) -> Result<ArrayRef> {
    set(args, |value, index, new| {
        let bit = position(index, value.len().saturating_mul(8))?;
        let mask = 1_u8 << (bit % 8);
        match new {
            0 => value[bit / 8] &= !mask,
            1 => value[bit / 8] |= mask,
            _ => return exec_err!("new bit must be 0 or 1"),
        }
        Ok(())
    })
}

fn bit_count(args: &[ArrayRef]) -> Result<ArrayRef> {
    let count = |value: &[u8]| value.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>();
    Ok(Arc::new(args[0].as_binary::<i32>().iter().map(|value| value.map(count)).collect::<Int64Array>()))
}

fn get(args: &[ArrayRef], part: fn(&[u8], i64) -> Result<i32>) -> Result<ArrayRef> {
    let (values, indexes) = (args[0].as_binary::<i32>(), args[1].as_primitive::<Int64Type>());
    let parts = values.iter().zip(indexes.iter()).map(|(value, index)| match (value, index) {
        (Some(value), Some(index)) => part(value, index).map(Some),
        _ => Ok(None),
    });
    Ok(Arc::new(parts.collect::<Result<Int32Array>>()?))
}

fn set(args: &[ArrayRef], change: fn(&mut [u8], i64, i64) -> Result<()>) -> Result<ArrayRef> {
    let (indexes, parts) = (args[1].as_primitive::<Int64Type>(), args[2].as_primitive::<Int64Type>());
    let rows = args[0].as_binary::<i32>().iter().zip(indexes.iter()).zip(parts.iter());
    let changed = rows.map(|row| match row {
        ((Some(value), Some(index)), Some(part)) => {
            let mut value = value.to_vec();
            change(&mut value, index, part)?;
            Ok(Some(value))
        }
        _ => Ok(None),
    });
    Ok(Arc::new(changed.collect::<Result<BinaryArray>>()?))
}

/// The position, if it is below this number of bits.
fn position(index: i64, count: usize) -> Result<usize> {
    match usize::try_from(index).ok().filter(|index| *index < count) {
        Some(index) => Ok(index),
        None => {
            let last = i64::try_from(count).unwrap_or(i64::MAX) - 1;
            exec_err!("index {index} out of valid range, 0..{last}")
        }
    }
}
