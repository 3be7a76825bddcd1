//! The functions and the types of their arguments.

use super::value_type::ValueType::{self, Matrix, Scalar, Text, Vector};

/// A function.
#[derive(Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// The types of its arguments. The last one also applies to all further arguments.
    pub args: &'static [ValueType],
    /// The minimum number of arguments.
    pub args_min: usize,
    /// The maximum number of arguments.
    pub args_max: usize,
    /// The type of its result.
    pub result: ValueType,
}

impl Function {
    /// The function of a name.
    pub fn of(name: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }
}

const fn fixed(name: &'static str, args: &'static [ValueType], result: ValueType) -> Function {
    Function { name, args, args_min: args.len(), args_max: args.len(), result }
}

const fn varying(name: &'static str, args: &'static [ValueType], min: usize, max: usize) -> Function {
    Function { name, args, args_min: min, args_max: max, result: Vector }
}

/// A function of the values of an instant vector.
const fn of_vector(name: &'static str) -> Function {
    fixed(name, &[Vector], Vector)
}

/// A function of the samples of a range vector.
const fn of_range(name: &'static str) -> Function {
    fixed(name, &[Matrix], Vector)
}

/// A function of times: the values of an instant vector, or else the time of the evaluation.
const fn of_date(name: &'static str) -> Function {
    varying(name, &[Vector], 0, 1)
}

static FUNCTIONS: [Function; 91] = [
    of_vector("abs"),
    of_vector("absent"),
    of_range("absent_over_time"),
    of_vector("acos"),
    of_vector("acosh"),
    of_vector("asin"),
    of_vector("asinh"),
    of_vector("atan"),
    of_vector("atanh"),
    of_range("avg_over_time"),
    of_vector("ceil"),
    of_range("changes"),
    fixed("clamp", &[Vector, Scalar, Scalar], Vector),
    fixed("clamp_max", &[Vector, Scalar], Vector),
    fixed("clamp_min", &[Vector, Scalar], Vector),
    of_vector("cos"),
    of_vector("cosh"),
    of_range("count_over_time"),
    of_date("day_of_month"),
    of_date("day_of_week"),
    of_date("day_of_year"),
    of_date("days_in_month"),
    of_vector("deg"),
    of_range("delta"),
    of_range("deriv"),
    fixed("double_exponential_smoothing", &[Matrix, Scalar, Scalar], Vector),
    fixed("end", &[], Scalar),
    of_vector("exp"),
    of_range("first_over_time"),
    of_vector("floor"),
    of_vector("histogram_avg"),
    of_vector("histogram_count"),
    fixed("histogram_fraction", &[Scalar, Scalar, Vector], Vector),
    fixed("histogram_quantile", &[Scalar, Vector], Vector),
    varying("histogram_quantiles", &[Vector, Text, Scalar], 3, 12),
    of_vector("histogram_stddev"),
    of_vector("histogram_stdvar"),
    of_vector("histogram_sum"),
    of_date("hour"),
    of_range("idelta"),
    of_range("increase"),
    varying("info", &[Vector, Vector], 1, 2),
    of_range("irate"),
    varying("label_join", &[Vector, Text, Text, Text], 3, usize::MAX),
    fixed("label_replace", &[Vector, Text, Text, Text, Text], Vector),
    of_range("last_over_time"),
    of_vector("ln"),
    of_vector("log10"),
    of_vector("log2"),
    of_range("mad_over_time"),
    fixed("max_of", &[Scalar, Scalar], Scalar),
    of_range("max_over_time"),
    fixed("min_of", &[Scalar, Scalar], Scalar),
    of_range("min_over_time"),
    of_date("minute"),
    of_date("month"),
    fixed("pi", &[], Scalar),
    fixed("predict_linear", &[Matrix, Scalar], Vector),
    of_range("present_over_time"),
    fixed("quantile_over_time", &[Scalar, Matrix], Vector),
    of_vector("rad"),
    fixed("range", &[], Scalar),
    of_range("rate"),
    of_range("resets"),
    varying("round", &[Vector, Scalar], 1, 2),
    fixed("scalar", &[Vector], Scalar),
    of_vector("sgn"),
    of_vector("sin"),
    of_vector("sinh"),
    of_vector("sort"),
    varying("sort_by_label", &[Vector, Text], 1, usize::MAX),
    varying("sort_by_label_desc", &[Vector, Text], 1, usize::MAX),
    of_vector("sort_desc"),
    of_vector("sqrt"),
    fixed("start", &[], Scalar),
    of_vector("start_timestamp"),
    of_range("stddev_over_time"),
    of_range("stdvar_over_time"),
    fixed("step", &[], Scalar),
    of_range("sum_over_time"),
    of_vector("tan"),
    of_vector("tanh"),
    fixed("time", &[], Scalar),
    of_vector("timestamp"),
    of_range("ts_of_first_over_time"),
    of_range("ts_of_last_over_time"),
    of_range("ts_of_max_over_time"),
    of_range("ts_of_min_over_time"),
    fixed("vector", &[Scalar], Vector),
    of_date("year"),
    // The name of double_exponential_smoothing in Prometheus 2.
    fixed("holt_winters", &[Matrix, Scalar, Scalar], Vector),
];
