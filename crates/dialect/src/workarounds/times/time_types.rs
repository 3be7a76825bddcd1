//! `TIMESTAMP`, `TIMESTAMPTZ` and `TIME` have microseconds in casts and literals, as in columns of tables and in
//! PostgreSQL. DataFusion's have nanoseconds, in which the range of timestamps ends in the years 1677 and 2262, and
//! which have no common type with the microseconds of a TIME column. `TIMESTAMP(9)` has them here, as does a literal
//! with more than six digits after the seconds if its year is within that range.
//!
//! No upstream issue known.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{DataType as SqlType, TimezoneInfo};
use std::sync::Arc;

/// The type of all times of day.
pub(crate) const TIME_OF_DAY: DataType = DataType::Time64(TimeUnit::Microsecond);

/// Plans the types that DataFusion would give nanoseconds.
#[derive(Debug)]
pub(crate) struct TimeTypes;

impl TypePlanner for TimeTypes {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        let planned = match sql_type {
            SqlType::Timestamp(None, _) => DataType::Timestamp(TimeUnit::Microsecond, None),
            SqlType::Time(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => TIME_OF_DAY,
            _ => return Ok(None),
        };
        Ok(Some(Arc::new(Field::new("", planned, true))))
    }
}
