//! Functions of one number.

/// The function with this name, which is applied to each value of an instant vector.
pub(super) fn element_function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "acos" => f64::acos,
        "acosh" => f64::acosh,
        "asin" => f64::asin,
        "asinh" => f64::asinh,
        "atan" => f64::atan,
        "atanh" => f64::atanh,
        "ceil" => f64::ceil,
        "cos" => f64::cos,
        "cosh" => f64::cosh,
        "deg" => |value| value * 180.0 / std::f64::consts::PI,
        "exp" => f64::exp,
        "floor" => f64::floor,
        "ln" => f64::ln,
        "log10" => f64::log10,
        "log2" => f64::log2,
        "rad" => |value| value * std::f64::consts::PI / 180.0,
        "sgn" => |value| {
            if value < 0.0 {
                -1.0
            } else if value > 0.0 {
                1.0
            } else {
                value
            }
        },
        "sin" => f64::sin,
        "sinh" => f64::sinh,
        "sqrt" => f64::sqrt,
        "tan" => f64::tan,
        "tanh" => f64::tanh,
        _ => return None,
    })
}

/// The larger of two numbers. NaN if one is NaN, unless the other is positive infinity.
pub(super) fn larger(one: f64, other: f64) -> f64 {
    if one == f64::INFINITY || other == f64::INFINITY {
        f64::INFINITY
    } else if one.is_nan() || other.is_nan() {
        f64::NAN
    } else {
        one.max(other)
    }
}

/// The smaller of two numbers. NaN if one is NaN, unless the other is negative infinity.
pub(super) fn smaller(one: f64, other: f64) -> f64 {
    -larger(-one, -other)
}

/// A number as Prometheus shows it in labels and messages.
pub(crate) fn shown(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".to_owned() } else { "-Inf".to_owned() };
    }
    format!("{value}")
}

/// A number as OpenMetrics writes it: with a decimal point or an exponent.
pub(super) fn shown_open_metrics(value: f64) -> String {
    if value.is_nan() || value.is_infinite() {
        return shown(value);
    }
    let exponent = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if !(-4..21).contains(&exponent) {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    let text = format!("{value}");
    if text.contains('.') { text } else { format!("{text}.0") }
}

/// Converts a value to seconds. Values out of range become the earliest or the latest time.
pub(super) fn seconds(value: f64) -> i64 {
    // Dates beyond this are not dates any more.
    const SECONDS_MAX: f64 = 1e15;
    value.clamp(-SECONDS_MAX, SECONDS_MAX) as i64
}
