//! The unit of timestamps in a request.

/// The unit in which timestamps count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// A unit of this many nanoseconds.
    Unit(i64),
    /// Guessed from the size of each timestamp, as in InfluxDB 3: up to 5e9 seconds, up to 5e12 milliseconds, up to
    /// 5e15 microseconds, otherwise nanoseconds.
    Auto,
}

impl Precision {
    /// Nanoseconds.
    pub const NANOSECOND: Self = Self::Unit(1);

    /// Parses the names that InfluxDB 1, 2 and 3 use: `n`, `ns`, `u`, `us`, `ms`, `s`, `m`, `h`, `nanosecond` and so
    /// on, and `auto`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "n" | "ns" | "nanosecond" => Self::NANOSECOND,
            "u" | "us" | "µ" | "µs" | "microsecond" => Self::Unit(1_000),
            "ms" | "millisecond" => Self::Unit(1_000_000),
            "s" | "second" => Self::Unit(1_000_000_000),
            "m" => Self::Unit(60_000_000_000),
            "h" => Self::Unit(3_600_000_000_000),
            "auto" => Self::Auto,
            _ => return None,
        })
    }

    /// Converts a timestamp to nanoseconds. Returns `None` if it does not fit 64 bits.
    pub(crate) fn nanoseconds(self, timestamp: i64) -> Option<i64> {
        let unit = match self {
            Self::Unit(unit) => unit,
            Self::Auto => match timestamp.unsigned_abs() {
                0..5_000_000_000 => 1_000_000_000,
                5_000_000_000..5_000_000_000_000 => 1_000_000,
                5_000_000_000_000..5_000_000_000_000_000 => 1_000,
                _ => 1,
            },
        };
        timestamp.checked_mul(unit)
    }

    /// The present in nanoseconds, as coarse as the unit.
    pub(crate) fn truncate(self, now_ns: i64) -> i64 {
        match self {
            Self::Unit(unit) => now_ns - now_ns.rem_euclid(unit),
            Self::Auto => now_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Precision;

    #[test]
    fn a_timestamp_counts_its_unit() {
        let of = |name: &str, timestamp| Precision::parse(name).unwrap().nanoseconds(timestamp);
        assert_eq!(of("h", 2), Some(7_200_000_000_000));
        assert_eq!(of("m", -1), Some(-60_000_000_000));
        assert_eq!(of("s", i64::MAX), None);
        assert_eq!(of("auto", 1_700_000_000), Some(1_700_000_000_000_000_000));
        assert_eq!(of("auto", 1_700_000_000_000), Some(1_700_000_000_000_000_000));
        assert_eq!(of("auto", 1_700_000_000_000_000_001), Some(1_700_000_000_000_000_001));
        assert_eq!(Precision::parse("fortnight"), None);
    }

    #[test]
    fn the_present_is_as_coarse_as_the_unit() {
        assert_eq!(Precision::parse("s").unwrap().truncate(1_999_999_999), 1_000_000_000);
        assert_eq!(Precision::parse("s").unwrap().truncate(-1), -1_000_000_000);
        assert_eq!(Precision::NANOSECOND.truncate(7), 7);
    }
}
