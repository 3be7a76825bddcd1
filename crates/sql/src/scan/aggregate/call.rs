//! The aggregate functions that the operator computes.

use super::moment::Moment;
use super::shift::Shift;
use crate::scan::operator::AtsdbScan;
use atsdb_dialect::workarounds::{AVERAGE, Fraction, PERCENTILE, WIDE_SUM, average, fitting_sum, sums_as};
use atsdb_engine::{Measure, MeasureKind, Measured, Scan};
use datafusion::arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, UInt64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// One call of an aggregate function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    function: Function,
    /// The position of the measure from which it is computed.
    pub(super) measure: usize,
    /// The shift that is applied to each integer of a sum or an average.
    shift: Shift,
    result: DataType,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Function {
    Count,
    Sum,
    Average,
    Extreme,
    Moment(Moment),
    Median,
    Percentile(Fraction),
}

/// The calls, and the measures for them. `None` if one of them is not supported here.
pub(super) fn calls_of(
    functions: &[Arc<AggregateFunctionExpr>],
    resolve: impl Fn(&Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>>,
    scan: &AtsdbScan,
) -> Option<(Vec<Call>, Vec<Measure>)> {
    let mut measures: Vec<Measure> = Vec::new();
    let mut calls = Vec::with_capacity(functions.len());
    for function in functions {
        let name = function.fun().name();
        if function.is_distinct() || (!function.order_bys().is_empty() && name != PERCENTILE) {
            return None;
        }
        let arguments = function.expressions().iter().map(&resolve).collect::<Option<Vec<_>>>()?;
        let result = function.field().data_type().clone();
        let mut shift = Shift::NONE;
        let (function, measure) = match (Moment::named(name), arguments.as_slice()) {
            (Some(moment), arguments) => (Function::Moment(moment), moments_of(moment, arguments, &result, scan)?),
            (None, [value, _]) if name == PERCENTILE => {
                let fraction = Fraction::of(&function.expressions(), function.order_bys())?;
                (Function::Percentile(fraction), values_of(value, &result, scan)?)
            }
            (None, [value]) if name == "median" => (Function::Median, values_of(value, &result, scan)?),
            (None, [argument]) => match sum_of_integers(name, argument, &result, scan) {
                Some((function, measure, of_sum)) => {
                    shift = of_sum;
                    (function, measure)
                }
                None => measure_of(name, argument, &result, scan)?,
            },
            (None, _) => return None,
        };
        let at = measures.iter().position(|other| *other == measure).unwrap_or_else(|| {
            measures.push(measure);
            measures.len() - 1
        });
        calls.push(Call { function, measure: at, shift, result });
    }
    Some((calls, measures))
}

/// A sum or an average of integers, and what is added to each of them.
fn sum_of_integers(
    name: &str,
    argument: &Arc<dyn PhysicalExpr>,
    result: &DataType,
    scan: &AtsdbScan,
) -> Option<(Function, Measure, Shift)> {
    let as_float = argument.downcast_ref::<CastExpr>().filter(|cast| *cast.cast_type() == DataType::Float64);
    let function = match (name, as_float) {
        ("sum", None) if *result == DataType::Int64 || *result == WIDE_SUM => Function::Sum,
        ("avg", None) if *result == AVERAGE => Function::Average,
        ("avg", Some(_)) if *result == DataType::Float64 => Function::Average,
        _ => return None,
    };
    let (column, shift) = Shift::of(as_float.map_or(argument, CastExpr::expr), &scan.schema())?;
    Some((function, Measure { kind: MeasureKind::Sum, column }, shift))
}

fn measure_of(
    name: &str,
    argument: &Arc<dyn PhysicalExpr>,
    result: &DataType,
    scan: &AtsdbScan,
) -> Option<(Function, Measure)> {
    if let (Some(literal), "count") = (argument.downcast_ref::<Literal>(), name) {
        let is_row = !literal.value().is_null();
        return is_row.then_some((Function::Count, Measure { kind: MeasureKind::CountRows, column: 0 }));
    }
    let (column, cast_to) = match argument.downcast_ref::<CastExpr>() {
        Some(cast) => (cast.expr().downcast_ref::<Column>()?, Some(cast.cast_type())),
        None => (argument.downcast_ref::<Column>()?, None),
    };
    let schema = scan.schema();
    let own = schema.field(column.index()).data_type();
    let input_type = cast_to.unwrap_or(own);
    let measure = |kind| Measure { kind, column: column.index() };
    match name {
        "count" if cast_to.is_none() => Some((Function::Count, measure(MeasureKind::Count))),
        "sum" if is_float(own) && input_type == result => Some((Function::Sum, measure(MeasureKind::Sum))),
        "avg" if *result == DataType::Float64 && is_float(own) && *input_type == DataType::Float64 => {
            Some((Function::Average, measure(MeasureKind::Sum)))
        }
        "min" if cast_to.is_none() && own == result => Some((Function::Extreme, measure(MeasureKind::Min))),
        "max" if cast_to.is_none() && own == result => Some((Function::Extreme, measure(MeasureKind::Max))),
        _ => None,
    }
}

/// The position of a column of numbers, which a function takes as DOUBLE.
fn number_column(argument: &Arc<dyn PhysicalExpr>, scan: &AtsdbScan) -> Option<usize> {
    let inner = match argument.downcast_ref::<CastExpr>() {
        Some(cast) if *cast.cast_type() == DataType::Float64 => cast.expr(),
        _ => argument,
    };
    let column = inner.downcast_ref::<Column>()?.index();
    let schema = scan.schema();
    let own = schema.field(column).data_type();
    (own.is_integer() || is_float(own)).then_some(column)
}

/// The measure for a function of all values of a column of numbers.
fn values_of(argument: &Arc<dyn PhysicalExpr>, result: &DataType, scan: &AtsdbScan) -> Option<Measure> {
    let column = number_column(argument, scan).filter(|_| *result == DataType::Float64)?;
    Some(Measure { kind: MeasureKind::Values, column })
}

/// The measure for a function of moments: of one column of numbers, or of two.
fn moments_of(
    moment: Moment,
    arguments: &[Arc<dyn PhysicalExpr>],
    result: &DataType,
    scan: &AtsdbScan,
) -> Option<Measure> {
    let columns = arguments.iter().map(|argument| number_column(argument, scan)).collect::<Option<Vec<_>>>()?;
    let is_called_so = columns.len() == moment.argument_count() && *result == DataType::Float64;
    let kind = MeasureKind::Moments { with: columns.get(1).copied() };
    is_called_so.then(|| Measure { kind, column: columns[0] })
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

impl Call {
    /// Returns whether the results are those of the function for the rows of a scan. `column` is its measure's
    /// position.
    pub(super) fn is_valid_for(&self, scan: &Scan, column: usize) -> bool {
        self.shift.is_valid_for(scan, column)
    }

    /// The sums of integers for the groups of a measure.
    fn sums(&self, sums: &[i128], counts: &[u64]) -> impl Iterator<Item = i128> {
        let shift = self.shift;
        sums.iter().zip(counts).map(move |(sum, count)| shift.sum(*sum, *count))
    }

    /// Fails if a result does not fit its type.
    pub(super) fn check(&self, measured: Measured<'_>) -> Result<()> {
        match (self.function, measured, &self.result) {
            (Function::Sum, Measured::Integers(sums, counts), DataType::Int64) => {
                self.sums(sums, counts).try_for_each(|sum| fitting_sum(sum).map(drop))
            }
            _ => Ok(()),
        }
    }

    /// The call's results for groups.
    pub(super) fn results(&self, measured: Measured<'_>) -> Result<ArrayRef> {
        match (self.function, measured) {
            (Function::Count, Measured::Counts(counts)) => {
                let counts: Int64Array = counts.iter().map(|count| Some(count.cast_signed())).collect();
                Ok(Arc::new(counts))
            }
            (Function::Average, Measured::Integers(sums, counts)) if self.result == AVERAGE => {
                let sums = self.sums(sums, counts).zip(counts);
                let averages = sums.map(|(sum, count)| (*count > 0).then(|| average(sum, *count)));
                Ok(Arc::new(averages.collect::<Decimal128Array>().with_data_type(AVERAGE)))
            }
            (Function::Average, Measured::Integers(sums, counts)) => {
                Ok(averages(self.sums(sums, counts).map(|sum| sum as f64), counts))
            }
            // A sum starts with 0.0, so the sum of only -0.0 is 0.0, too.
            (Function::Average, Measured::Floats(sums, counts)) => {
                Ok(averages(sums.iter().map(|sum| sum + 0.0), counts))
            }
            (Function::Sum | Function::Extreme, Measured::Floats(values, counts)) => {
                let zero = if self.function == Function::Sum { 0.0 } else { -0.0 };
                let values: Vec<f64> = values.iter().map(|value| value + zero).collect();
                let values = Float64Array::new(values.into(), Some(is_there(counts)));
                let values: ArrayRef = Arc::new(values);
                Ok(if self.result == DataType::Float64 { values } else { cast(&values, &self.result)? })
            }
            (Function::Sum, Measured::Integers(sums, counts)) => {
                sums_as(self.sums(sums, counts).collect(), is_there(counts), &self.result)
            }
            (Function::Extreme, Measured::Integers(values, counts)) => extremes(values, counts, &self.result),
            (Function::Moment(moment), Measured::Moments(moments, counts)) => {
                let values = moments.iter().zip(counts).map(|(moments, count)| moment.value(moments, *count));
                Ok(Arc::new(values.collect::<Float64Array>()))
            }
            (Function::Percentile(fraction), Measured::Values(groups)) => {
                Ok(of_values(groups, |values| fraction.percentile(values)))
            }
            (Function::Median, Measured::Values(groups)) => Ok(of_values(groups, median)),
            (function, measured) => internal_err!("{function:?} of {measured:?}"),
        }
    }
}

fn of_values(groups: &[Vec<f64>], function: impl Fn(&mut [f64]) -> Option<f64>) -> ArrayRef {
    let mut values = Vec::new();
    let result = |group: &Vec<f64>| {
        values.clone_from(group);
        function(&mut values)
    };
    Arc::new(groups.iter().map(result).collect::<Float64Array>())
}

/// The value in the middle, or the mean of both.
fn median(values: &mut [f64]) -> Option<f64> {
    let (count, middle) = (values.len(), values.len() / 2);
    if count == 0 {
        return None;
    }
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| count % 2 == 0);
    Some(lower.map_or(*upper, |lower| (lower + *upper) / 2.0))
}

/// Groups without values have no result.
fn is_there(counts: &[u64]) -> NullBuffer {
    counts.iter().map(|count| *count > 0).collect()
}

fn averages(sums: impl Iterator<Item = f64>, counts: &[u64]) -> ArrayRef {
    let averages = sums.zip(counts).map(|(sum, count)| (*count > 0).then(|| sum / *count as f64));
    Arc::new(averages.collect::<Float64Array>())
}

fn extremes(values: &[i128], counts: &[u64], result: &DataType) -> Result<ArrayRef> {
    if *result == DataType::UInt64 {
        let values: Vec<u64> = values.iter().map(|value| *value as u64).collect();
        return Ok(Arc::new(UInt64Array::new(values.into(), Some(is_there(counts)))));
    }
    let values: Vec<i64> = values.iter().map(|value| *value as i64).collect();
    let values: ArrayRef = Arc::new(Int64Array::new(values.into(), Some(is_there(counts))));
    match result {
        DataType::Int64 => Ok(values),
        // Days are cast from 32 bits.
        DataType::Date32 => Ok(cast(&cast(&values, &DataType::Int32)?, result)?),
        _ => Ok(cast(&values, result)?),
    }
}
