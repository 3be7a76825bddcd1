//! Functions of texts that PostgreSQL also has for bytes: `btrim`, `ltrim` and `rtrim`, `substr`, `overlay`, `position`
//! and `bit_length`. DataFusion mistakes the bytes for a text, or refuses them.
//!
//! No upstream issue known.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int32Array, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::functions::{core as core_functions, unicode};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use memchr::memmem;
use std::sync::Arc;

/// Replaces the functions.
pub(crate) fn register(context: &SessionContext) {
    let state = context.state();
    for (name, form) in [
        ("btrim", BytesFunction::Trim(TrimmedEnds::Both)),
        ("ltrim", BytesFunction::Trim(TrimmedEnds::Left)),
        ("rtrim", BytesFunction::Trim(TrimmedEnds::Right)),
        ("substr", BytesFunction::Part),
        ("overlay", BytesFunction::Overlay),
        ("strpos", BytesFunction::Position),
        ("bit_length", BytesFunction::BitCount),
    ] {
        if let Some(inner) = state.scalar_functions().get(name) {
            context.register_udf(of_bytes(inner, form));
        }
    }
}

/// Plans `substring(x FROM n FOR m)`, `overlay(x PLACING y FROM n)` and `position(x IN y)`, for which DataFusion takes
/// its own functions.
#[derive(Debug)]
pub(crate) struct FormsWithWords;

impl ExprPlanner for FormsWithWords {
    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(of_bytes(&unicode::substr(), BytesFunction::Part).call(args)))
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(of_bytes(&core_functions::overlay(), BytesFunction::Overlay).call(args)))
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(of_bytes(&unicode::strpos(), BytesFunction::Position).call(args)))
    }
}

/// A function with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum BytesFunction {
    /// The bytes, and the removed ones.
    Trim(TrimmedEnds),
    /// The bytes, the first position and the number of bytes.
    Part,
    /// The bytes, those that replace a part of them, its position and its length.
    Overlay,
    /// The bytes, and those that are looked for.
    Position,
    /// The bytes.
    BitCount,
}

impl BytesFunction {
    /// The types of all arguments, and the number of those that have no default.
    fn arguments(self) -> (Vec<DataType>, usize) {
        const BYTES: DataType = DataType::Binary;
        const NUMBER: DataType = DataType::Int64;
        match self {
            Self::Trim(_) | Self::Position => (vec![BYTES, BYTES], 2),
            Self::Part => (vec![BYTES, NUMBER, NUMBER], 2),
            Self::Overlay => (vec![BYTES, BYTES, NUMBER, NUMBER], 3),
            Self::BitCount => (vec![BYTES], 1),
        }
    }

    fn result(self) -> DataType {
        match self {
            Self::Trim(_) | Self::Part | Self::Overlay => DataType::Binary,
            Self::Position | Self::BitCount => DataType::Int32,
        }
    }

    /// The value of each row whose arguments are not NULL.
    fn compute(self, args: &[ArrayRef]) -> Result<ArrayRef> {
        let rows = (0..args[0].len()).map(|row| args.iter().all(|column| column.is_valid(row)).then_some(row));
        let bytes = |at: usize, row: usize| args[at].as_binary::<i32>().value(row);
        let number = |at: usize, row: usize| args.get(at).map(|column| numbers(column).value(row));
        Ok(match self {
            Self::Trim(ends) => {
                let trimmed = rows.map(|row| row.map(|row| ends.trimmed(bytes(0, row), bytes(1, row))));
                Arc::new(trimmed.collect::<BinaryArray>())
            }
            Self::Part => {
                let part = |row: usize| part(bytes(0, row), number(1, row).unwrap_or(1), number(2, row));
                let parts = rows.map(|row| row.map(part).transpose()).collect::<Result<Vec<_>>>()?;
                Arc::new(BinaryArray::from(parts))
            }
            Self::Overlay => {
                let replaced =
                    |row: usize| replaced(bytes(0, row), bytes(1, row), number(2, row).unwrap_or(1), number(3, row));
                let replaced = rows.map(|row| row.map(replaced).transpose()).collect::<Result<Vec<_>>>()?;
                Arc::new(replaced.into_iter().collect::<BinaryArray>())
            }
            Self::Position => {
                let positions = rows.map(|row| row.map(|row| position(bytes(0, row), bytes(1, row))));
                Arc::new(positions.collect::<Int32Array>())
            }
            Self::BitCount => {
                let count = |row: usize| i32::try_from(bytes(0, row).len().saturating_mul(8)).unwrap_or(i32::MAX);
                Arc::new(rows.map(|row| row.map(count)).collect::<Int32Array>())
            }
        })
    }
}

