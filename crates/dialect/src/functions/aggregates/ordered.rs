//! `percentile_disc(p) WITHIN GROUP (ORDER BY x)`, the first value such that at least the fraction `p` of all values is
//! not greater, and `mode() WITHIN GROUP (ORDER BY x)`, the most frequent value, or the first of several. `mode(x)` is
//! the same.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::{SortOptions, concat, sort};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Choice {
    Percentile,
    Mode,
}

pub(super) fn functions() -> Vec<AggregateUDF> {
    [Choice::Percentile, Choice::Mode]
        .map(|choice| {
            let signature = Signature::variadic_any(Volatility::Immutable);
            AggregateUDF::new_from_impl(Ordered { choice, signature })
        })
        .into()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Ordered {
    choice: Choice,
    signature: Signature,
}

impl AggregateUDFImpl for Ordered {
    fn name(&self) -> &str {
        match self.choice {
            Choice::Percentile => "percentile_disc",
            Choice::Mode => "mode",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let wanted = if self.choice == Choice::Percentile { 2 } else { 1 };
        if types.len() != wanted {
            return plan_err!(
                "{} takes {} and WITHIN GROUP (ORDER BY ...)",
                self.name(),
                if wanted == 2 { "a fraction" } else { "nothing" }
            );
        }
        Ok(match &types[0] {
            DataType::Dictionary(_, plain) => plain.as_ref().clone(),
            plain => plain.clone(),
        })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let is_descending = args.order_bys.first().is_some_and(|order| order.options.descending);
        let result = args.return_field.data_type().clone();
        Ok(Box::new(Values { choice: self.choice, result, is_descending, fraction: None, parts: Vec::new() }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let item = Arc::new(Field::new_list_field(args.return_field.data_type().clone(), true));
        Ok(vec![
            Arc::new(Field::new(format!("{}[values]", args.name), DataType::List(item), true)),
            Arc::new(Field::new(format!("{}[fraction]", args.name), DataType::Float64, true)),
        ])
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Values {
    choice: Choice,
    result: DataType,
    is_descending: bool,
    fraction: Option<f64>,
    parts: Vec<ArrayRef>,
}

impl Values {
    fn set_fraction(&mut self, fractions: &ArrayRef) -> Result<()> {
        let fractions = datafusion::arrow::compute::cast(fractions, &DataType::Float64)?;
        if let Some(fraction) = fractions.as_primitive::<Float64Type>().iter().flatten().next() {
            if !(0.0..=1.0).contains(&fraction) {
                return exec_err!("percentile value {fraction} is not between 0 and 1");
            }
            self.fraction = Some(fraction);
        }
        Ok(())
    }

    fn all(&self) -> Result<ArrayRef> {
        let parts: Vec<&dyn Array> = self.parts.iter().map(AsRef::as_ref).collect();
        match parts.is_empty() {
            true => Ok(datafusion::arrow::array::new_empty_array(&self.result)),
            false => Ok(concat(&parts)?),
        }
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if values[0].is_empty() {
            return Ok(());
        }
        // The values of ORDER BY follow the arguments.
        if let Some(fractions) = values.get(1).filter(|_| self.choice == Choice::Percentile) {
            self.set_fraction(fractions)?;
        }
        self.parts.push(datafusion::arrow::compute::cast(&values[0], &self.result)?);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.set_fraction(&states[1])?;
        self.parts.extend(states[0].as_list::<i32>().iter().flatten());
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = self.all()?;
        let list = datafusion::common::utils::SingleRowListArrayBuilder::new(values).build_list_scalar();
        Ok(vec![list, ScalarValue::Float64(self.fraction)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.all()?;
        let options = SortOptions { descending: self.is_descending, nulls_first: false };
        let sorted = sort(&values, Some(options))?;
        let count = sorted.len() - sorted.null_count();
        if count == 0 {
            return ScalarValue::try_from(&self.result);
        }
        let chosen = match self.choice {
            Choice::Percentile => match self.fraction {
                Some(fraction) => ((fraction * count as f64).ceil() as usize).clamp(1, count) - 1,
                None => return ScalarValue::try_from(&self.result),
            },
            Choice::Mode => most_frequent(&sorted, count)?,
        };
        ScalarValue::try_from_array(&sorted, chosen)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.parts.iter().map(|part| part.get_array_memory_size()).sum::<usize>()
    }
}

/// The row of the most frequent value among `count` sorted ones; the first if there are several.
fn most_frequent(sorted: &ArrayRef, count: usize) -> Result<usize> {
    let runs = datafusion::arrow::compute::partition(&[sorted.slice(0, count)])?;
    let longest = runs.ranges().into_iter().fold(
        0..0,
        |longest: std::ops::Range<usize>, run| {
            if run.len() > longest.len() { run } else { longest }
        },
    );
    Ok(longest.start)
}
