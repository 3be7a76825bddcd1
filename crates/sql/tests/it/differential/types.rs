//! The types of values, their literals, and the dialects of statements.

use super::choice::Choice;

/// The type of an expression. All widths of integers are one type, and so are those of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    Int,
    Float,
    Numeric,
    Text,
    Bytea,
    Date,
    Timestamp,
    TimestampTz,
    /// A time of day.
    Time,
    Uuid,
    Interval,
    /// The enumerated type `mood`.
    Mood,
}

/// The labels of the enumerated type. Their order is not that of their texts.
const MOODS: [&str; 4] = ["sad", "ok", "happy", "angry"];

/// The database whose answers count as right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Only integers, floats and text. Includes statements that PostgreSQL does not support, such as `INSERT OR
    /// REPLACE`.
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Returns a random type of a column of a query.
    pub(crate) fn any_type(self, choice: &mut Choice) -> Type {
        use Type::{Bool, Bytea, Date, Float, Int, Mood, Numeric, Text, Time, Timestamp, TimestampTz, Uuid};
        match self {
            Self::Sqlite => [Int, Int, Float, Text][choice.below(4)],
            Self::Postgres => {
                let common = [Int, Int, Int, Float, Float, Text, Text, Text];
                let others = [Bool, Timestamp, Date, TimestampTz, Numeric, Bytea, Time, Uuid, Mood];
                let types = if choice.percent(50) { &common[..] } else { &others[..] };
                types[choice.below(types.len())]
            }
        }
    }

    /// The statements that declare the types of columns, when no table has them.
    pub(crate) fn declarations(self) -> Vec<String> {
        let labels = MOODS.map(|label| format!("'{label}'")).join(", ");
        match self {
            Self::Sqlite => Vec::new(),
            Self::Postgres => {
                vec!["DROP TYPE IF EXISTS mood".to_owned(), format!("CREATE TYPE mood AS ENUM ({labels})")]
            }
        }
    }
}

/// Returns the type name to which a literal `NULL` is cast.
pub(crate) fn name_of(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "BOOLEAN",
        Type::Int => "BIGINT",
        Type::Float => "DOUBLE PRECISION",
        Type::Numeric => "DECIMAL(20, 2)",
        Type::Text => "TEXT",
        Type::Bytea => "BYTEA",
        Type::Date => "DATE",
        Type::Timestamp => "TIMESTAMP",
        Type::TimestampTz => "TIMESTAMPTZ",
        Type::Time => "TIME",
        Type::Uuid => "UUID",
        Type::Interval => "INTERVAL",
        Type::Mood => "mood",
    }
}

/// Returns a literal in an expression. Floats are quarters and numbers are small, so that sums are exact.
pub(crate) fn literal(choice: &mut Choice, ty: Type, dialect: Dialect) -> String {
    if choice.percent(4) {
        return format!("CAST(NULL AS {})", name_of(ty));
    }
    match (ty, value(choice, ty)) {
        // A number with a point is a NUMERIC.
        (Type::Float, value) if dialect == Dialect::Postgres && choice.percent(70) => {
            format!("CAST({value} AS DOUBLE PRECISION)")
        }
        (Type::Numeric, value) if choice.percent(50) => format!("CAST({value} AS DECIMAL(10, 2))"),
        (Type::Bytea, value) => format!("CAST({value} AS BYTEA)"),
        (Type::Mood, value) => format!("CAST({value} AS mood)"),
        (_, value) => value,
    }
}

/// Returns a text without the name of a type, which what it is compared with makes a BOOLEAN.
pub(crate) fn boolean_text(choice: &mut Choice) -> String {
    format!("'{}'", choice.of(&["t", "f", "true", "FALSE", "yes", "no", "on", "off", "1", "0"]))
}

/// Returns a literal for `INSERT`, never NULL.
pub(crate) fn value(choice: &mut Choice, ty: Type) -> String {
    match ty {
        Type::Bool => choice.of(&["true", "false"]).to_owned(),
        Type::Int => (choice.below(41) as i64 - 20).to_string(),
        Type::Float | Type::Numeric => format!("{:.2}", (choice.below(81) as f64 - 40.0) / 4.0),
        Type::Text => {
            let texts =
                ["", "a", "b", "ab", "Ab", "kitchen", "x y", "日本", "o''k", "%", "a_b", "12", " b", "2024-02-29"];
            format!("'{}'", choice.of(&texts))
        }
        Type::Bytea => format!("'\\x{}'", choice.of(&["", "00", "61", "6162", "ff00", "0a"])),
        Type::Date => format!("DATE '{}'", date(choice)),
        Type::Timestamp => format!("TIMESTAMP '{}'", time(choice)),
        Type::TimestampTz => format!("TIMESTAMPTZ '{}+00'", time(choice)),
        Type::Time => format!("TIME '{}'", clock(choice)),
        Type::Uuid => {
            let numbers = [
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
                "00000000-0000-0000-0000-000000000000",
                "ffffffff-ffff-4fff-8fff-ffffffffffff",
            ];
            format!("CAST('{}' AS UUID)", choice.of(&numbers))
        }
        Type::Interval => {
            let lengths = [
                "1 day",
                "24 hours",
                "90 minutes",
                "36 hours",
                "2 days",
                "-1 hour",
                "1 month",
                "30 days",
                "0.5 seconds",
                "1 year 2 months",
                "-1 day 02:03:04",
                "3 weeks 4 days",
                "P1DT12H",
            ];
            format!("INTERVAL '{}'", choice.of(&lengths))
        }
        Type::Mood => format!("'{}'", choice.of(&MOODS)),
    }
}

fn date(choice: &mut Choice) -> String {
    match choice.below(12) {
        0 => choice.of(&["1999-12-31", "1970-01-01", "1969-07-20", "2100-03-01"]).to_owned(),
        _ => choice.of(&["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"]).to_owned(),
    }
}

fn time(choice: &mut Choice) -> String {
    let day = date(choice);
    format!("{day} {}", clock(choice))
}

fn clock(choice: &mut Choice) -> String {
    match choice.below(3) {
        0 => choice.of(&["00:00:00", "12:00:00", "23:59:59.999999", "00:00:00.5"]).to_owned(),
        _ => format!("{:02}:{:02}:{:02}", choice.below(24), choice.below(4) * 15, choice.below(2) * 30),
    }
}
