//! The times of a series.

use atsdb_core::time::DAY_NANOSECONDS;
use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use datafusion::common::{Result, exec_err};

/// The days of a month, where lengths are compared.
const MONTH_DAYS: i128 = 30;

/// The type of the times in a series with arguments of these types. A series of dates is one of instants. One of the
/// bounds may be NULL, and so may the step: the series has no times then. `None` if it is no series of times.
pub(super) fn type_of_times(types: &[DataType]) -> Option<DataType> {
    let [from, to, _] = types else { return None };
    let units = [unit_of(from), unit_of(to)];
    let has_other_bound = [from, to].into_iter().zip(units).any(|(of, unit)| unit.is_none() && !of.is_null());
    if has_other_bound || units == [None, None] {
        return None;
    }
    let is_fine = units.contains(&Some(TimeUnit::Nanosecond));
    let zone_of = |bound: &DataType| match bound {
        DataType::Timestamp(_, zone) => Some(zone.clone()),
        _ => None,
    };
    let zone = zone_of(from).or_else(|| zone_of(to)).unwrap_or_else(|| Some("UTC".into()));
    Some(DataType::Timestamp(if is_fine { TimeUnit::Nanosecond } else { TimeUnit::Microsecond }, zone))
}

fn unit_of(data_type: &DataType) -> Option<TimeUnit> {
    match data_type {
        DataType::Timestamp(unit, _) => Some(*unit),
        DataType::Date32 | DataType::Date64 => Some(TimeUnit::Microsecond),
        _ => None,
    }
}

/// The times from one to another, as counts of microseconds or nanoseconds. A series ends at the last time of its type.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    next: Option<i64>,
    to: i64,
    includes_end: bool,
    step: IntervalMonthDayNano,
    is_down: bool,
    is_fine: bool,
    zone: Tz,
}

impl Steps {
    /// The times of a series of this type, which is that of [`type_of_times`].
    pub(super) fn new(
        of: &DataType,
        [from, to]: [i64; 2],
        step: IntervalMonthDayNano,
        includes_end: bool,
    ) -> Result<Self> {
        let days = i128::from(step.months) * MONTH_DAYS + i128::from(step.days);
        let length = days * i128::from(DAY_NANOSECONDS) + i128::from(step.nanoseconds);
        if length == 0 {
            return exec_err!("step size cannot equal zero");
        }
        let (is_fine, zone) = match of {
            DataType::Timestamp(unit, zone) => (*unit == TimeUnit::Nanosecond, zone.as_deref()),
            _ => (false, None),
        };
        let zone: Tz = zone.unwrap_or("+00:00").parse()?;
        Ok(Self { next: Some(from), to, includes_end, step, is_down: length < 0, is_fine, zone })
    }

    fn is_over(&self, time: i64) -> bool {
        let is_beyond = if self.is_down { time < self.to } else { time > self.to };
        is_beyond || (time == self.to && !self.includes_end)
    }

    fn after(&self, time: i64) -> Option<i64> {
        if self.is_fine {
            TimestampNanosecondType::add_month_day_nano(time, self.step, self.zone)
        } else {
            TimestampMicrosecondType::add_month_day_nano(time, self.step, self.zone)
        }
    }
}

impl Iterator for Steps {
    type Item = Result<i64>;

    fn next(&mut self) -> Option<Result<i64>> {
        let time = self.next.take().filter(|time| !self.is_over(*time))?;
        if time == self.to {
            return Some(Ok(time));
        }
        self.next = self.after(time);
        // Such as one month less 31 days, from the first of a long month.
        let stays = |next: i64| if self.is_down { next >= time } else { next <= time };
        if self.next.is_some_and(stays) {
            self.next = None;
            return Some(exec_err!("the step of a series does not lead from one time to the next"));
        }
        Some(Ok(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECONDS: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

    fn times(bounds: [i64; 2], step: IntervalMonthDayNano, includes_end: bool) -> Result<Vec<i64>> {
        Steps::new(&MICROSECONDS, bounds, step, includes_end)?.collect()
    }

    #[test]
    fn a_series_goes_up_or_down_and_may_leave_out_its_end() {
        let step = |nanoseconds| IntervalMonthDayNano::new(0, 0, nanoseconds);
        assert_eq!(times([0, 4], step(2_000), true).unwrap(), [0, 2, 4]);
        assert_eq!(times([0, 4], step(2_000), false).unwrap(), [0, 2]);
        assert_eq!(times([4, 0], step(-2_000), true).unwrap(), [4, 2, 0]);
        assert!(times([4, 0], step(2_000), true).unwrap().is_empty());
    }

    #[test]
    fn a_series_ends_at_the_end_of_its_range_and_never_stays() {
        let last = 8_210_266_876_799_999_999;
        assert_eq!(times([last, i64::MAX], IntervalMonthDayNano::new(12, 0, 0), true).unwrap(), [last]);
        for (from, step) in [(0, (0, 0, 0)), (0, (1, -30, 0)), (9, (1, -31, 0)), (0, (0, 0, 1))] {
            let step = IntervalMonthDayNano::new(step.0, step.1, step.2);
            assert!(times([from, 4], step, true).is_err(), "{step:?}");
        }
    }
}
