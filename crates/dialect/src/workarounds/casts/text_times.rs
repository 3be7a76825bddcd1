//! Text as times and dates, in the forms that `text::time_text` reads.
//!
//! Part of [`postgres`](super::postgres). DataFusion 55.2 reads fewer forms: no date without zeros or with other
//! separators, no time without seconds, and it moves the date of a time to UTC. It knows the names of zones, so that
//! texts in other forms are left to it. No upstream issue known.

use crate::text::time_text::{parse_date, parse_time};
use atsdb_codec::time_unit_of;
use atsdb_core::time_text::year_first;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int64Array, StringArray};
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options, is_null};
use datafusion::arrow::datatypes::{DataType, Date32Type};
use datafusion::common::Result;
use std::sync::Arc;

/// Texts as times, rounded to the unit.
pub(super) fn times_of(texts: &ArrayRef, target: &DataType, options: &CastOptions<'_>) -> Result<ArrayRef> {
    let DataType::Timestamp(unit, _) = target else { return Ok(cast_with_options(texts, target, options)?) };
    let unit = time_unit_of(*unit);
    let written = texts.as_string::<i32>();
    let counts: Int64Array = written.iter().map(|text| parse_time(text?, unit)).collect();
    let times = cast(&(Arc::new(counts) as ArrayRef), target)?;
    if times.null_count() == texts.null_count() {
        return Ok(times);
    }
    let others: StringArray =
        written.iter().enumerate().map(|(row, text)| text.filter(|_| times.is_null(row))).collect();
    let others = cast_with_options(&others, target, options)?;
    Ok(zip(&is_null(&times)?, &others, &times)?)
}

/// Texts as dates. A time becomes the date that is written in it, whatever its zone.
pub(super) fn dates_of(texts: &ArrayRef, target: &DataType, options: &CastOptions<'_>) -> Result<ArrayRef> {
    let written = texts.as_string::<i32>();
    let dates: Vec<Option<i32>> = written.iter().map(|text| parse_date(text?)).collect();
    let others: StringArray = written.iter().zip(&dates).map(|(text, date)| text.filter(|_| date.is_none())).collect();
    if others.null_count() == others.len() {
        return Ok(cast(&Date32Array::from(dates), target)?);
    }
    let read = cast_with_options(&others, &DataType::Date32, options)?;
    let read = read.as_primitive::<Date32Type>().iter();
    let dates = dates.into_iter().zip(read).zip(&others).map(|((date, read), other)| match (read, other) {
        (Some(read), Some(text)) => {
            let days = year_first(text.trim().as_bytes()).and_then(|(days, _)| i32::try_from(days).ok());
            days.or(Some(read))
        }
        _ => date,
    });
    Ok(cast(&dates.collect::<Date32Array>(), target)?)
}