fn numbers(column: &ArrayRef) -> &PrimitiveArray<Int64Type> {
    column.as_primitive::<Int64Type>()
}

/// The ends at which bytes are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TrimmedEnds {
    Left,
    Right,
    Both,
}

impl TrimmedEnds {
    /// The bytes without those at the ends that are among the removed ones.
    fn trimmed<'a>(self, mut bytes: &'a [u8], removed: &[u8]) -> &'a [u8] {
        while let [first, rest @ ..] = bytes
            && self != Self::Right
            && removed.contains(first)
        {
            bytes = rest;
        }
        while let [rest @ .., last] = bytes
            && self != Self::Left
            && removed.contains(last)
        {
            bytes = rest;
        }
        bytes
    }
}

/// Returns `count` bytes from a position, which is 1 for the first byte; without a count, all bytes from there.
/// Positions before the first count, too.
fn part(bytes: &[u8], from: i64, count: Option<i64>) -> Result<&[u8]> {
    let end = match count {
        Some(..0) => return exec_err!("negative substring length not allowed"),
        Some(count) => index(from.saturating_add(count), bytes),
        None => bytes.len(),
    };
    Ok(&bytes[index(from, bytes).min(end)..end])
}

/// The bytes, with others in place of `count` bytes from a position; without a count, of as many as the others are.
fn replaced(bytes: &[u8], others: &[u8], from: i64, count: Option<i64>) -> Result<Vec<u8>> {
    if from < 1 {
        return exec_err!("negative substring length not allowed");
    }
    let count = count.unwrap_or_else(|| i64::try_from(others.len()).unwrap_or(i64::MAX));
    let (before, after) = (&bytes[..index(from, bytes)], &bytes[index(from.saturating_add(count), bytes)..]);
    Ok([before, others, after].concat())
}

/// The index of a position, which is 1 for the first byte; that of the nearest end if there is no such byte.
fn index(position: i64, bytes: &[u8]) -> usize {
    usize::try_from(position.max(1) - 1).map_or(bytes.len(), |index| index.min(bytes.len()))
}

/// The position of the first occurrence, from 1; 0 if there is none.
fn position(bytes: &[u8], sought: &[u8]) -> i32 {
    memmem::find(bytes, sought).map_or(0, |start| i32::try_from(start + 1).unwrap_or(i32::MAX))
}

fn of_bytes(inner: &Arc<ScalarUDF>, form: BytesFunction) -> ScalarUDF {
    let mut signature = Signature::user_defined(Volatility::Immutable);
    signature.parameter_names.clone_from(&inner.signature().parameter_names);
    ScalarUDF::new_from_impl(OfBytes { inner: Arc::clone(inner), form, signature })
}

/// A function of bytes, and of texts as DataFusion has it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfBytes {
    inner: Arc<ScalarUDF>,
    form: BytesFunction,
    signature: Signature,
}

