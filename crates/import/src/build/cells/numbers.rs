//! Columns of numbers and booleans.

use crate::build::cells::{Cells, Utf8Slice};
use crate::build::column_values::{ColumnValues, Inexact};
use crate::values::comma_numbers::{NumberForm, plain_number};
use crate::values::numbers::{any_f64, any_i64, any_u64, boolean, is_number, is_rounded, plain_f64, plain_i64};
use arrow::array::{AsArray, BooleanArray};
use arrow::datatypes::{ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int64Type};
use arrow::error::ArrowError;
use atsdb_core::decimal;
use std::sync::Arc;

impl Cells<'_> {
    pub(super) fn booleans(&self, position: usize) -> Result<ColumnValues, ArrowError> {
        let gathered = self.gather(position, |bytes| {
            let value = boolean(bytes).or_else(|| if self.column.is_inferred { None } else { loose_boolean(bytes) });
            value.ok_or_else(|| "is neither true nor false".to_owned())
        });
        gathered.into_column(|values, nulls| Ok(Arc::new(BooleanArray::new(values.into(), nulls))))
    }

    pub(super) fn bigints(&self, position: usize) -> Result<ColumnValues, ArrowError> {
        self.numbers::<Int64Type>(position, |bytes| {
            let value = plain_i64(bytes).or_else(|| if self.column.is_inferred { None } else { any_i64(bytes) });
            value.ok_or_else(|| not_whole(bytes, "BIGINT"))
        })
    }

    pub(super) fn signed<T: ArrowPrimitiveType>(&self, position: usize, name: &str) -> Result<ColumnValues, ArrowError>
    where
        T::Native: TryFrom<i64>,
    {
        let convert = |value: i64| T::Native::try_from(value).ok();
        self.numbers::<T>(position, |bytes| any_i64(bytes).and_then(convert).ok_or_else(|| not_whole(bytes, name)))
    }

    pub(super) fn unsigned<T: ArrowPrimitiveType>(
        &self,
        position: usize,
        name: &str,
    ) -> Result<ColumnValues, ArrowError>
    where
        T::Native: TryFrom<u64>,
    {
        let convert = |value: u64| T::Native::try_from(value).ok();
        self.numbers::<T>(position, |bytes| any_u64(bytes).and_then(convert).ok_or_else(|| not_whole(bytes, name)))
    }

    pub(super) fn floats(&self, position: usize) -> Result<ColumnValues, ArrowError> {
        self.numbers::<Float32Type>(position, single)
    }

    pub(super) fn doubles(&self, position: usize) -> Result<ColumnValues, ArrowError> {
        let mut inexact = Inexact::default();
        let is_inferred = self.column.is_inferred;
        let gathered = self.numbers::<Float64Type>(position, |bytes| {
            inexact.add_if(is_rounded(bytes), bytes);
            let value = if is_inferred { plain_f64(bytes) } else { any_f64(bytes) };
            value.ok_or_else(|| no_number(bytes, "DOUBLE"))
        })?;
        Ok(ColumnValues { inexact, ..gathered })
    }

    pub(super) fn decimals(&self, position: usize, precision: u8, scale: u8) -> Result<ColumnValues, ArrowError> {
        let ty = self.column.column.column_type.sql_name();
        let values = self.numbers::<Decimal128Type>(position, |bytes| {
            decimal::parse(bytes.utf8(), precision, scale).ok_or_else(|| format!("does not fit {ty}"))
        })?;
        let decimals = values.array.as_primitive::<Decimal128Type>().clone();
        let array = Arc::new(decimals.with_precision_and_scale(precision, scale.cast_signed())?);
        Ok(ColumnValues { array, ..values })
    }

    /// Parses the numbers of the column, each with a decimal point and nothing between thousands. The form is decided
    /// once, so that numbers without commas cost nothing more.
    fn numbers<T: ArrowPrimitiveType>(
        &self,
        position: usize,
        mut parse: impl FnMut(&[u8]) -> Result<T::Native, String>,
    ) -> Result<ColumnValues, ArrowError> {
        match self.column.number_forms.get(self.read.file).copied().unwrap_or_default() {
            NumberForm::Point => self.primitive::<T>(position, parse),
            form => self.primitive::<T>(position, |bytes| {
                let number = plain_number(bytes, form).ok_or_else(|| not_in_form(form))?;
                parse(&number)
            }),
        }
    }
}

fn not_in_form(form: NumberForm) -> String {
    let what = if form == NumberForm::DecimalComma { "a decimal comma" } else { "commas between thousands" };
    format!("is not a number with {what}, as others of the column are")
}

/// A number of 32 bits, unless it is too large for them, or so small that nothing is left of it.
pub(super) fn single(bytes: &[u8]) -> Result<f32, String> {
    let exact = any_f64(bytes).ok_or_else(|| no_number(bytes, "FLOAT"))?;
    let value: f32 = bytes.utf8().parse().map_err(|_| no_number(bytes, "FLOAT"))?;
    let is_lost = value.is_infinite() != exact.is_infinite() || (value == 0.0) != (exact == 0.0);
    if is_lost { Err("is out of the range of FLOAT".to_owned()) } else { Ok(value) }
}

fn loose_boolean(bytes: &[u8]) -> Option<bool> {
    match bytes {
        b"1" | b"t" | b"T" => Some(true),
        b"0" | b"f" | b"F" => Some(false),
        _ => None,
    }
}

fn not_whole(bytes: &[u8], name: &str) -> String {
    match any_f64(bytes) {
        Some(value) if value.fract() == 0.0 => format!("is out of the range of {name}"),
        _ => "is not an integer".to_owned(),
    }
}

fn no_number(bytes: &[u8], name: &str) -> String {
    if is_number(bytes) { format!("is out of the range of {name}") } else { "is not a number".to_owned() }
}
