//! Mathematical functions of floats that fail if an argument is outside of what they are defined for, or the result out
//! of range, as in PostgreSQL. DataFusion returns infinity, zero or NaN for most of them. A `REAL` is computed as a
//! `DOUBLE`, as PostgreSQL has these functions for no other float.
//!
//! Waits for [#22261](https://github.com/apache/datafusion/issues/22261) and
//! [#22271](https://github.com/apache/datafusion/issues/22271) (logarithms); for the others no upstream issue is known.

use super::float_range::{RangeRule, check_range};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::{Result, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The functions, the arguments that they are defined for, and the results that are out of range.
const FUNCTIONS: [(&str, Domain, Option<RangeRule>); 23] = [
    ("exp", Domain::All, Some(RangeRule::Exponential)),
    ("power", Domain::Power, Some(RangeRule::Power)),
    ("degrees", Domain::All, Some(RangeRule::Multiple)),
    ("radians", Domain::All, Some(RangeRule::Multiple)),
    ("sqrt", Domain::NotNegative, None),
    ("cbrt", Domain::All, None),
    ("ln", Domain::Positive, None),
    ("log", Domain::Logarithm, None),
    ("log10", Domain::Positive, None),
    ("log2", Domain::Positive, None),
    ("sin", Domain::Finite, None),
    ("cos", Domain::Finite, None),
    ("tan", Domain::Finite, None),
    ("cot", Domain::Finite, None),
    ("asin", Domain::UpToOne, None),
    ("acos", Domain::UpToOne, None),
    ("atan", Domain::All, None),
    ("sinh", Domain::All, None),
    ("cosh", Domain::All, None),
    ("tanh", Domain::All, None),
    ("asinh", Domain::All, None),
    ("acosh", Domain::FromOne, None),
    ("atanh", Domain::UpToOne, None),
];

/// Replaces DataFusion's functions.
pub(super) fn register(context: &SessionContext) {
    let state = context.state();
    for (name, domain, rule) in FUNCTIONS {
        if let Some(inner) = state.scalar_functions().get(name) {
            let signature = match domain {
                Domain::Power | Domain::Logarithm => inner.signature().clone(),
                _ => Signature::uniform(1, vec![DataType::Float64], Volatility::Immutable),
            };
            let function = FloatFunction { inner: Arc::clone(inner), domain, rule, signature };
            context.register_udf(ScalarUDF::new_from_impl(function));
        }
    }
}

/// The arguments that a function is defined for. It is defined for NaN, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Domain {
    All,
    Finite,
    NotNegative,
    Positive,
    UpToOne,
    FromOne,
    /// A positive number, and a base other than one. Decimals stay decimals.
    Logarithm,
    /// Zero has no negative power, and a negative number only whole ones.
    Power,
}

impl Domain {
    /// Returns the message about an argument outside of the domain; `None` if the argument is valid.
    fn fault_of(self, value: f64) -> Option<&'static str> {
        match self {
            Self::Finite if value.is_infinite() => Some("input is out of range"),
            Self::NotNegative if value < 0.0 => Some("cannot take square root of a negative number"),
            Self::Positive | Self::Logarithm if value == 0.0 => Some("cannot take logarithm of zero"),
            Self::Positive | Self::Logarithm if value < 0.0 => Some("cannot take logarithm of a negative number"),
            Self::UpToOne if value.abs() > 1.0 => Some("input is out of range"),
            Self::FromOne if value < 1.0 => Some("input is out of range"),
            _ => None,
        }
    }

    fn fault_of_pair(self, first: f64, second: f64) -> Option<&'static str> {
        match self {
            Self::Logarithm => {
                let fault = self.fault_of(first).or_else(|| self.fault_of(second));
                fault.or_else(|| (first == 1.0).then_some("division by zero"))
            }
            _ => Self::fault_of_power(first, second),
        }
    }

    fn fault_of_power(base: f64, exponent: f64) -> Option<&'static str> {
        match (base, exponent) {
            (base, exponent) if base == 0.0 && exponent < 0.0 => Some("zero raised to a negative power is undefined"),
            (base, exponent) if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 => {
                Some("a negative number raised to a non-integer power yields a complex result")
            }
            _ => None,
        }
    }

    /// Fails for arguments that the function is not defined for.
    fn check(self, args: &ScalarFunctionArgs) -> Result<()> {
        if self == Self::All {
            return Ok(());
        }
        let mut arrays = ColumnarValue::values_to_arrays(&args.args)?;
        if self == Self::Logarithm {
            for array in &mut arrays {
                *array = cast(array, &DataType::Float64)?;
            }
        }
        let fault = match arrays.iter().map(|array| array.as_primitive_opt::<Float64Type>()).collect::<Vec<_>>()[..] {
            [Some(values)] => values.iter().flatten().find_map(|value| self.fault_of(value)),
            [Some(bases), Some(exponents)] => {
                let pairs = bases.iter().zip(exponents).filter_map(|(base, exponent)| base.zip(exponent));
                pairs.into_iter().find_map(|(base, exponent)| self.fault_of_pair(base, exponent))
            }
            _ => None,
        };
        match fault {
            Some(fault) => exec_err!("{fault}"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatFunction {
    inner: Arc<ScalarUDF>,
    domain: Domain,
    rule: Option<RangeRule>,
    signature: Signature,
}

impl ScalarUDFImpl for FloatFunction {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn is_strict(&self) -> bool {
        true
    }

    /// DataFusion fails if the range of an argument is not known to be one that the function is defined for.
    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(self.inner.output_ordering(inputs).unwrap_or(SortProperties::Unordered))
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.domain.check(&args)?;
        let operands = args.args.clone();
        let results = self.inner.invoke_with_args(args)?;
        if let Some(rule) = self.rule {
            check_range(&results, &operands, rule)?;
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_defined_where_postgresql_defines_them() {
        assert!(Domain::Positive.fault_of(0.0).is_some() && Domain::Positive.fault_of(f64::NAN).is_none());
        assert!(Domain::NotNegative.fault_of(-0.0).is_none() && Domain::NotNegative.fault_of(-1.0).is_some());
        assert!(Domain::UpToOne.fault_of(-1.0).is_none() && Domain::UpToOne.fault_of(-1.1).is_some());
        assert!(Domain::Logarithm.fault_of_pair(2.0, 8.0).is_none());
        for (base, value) in [(0.0, 8.0), (1.0, 8.0), (2.0, 0.0), (2.0, -1.0)] {
            assert!(Domain::Logarithm.fault_of_pair(base, value).is_some(), "{base}, {value}");
        }
        assert!(Domain::FromOne.fault_of(1.0).is_none() && Domain::FromOne.fault_of(0.9).is_some());
        assert!(Domain::fault_of_power(-8.0, 0.5).is_some() && Domain::fault_of_power(-8.0, 3.0).is_none());
        assert!(Domain::fault_of_power(0.0, -1.0).is_some() && Domain::fault_of_power(-2.0, f64::INFINITY).is_none());
    }
}