impl ScalarUDFImpl for OfBytes {
    of_inner!(name, aliases, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The types of the arguments. Beside bytes, a text in quotes may stand for bytes or for a number. Small integers
    /// are positions, too.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if !types.first().is_some_and(DataType::is_binary) {
            let field = |(at, of): (usize, &DataType)| {
                let of = if at > 0 && of.is_integer() { DataType::Int64 } else { of.clone() };
                Field::new(format!("{at}"), of, true)
            };
            let fields: Vec<FieldRef> = types.iter().enumerate().map(|of| Arc::new(field(of))).collect();
            let fields = fields_with_udf(&fields, self.inner.as_ref())?;
            return Ok(fields.iter().map(|field| field.data_type().clone()).collect());
        }
        let (mut wanted, least) = self.form.arguments();
        let fits = |(of, wanted): (&DataType, &DataType)| match wanted {
            DataType::Binary => of.is_binary() || of.is_string() || of.is_null(),
            _ => of.is_integer() || of.is_string() || of.is_null(),
        };
        if (least..=wanted.len()).contains(&types.len()) && types.iter().zip(&wanted).all(fits) {
            wanted.truncate(types.len());
            return Ok(wanted);
        }
        plan_err!("{} does not take these arguments", self.name())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(bytes) if bytes.is_binary() => Ok(self.form.result()),
            _ => self.inner.return_type(types),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(bytes) if bytes.data_type().is_binary() => {
                Ok(Arc::new(Field::new(self.name(), self.form.result(), true)))
            }
            _ => self.inner.return_field_from_args(args),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if args.args.first().is_none_or(|bytes| bytes.data_type() != DataType::Binary) {
            return self.inner.invoke_with_args(args);
        }
        let is_constant = are_constant(&args.args);
        let found = self.form.compute(&ColumnarValue::values_to_arrays(&args.args)?)?;
        answer(is_constant, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; 5] = [0x12, 0x34, 0x56, 0x78, 0x90];

    #[test]
    fn bytes_are_removed_at_the_ends() {
        for (ends, expected) in
            [(TrimmedEnds::Both, &BYTES[1..4]), (TrimmedEnds::Left, &BYTES[1..]), (TrimmedEnds::Right, &BYTES[..4])]
        {
            assert_eq!(ends.trimmed(&BYTES, &[0x90, 0x12]), expected);
            assert_eq!(ends.trimmed(&BYTES, &[]), BYTES);
            assert!(ends.trimmed(&[], &[1]).is_empty());
        }
        assert!(TrimmedEnds::Both.trimmed(&[1, 1], &[1]).is_empty());
    }

    #[test]
    fn positions_outside_of_the_bytes_count() {
        for (from, count, expected) in [
            (2, Some(3), &BYTES[1..4]),
            (4, None, &BYTES[3..]),
            (0, Some(3), &BYTES[..2]),
            (-1, None, &BYTES[..]),
            (-5, Some(3), &[]),
            (9, Some(1), &[]),
            (2, Some(i64::MAX), &BYTES[1..]),
            (i64::MAX, Some(i64::MAX), &[]),
            (i64::MIN, Some(i64::MAX), &[]),
        ] {
            assert_eq!(part(&BYTES, from, count).unwrap(), expected, "{from} {count:?}");
        }
        assert!(part(&BYTES, 1, Some(-1)).is_err());
    }

    #[test]
    fn others_take_the_place_of_bytes() {
        for (from, count, expected) in [
            (2, None, &[0x12, 0xff, 0x56, 0x78, 0x90][..]),
            (2, Some(3), &[0x12, 0xff, 0x90]),
            (5, Some(0), &[0x12, 0x34, 0x56, 0x78, 0xff, 0x90]),
            (9, None, &[0x12, 0x34, 0x56, 0x78, 0x90, 0xff]),
            (2, Some(-1), &[0x12, 0xff, 0x12, 0x34, 0x56, 0x78, 0x90]),
        ] {
            assert_eq!(replaced(&BYTES, &[0xff], from, count).unwrap(), expected, "{from} {count:?}");
        }
        assert!(replaced(&BYTES, &[0xff], 0, None).is_err());
    }

    #[test]
    fn bytes_are_found_at_their_first_position() {
        for (sought, expected) in [(&[0x56, 0x78][..], 3), (&[0x78, 0x56], 0), (&[], 1), (&[0; 9], 0), (&BYTES, 1)] {
            assert_eq!(position(&BYTES, sought), expected, "{sought:?}");
        }
        assert_eq!(position(&[], &[]), 1);
    }

    /// A comparison at each position would take minutes.
    #[test]
    fn long_bytes_are_found_in_longer_ones() {
        let bytes = vec![0; 1 << 22];
        let mut sought = vec![0; 1 << 21];
        assert_eq!(position(&bytes, &sought), 1);
        sought.push(1);
        assert_eq!(position(&bytes, &sought), 0);
    }
}
