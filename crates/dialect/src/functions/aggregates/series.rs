//! Aggregates over points in the order of time: `delta`, `increase`, `rate`, `time_weighted_average` and `lttb`.

use super::points::{Measure, Number};
use super::series_state::{Plan, SeriesGroup, SeriesGroups, SeriesWindow, Summary, state_types};
use crate::functions::base::arguments::{constant, constant_count, counts_per_second, plain_type, text_of, type_name};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use std::sync::Arc;
use strum::{IntoStaticStr, VariantArray};

/// The maximum number of points of `lttb`.
const LTTB_POINTS_MAX: usize = 10_000_000;

/// The functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum SeriesFunction {
    Delta,
    Increase,
    Rate,
    TimeWeightedAverage,
    Lttb,
}

impl SeriesFunction {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    fn name(self) -> &'static str {
        self.into()
    }

    fn usage(self) -> &'static str {
        match self {
            Self::Delta => "delta(value, time)",
            Self::Increase => "increase(value, time)",
            Self::Rate => "rate(value, time)",
            Self::TimeWeightedAverage => "time_weighted_average(value, time [, 'locf' | 'linear'])",
            Self::Lttb => "lttb(time, value, count)",
        }
    }

    /// The positions of the arguments.
    fn argument_positions(self, types: &[DataType]) -> Result<ArgumentPositions> {
        let is_text = |place: usize| {
            let plain = types.get(place).map(plain_type);
            matches!(plain, Some(DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View))
        };
        let places = match (self, types.len()) {
            (Self::Lttb, 3) => ArgumentPositions { value: 1, time: 0, rest: Some(2) },
            // TimescaleDB's order: time_weight('locf', time, value).
            (Self::TimeWeightedAverage, 3) if is_text(0) => ArgumentPositions { value: 2, time: 1, rest: Some(0) },
            (Self::TimeWeightedAverage, 3) => ArgumentPositions { value: 0, time: 1, rest: Some(2) },
            (Self::Lttb, _) => return Err(self.wrong(format!("takes 3 arguments, not {}", types.len()))),
            (_, 2) => ArgumentPositions { value: 0, time: 1, rest: None },
            (_, count) => return Err(self.wrong(format!("takes 2 arguments, not {count}"))),
        };
        let (value, time) = (&types[places.value], &types[places.time]);
        if Number::of(value).is_none() {
            return Err(self.wrong(format!("needs a number, not {}", type_name(value))));
        }
        let is_time = match plain_type(time) {
            DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Null => true,
            other => other.is_integer(),
        };
        if !is_time {
            return Err(self.wrong(format!("needs the time of each value, not {}", type_name(time))));
        }
        Ok(places)
    }

    fn wrong(self, problem: String) -> datafusion::common::DataFusionError {
        external(sql_error(format!("{} {problem}", self.name())).with_hint(self.usage()))
    }
}

struct ArgumentPositions {
    value: usize,
    time: usize,
    rest: Option<usize>,
}

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Series {
    kind: SeriesFunction,
    signature: Signature,
    aliases: Vec<String>,
}

impl Series {
    pub(crate) fn new(kind: SeriesFunction) -> Self {
        let aliases = match kind {
            SeriesFunction::TimeWeightedAverage => vec!["time_weight".to_owned()],
            _ => Vec::new(),
        };
        Self { kind, signature: Signature::variadic_any(Volatility::Immutable), aliases }
    }

    fn plan(&self, args: &AccumulatorArgs<'_>) -> Result<Plan> {
        let types: Vec<DataType> = args.expr_fields.iter().map(|field| field.data_type().clone()).collect();
        let ArgumentPositions { value, time, rest } = self.kind.argument_positions(&types)?;
        let number = Number::of(&types[value]).unwrap_or(Number::Float);
        let summary = match (self.kind, rest) {
            (SeriesFunction::Delta, _) => Summary::Measure(Measure::Delta),
            (SeriesFunction::Increase, _) => Summary::Measure(Measure::Increase),
            (SeriesFunction::Rate, _) => {
                Summary::Measure(Measure::Rate { counts_per_second: counts_per_second(&types[time]) })
            }
            (SeriesFunction::TimeWeightedAverage, rest) => {
                let method = match rest {
                    Some(rest) => constant(self.name(), "the method", &args.exprs[rest]).map_err(external)?,
                    None => "locf".into(),
                };
                let linear = match text_of(&method).map(str::to_lowercase).as_deref() {
                    Some("locf") => false,
                    Some("linear") => true,
                    _ => return Err(self.kind.wrong(format!("does not know the method {method}"))),
                };
                Summary::Measure(Measure::TimeWeightedAverage { linear })
            }
            (SeriesFunction::Lttb, rest) => {
                let count = &args.exprs[rest.unwrap_or(2)];
                let count = constant_count(self.name(), "the number of points", count, (2, LTTB_POINTS_MAX))
                    .map_err(external)?;
                Summary::Lttb { count, time_type: plain_type(&types[time]).clone() }
            }
        };
        Ok(Plan { summary, number, value, time })
    }
}

impl AggregateUDFImpl for Series {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let places = self.kind.argument_positions(types)?;
        Ok(match self.kind {
            SeriesFunction::Lttb => {
                Summary::Lttb { count: 0, time_type: plain_type(&types[places.time]).clone() }.answer_type()
            }
            _ => DataType::Float64,
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let names = ["times", "values"].into_iter().zip(state_types());
        Ok(names.map(|(name, list)| Arc::new(Field::new(format_state_name(args.name, name), list, true))).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SeriesGroup::new(self.plan(&args)?)))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(SeriesWindow::new(self.plan(&args)?)))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(SeriesGroups::new(self.plan(&args)?)))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}
