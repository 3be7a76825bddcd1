//! `timezone(zone, t)`, which is `t AT TIME ZONE zone`: the local time of an instant, or the instant of a local time.
//!
//! Times with a zone are instants: columns of tables, whose zone is UTC, and text. Times without one are local times:
//! `TIMESTAMP '...'`, and what `AT TIME ZONE` itself returns for an instant. The syntax tree tells which values without
//! a zone are instants nevertheless, such as `now()`; for them it calls `timezone_of_instant`, and `as_instant` where
//! they become columns of a subquery.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::{is_text, per_second, strictly, text_of};
use crate::text::datafusion_errors::external;
use crate::text::zone::Zone;
use atsdb_core::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

pub(super) fn functions() -> Vec<ScalarUDF> {
    let at_zone = [false, true].into_iter().map(|is_instant| ScalarUDF::new_from_impl(AtZone::new(is_instant)));
    let others = [ScalarUDF::new_from_impl(AsInstant::new()), ScalarUDF::new_from_impl(AsOf::new())];
    at_zone.chain(others).collect()
}

/// Gives a time the zone of columns of tables.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AsInstant {
    signature: Signature,
}

impl AsInstant {
    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for AsInstant {
    fn name(&self) -> &str {
        "as_instant"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Timestamp(unit, _)] => Ok(DataType::Timestamp(*unit, Some("UTC".into()))),
            [other] => Ok(other.clone()),
            _ => exec_err!("as_instant takes a time"),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(inputs.first().map_or(SortProperties::Unordered, |time| time.sort_properties))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [time] = args.args.as_slice() else { return exec_err!("as_instant takes a time") };
        time.cast_to(args.return_type(), None)
    }
}

/// `timezone_as_of(zone, local, instant)`: the instant of a local time whose clock is as far ahead of UTC as at another
/// instant. Of the local times that clocks show twice, it knows which one is meant.
#[derive(Debug, PartialEq, Eq, Hash)]
struct AsOf {
    signature: Signature,
}

