//! A histogram as text.

use super::sample::Histogram;
use std::fmt::{self, Display, Formatter};

/// A number as `%g` of C writes it, with as many digits as necessary.
struct Shortest(f64);

impl Display for Shortest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if value.is_nan() {
            return f.write_str("NaN");
        }
        if value.is_infinite() {
            return f.write_str(if value > 0.0 { "+Inf" } else { "-Inf" });
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        if matches!(exponent.parse::<i32>(), Ok(-4..=20)) {
            return write!(f, "{value}");
        }
        let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
        write!(f, "{mantissa}e{sign}{digits:0>2}")
    }
}

/// Writes the histogram as Prometheus does: `{count:4, sum:5, (0.5,1]:1, (1,2]:3}`, without empty buckets.
impl Display for Histogram {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{count:{}, sum:{}", Shortest(self.count), Shortest(self.sum))?;
        for bucket in self.buckets().iter().filter(|bucket| bucket.count != 0.0) {
            let open = if bucket.lower_inclusive { '[' } else { '(' };
            let close = if bucket.upper_inclusive { ']' } else { ')' };
            let (lower, upper, count) = (Shortest(bucket.lower), Shortest(bucket.upper), Shortest(bucket.count));
            write!(f, ", {open}{lower},{upper}{close}:{count}")?;
        }
        f.write_str("}")
    }
}
