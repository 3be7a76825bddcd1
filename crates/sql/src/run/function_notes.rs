//! What the functions of this project take, return and do: they check their arguments themselves, and DataFusion knows
//! nothing about them.

/// A function's name, arguments, result and description.
pub(super) type FunctionNote = (&'static str, &'static str, &'static str, &'static str);

/// Functions that statements are rewritten to, and nobody calls.
pub(super) const INTERNAL: [&str; 4] = ["asof_match", "in_range", "like_escape", "timezone_of_instant"];

pub(super) const NOTES: [FunctionNote; 46] = [
    ("age", "later [, earlier]", "INTERVAL", "Years, months, days and time between two times; from one to today."),
    ("date_bin", "width, t [, origin]", "by the arguments", "The start of the bucket that contains t."),
    ("date_diff", "unit, start, end", "BIGINT", "How many boundaries of a unit lie between two times."),
    ("date_trunc", "unit, t [, timezone]", "by the arguments", "The start of the unit that contains t."),
    ("datediff", "unit, start, end", "BIGINT", "The same as date_diff."),
    ("datetrunc", "unit, t [, timezone]", "by the arguments", "The same as date_trunc."),
    ("delta", "v, t", "DOUBLE", "The last value minus the first, in the order of time."),
    ("first", "v, t", "by the arguments", "The value of the row with the least t."),
    ("format", "template, ...", "TEXT", "The template with %s, %I and %L replaced by the other arguments."),
    ("generate_series", "from, to [, step]", "rows", "Integers or times from the first to the last."),
    ("histogram", "v, min, max, n", "BIGINT[]", "How many values lie in each of n equal parts of a range."),
    ("increase", "v, t", "DOUBLE", "How much a counter increased, over restarts."),
    ("interpolate", "x [, max_gap]", "DOUBLE", "In a gap, the value on the line between its neighbours."),
    ("isfinite", "t", "BOOLEAN", "Whether a time is not infinite."),
    ("justify_days", "interval", "INTERVAL", "30 days become a month."),
    ("justify_hours", "interval", "INTERVAL", "24 hours become a day."),
    ("justify_interval", "interval", "INTERVAL", "24 hours become a day, and 30 days a month."),
    ("last", "v, t", "by the arguments", "The value of the row with the greatest t."),
    ("locf", "x [, max_gap]", "by the arguments", "In a gap, the last value before it."),
    ("lttb", "t, v, n", "STRUCT[]", "At most n points that draw nearly the same line."),
    ("make_interval", "years => 0, ..., secs => 0", "INTERVAL", "An interval of its parts."),
    ("make_timestamp", "year, month, day, hour, minute, second", "TIMESTAMP", "A time of its parts."),
    ("make_timestamptz", "year, month, ..., second [, timezone]", "TIMESTAMP", "A time of its parts in a zone."),
    ("md5", "TEXT or BLOB", "TEXT", "The MD5 hash as hexadecimal digits."),
    ("mode", ") WITHIN GROUP (ORDER BY x", "by the arguments", "The most frequent value."),
    ("octet_length", "TEXT or BLOB", "INT", "The length in bytes."),
    ("overlaps", "start1, end1, start2, end2", "BOOLEAN", "Whether two periods have a time in common."),
    (
        "percentile_disc",
        "fraction) WITHIN GROUP (ORDER BY x",
        "by the arguments",
        "The value at a fraction of the order.",
    ),
    ("quote_ident", "TEXT", "TEXT", "The text as a name in SQL."),
    ("quote_literal", "TEXT", "TEXT", "The text as a literal in SQL."),
    ("quote_nullable", "TEXT", "TEXT", "The text as a literal in SQL; NULL as the word."),
    ("range", "from, to [, step]", "rows", "Integers or times from the first up to, and without, the last."),
    ("rate", "v, t", "DOUBLE", "The increase of a counter in a second."),
    ("sha224", "TEXT or BLOB", "BLOB", "The SHA-224 hash."),
    ("sha256", "TEXT or BLOB", "BLOB", "The SHA-256 hash."),
    ("sha384", "TEXT or BLOB", "BLOB", "The SHA-384 hash."),
    ("sha512", "TEXT or BLOB", "BLOB", "The SHA-512 hash."),
    ("sign", "DOUBLE", "DOUBLE", "-1, 0 or 1."),
    (
        "time_bucket",
        "width, t [, timezone] [, origin] [, offset]",
        "by the arguments",
        "The start of the bucket that contains t.",
    ),
    (
        "time_bucket_gapfill",
        "width, t [, timezone] [, start, finish]",
        "by the arguments",
        "The same in GROUP BY, with rows for buckets without any.",
    ),
    ("time_weight", "v, t [, method]", "DOUBLE", "The same as time_weighted_average."),
    ("time_weighted_average", "v, t [, method]", "DOUBLE", "The mean of values, each as long as it was valid."),
    ("timezone", "zone, t", "TIMESTAMP", "t AT TIME ZONE zone."),
    ("to_char", "t, pattern", "TEXT", "A time, date or interval in PostgreSQL's patterns or strftime's."),
    ("version", "", "TEXT", "PostgreSQL's version that the server speaks, and atsdb's own."),
    ("width_bucket", "x, low, high, count", "INT", "The number of the equal part of a range that x lies in."),
];