impl AsOf {
    fn new() -> Self {
        Self { signature: Signature::any(3, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for AsOf {
    fn name(&self) -> &str {
        "timezone_as_of"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [_, DataType::Timestamp(unit, _), _] => Ok(DataType::Timestamp(*unit, Some("UTC".into()))),
            _ => exec_err!("timezone_as_of takes a zone, a local time and an instant"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result = args.return_type().clone();
        let [zone, local, instant] = args.args.as_slice() else {
            return exec_err!("timezone_as_of takes a zone, a local time and an instant");
        };
        let DataType::Timestamp(unit, _) = local.data_type() else {
            return exec_err!("timezone_as_of takes a local time");
        };
        if !is_text(&zone.data_type()) && !zone.data_type().is_null() {
            return exec_err!("date_trunc takes the name of a zone, such as 'Europe/Berlin' or '+02:00'");
        }
        let is_constant = are_constant(&args.args);
        let row_count = if is_constant { 1 } else { args.number_rows };
        let counts = |time: &ColumnarValue| -> Result<ArrayRef> {
            let times = time.clone().into_array(row_count)?;
            strictly(&strictly(&times, &DataType::Timestamp(unit, Some("UTC".into())))?, &DataType::Int64)
        };
        let (local, instant, zones) = (counts(local)?, counts(instant)?, RowZones::of(zone)?);
        let per_second = per_second(unit);
        let pairs = local.as_primitive::<Int64Type>().iter().zip(instant.as_primitive::<Int64Type>());
        let moved = pairs.enumerate().map(|(row, (local, instant))| {
            let ahead = zones.at(row)?.ahead_at(instant?.div_euclid(per_second));
            Some(local?.saturating_sub(ahead * per_second))
        });
        let moved: Int64Array = moved.collect();
        let moved: ArrayRef = cast(&(Arc::new(moved) as ArrayRef), &result)?;
        answer(is_constant, moved)
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AtZone {
    /// Whether all times are instants.
    is_instant: bool,
    signature: Signature,
}

impl AtZone {
    fn new(is_instant: bool) -> Self {
        Self { is_instant, signature: Signature::any(2, Volatility::Immutable) }
    }

    /// The unit of the result, and whether the time is a local time.
    fn reads(&self, time: &DataType) -> Result<(TimeUnit, bool)> {
        Ok(match time {
            DataType::Timestamp(unit, zone) => (*unit, zone.is_none() && !self.is_instant),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Date32 | DataType::Null => {
                (TimeUnit::Microsecond, false)
            }
            other => return exec_err!("AT TIME ZONE takes a TIMESTAMP, not {other}"),
        })
    }
}

impl ScalarUDFImpl for AtZone {
    fn name(&self) -> &str {
        if self.is_instant { "timezone_of_instant" } else { "timezone" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [_, time] = types else { return exec_err!("timezone takes a zone and a time") };
        let (unit, is_local) = self.reads(time)?;
        Ok(DataType::Timestamp(unit, is_local.then(|| "UTC".into())))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result = args.return_type().clone();
        let [zone, time] = args.args.as_slice() else { return exec_err!("timezone takes a zone and a time") };
        let (unit, is_local) = self.reads(&time.data_type())?;
        let is_constant = are_constant(&args.args);
        let times = time.clone().into_array(if is_constant { 1 } else { args.number_rows })?;
        let moved = moved(&times, unit, &RowZones::of(zone)?, is_local)?;
        let moved: ArrayRef = cast(&(Arc::new(moved) as ArrayRef), &result)?;
        answer(is_constant, moved)
    }
}

/// The zone of a name, or of an interval by which its clocks are ahead of UTC; `None` of NULL.
fn zone_of(zone: &ScalarValue) -> Result<Option<Arc<Zone>>> {
    if zone.is_null() {
        return Ok(None);
    }
    if let ScalarValue::IntervalMonthDayNano(Some(ahead)) = zone {
        if ahead.months != 0 || ahead.days != 0 {
            let error = Error::invalid("an interval time zone must not include months or days");
            return Err(external(error.with_hint("write hours and minutes: INTERVAL '02:00'")));
        }
        return Ok(Some(Arc::new(Zone::always_ahead(ahead.nanoseconds / NANOSECONDS_PER_SECOND))));
    }
    match text_of(zone) {
        Some(name) => Zone::named(name).map(Some).map_err(external),
        None => exec_err!("AT TIME ZONE takes the name of a zone, such as 'Europe/Berlin' or '+02:00', or an INTERVAL"),
    }
}

/// The zones of rows; that of NULL is `None`.
enum RowZones {
    /// All rows have the same zone.
    One(Option<Arc<Zone>>),
    Each(Vec<Option<Arc<Zone>>>),
}

impl RowZones {
    fn of(zone: &ColumnarValue) -> Result<Self> {
        let zones = match zone {
            ColumnarValue::Scalar(zone) => return zone_of(zone).map(Self::One),
            ColumnarValue::Array(zones) => zones,
        };
        if !is_text(zones.data_type()) {
            let of_row = |row| zone_of(&ScalarValue::try_from_array(zones, row)?);
            return (0..zones.len()).map(of_row).collect::<Result<Vec<_>>>().map(Self::Each);
        }
        let names = strictly(zones, &DataType::Utf8)?;
        let mut known: HashMap<&str, Arc<Zone>> = HashMap::new();
        let mut each = Vec::with_capacity(names.len());
        for name in names.as_string::<i32>() {
            each.push(match name {
                None => None,
                Some(name) => Some(match known.entry(name) {
                    Entry::Occupied(found) => Arc::clone(found.get()),
                    Entry::Vacant(new) => Arc::clone(new.insert(Zone::named(name).map_err(external)?)),
                }),
            });
        }
        Ok(Self::Each(each))
    }

    fn at(&self, row: usize) -> Option<&Zone> {
        match self {
            Self::One(zone) => zone.as_deref(),
            Self::Each(zones) => zones.get(row)?.as_deref(),
        }
    }
}

/// Instants as local times, or local times as instants.
fn moved(times: &ArrayRef, unit: TimeUnit, zones: &RowZones, is_local: bool) -> Result<Int64Array> {
    let counts = strictly(&strictly(times, &DataType::Timestamp(unit, Some("UTC".into())))?, &DataType::Int64)?;
    let counts = counts.as_primitive::<Int64Type>();
    let per_second = per_second(unit);
    let moved = |count: i64, zone: &Zone| {
        let seconds = count.div_euclid(per_second);
        match is_local {
            true => count.saturating_sub(zone.ahead_of_local(seconds) * per_second),
            false => count.saturating_add(zone.ahead_at(seconds) * per_second),
        }
    };
    Ok(match zones {
        RowZones::One(Some(zone)) => counts.unary(|count| moved(count, zone)),
        zones => counts.iter().enumerate().map(|(row, count)| Some(moved(count?, zones.at(row)?))).collect(),
    })
}
