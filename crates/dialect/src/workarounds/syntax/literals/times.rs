//! Words about times that DataFusion lacks or understands in another way: `AT TIME ZONE`, which it takes as a change of
//! the type, `OVERLAPS`, PostgreSQL's names of the current time, and words in texts that become times: `DATE 'today'`.
//!
//! Waits for [#10368](https://github.com/apache/datafusion/issues/10368) and
//! [#25165](https://github.com/apache/datafusion/pull/25165) (`AT TIME ZONE`); for the others no upstream issue is
//! known.

use crate::text::errors::not_supported;
use crate::text::time_text::{RoundedFraction, TimeWord, parse_time, read_time};
use crate::workarounds::syntax::{expression, set_arguments};
use atsdb_core::{Result, TimeUnit};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, TimezoneInfo, Value, ValueWithSpan,
};

/// Functions whose result is an instant.
const INSTANTS: [&str; 9] = [
    "now",
    "current_timestamp",
    "statement_timestamp",
    "clock_timestamp",
    "to_timestamp",
    "to_timestamp_seconds",
    "to_timestamp_millis",
    "to_timestamp_micros",
    "to_timestamp_nanos",
];

/// Functions whose result is an instant if one of their arguments is.
const KEEPING: [&str; 13] = [
    "date_trunc",
    "date_bin",
    "time_bucket",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "min",
    "max",
    "first_value",
    "last_value",
    "lag",
    "lead",
];

/// The functions after `AT TIME ZONE`, of local times and of instants.
const OF_LOCAL_TIME: &str = "timezone";
const OF_INSTANT: &str = "timezone_of_instant";

/// The digits after the seconds of a time in nanoseconds.
const NANOSECOND_DIGITS: u64 = 9;

/// The function that makes an instant of a local time beside another instant.
const AS_OF: &str = "timezone_as_of";

/// Rewrites an expression whose parts have been rewritten already.
pub(crate) fn settle_times(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::AtTimeZone { timestamp, time_zone } => {
            let name = if is_instant(timestamp) { OF_INSTANT } else { OF_LOCAL_TIME };
            let mut call = expression(&format!("{name}(NULL, NULL)"))?;
            set_arguments(&mut call, vec![(**time_zone).clone(), (**timestamp).clone()]);
            *expr = call;
        }
        Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => {
            if let (Expr::Tuple(first), Expr::Tuple(second)) = (left.as_ref(), right.as_ref())
                && first.len() == 2
                && second.len() == 2
            {
                let mut call = expression("overlaps(NULL)")?;
                set_arguments(&mut call, first.iter().chain(second).cloned().collect());
                *expr = call;
            }
        }
        Expr::Function(call) => {
            if let Some(found) = current_time(call)? {
                *expr = found;
            } else if let Some(found) = cut_in_zone(call)? {
                *expr = found;
            } else if name_of(call) == OF_LOCAL_TIME && arguments(call).any(is_instant) {
                call.name = ObjectName::from(vec![Ident::new(OF_INSTANT)]);
            }
        }
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr: text, data_type, .. } => {
            if let Expr::Value(word) = text.as_ref()
                && let Some(time) = time_of_word(word, data_type)?
            {
                **text = time;
            }
            if let Expr::Value(text) = text.as_ref() {
                keep_nanoseconds(text, data_type);
            }
            return round_cast(expr);
        }
        Expr::TypedString(literal) => {
            keep_nanoseconds(&literal.value, &mut literal.data_type);
            if let Some(time) = time_of_word(&literal.value, &literal.data_type)? {
                let data_type = literal.data_type.clone();
                let kind = CastKind::Cast;
                *expr = Expr::Cast { kind, expr: Box::new(time), data_type, array: false, format: None };
            }
            return round_cast(expr);
        }
        _ => {}
    }
    Ok(())
}

/// The time that a word in a text stands for, before it gets the type of a date or a time.
fn time_of_word(text: &ValueWithSpan, data_type: &DataType) -> Result<Option<Expr>> {
    let Value::SingleQuotedString(word) = &text.value else { return Ok(None) };
    let time = match data_type {
        DataType::Date | DataType::Timestamp(..) => {
            if matches!(word.trim().to_ascii_lowercase().as_str(), "infinity" | "-infinity") {
                return Err(not_supported(format_args!("the time '{word}'"))
                    .with_hint("leave the bound out, or write NULL for a time that is not known"));
            }
            TimeWord::read(word).map(TimeWord::sql)
        }
        DataType::Time(..) => (TimeWord::read(word) == Some(TimeWord::Now)).then_some("current_time()"),
        _ => None,
    };
    time.map(expression).transpose()
}

/// Makes a literal that microseconds cannot count one of nanoseconds, if they can.
fn keep_nanoseconds(text: &ValueWithSpan, data_type: &mut DataType) {
    let Value::SingleQuotedString(text) = &text.value else { return };
    if let DataType::Timestamp(digits @ None, _) = data_type
        && read_time(text, TimeUnit::Microsecond).is_some_and(|time| time.rest != RoundedFraction::Nothing)
        && parse_time(text, TimeUnit::Nanosecond).is_some()
    {
        *digits = Some(NANOSECOND_DIGITS);
    }
}

/// Rounds a time that is cast to fewer digits after the seconds. A text without a fraction has none to round, and stays
/// one that a column is compared with.
fn round_cast(expr: &mut Expr) -> Result<()> {
    let (data_type, text) = match &*expr {
        Expr::Cast { expr: value, data_type, .. } => match value.as_ref() {
            Expr::Value(ValueWithSpan { value, .. }) => (data_type, Some(value)),
            _ => (data_type, None),
        },
        Expr::TypedString(literal) => (&literal.data_type, Some(&literal.value.value)),
        _ => return Ok(()),
    };
    let is_whole = matches!(text, Some(Value::SingleQuotedString(text)) if !text.contains(['.', ',']));
    let (digits, fine, coarse) = match data_type {
        DataType::Timestamp(Some(0 | 3), _) if is_whole => return Ok(()),
        DataType::Timestamp(Some(digits @ 0..=5), zone) => {
            let coarse = 3 * digits.div_ceil(3);
            (*digits, DataType::Timestamp(Some(6), *zone), DataType::Timestamp(Some(coarse), *zone))
        }
        DataType::Time(Some(digits @ 0..=6), zone) => {
            (*digits, DataType::Time(None, *zone), DataType::Time(None, *zone))
        }
        DataType::Interval { fields: None, precision: Some(digits @ 0..=6) } => {
            let interval = DataType::Interval { fields: None, precision: None };
            (*digits, interval.clone(), interval)
        }
        _ => return Ok(()),
    };
    let cast = |value: Expr, data_type: DataType| Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(value),
        data_type,
        array: false,
        format: None,
    };
    let value = match &*expr {
        Expr::Cast { expr: value, .. } => value.as_ref().clone(),
        Expr::TypedString(literal) => Expr::Value(literal.value.clone()),
        _ => return Ok(()),
    };
    let mut rounded = expression("round_time(NULL, NULL)")?;
    set_arguments(&mut rounded, vec![cast(value, fine), expression(&digits.to_string())?]);
    *expr = cast(rounded, coarse);
    Ok(())
}

/// Units of `date_trunc` for which an instant keeps its distance from UTC: an hour that clocks show twice is two hours.
const SHORT_UNITS: [&str; 25] = [
    "microsecond",
    "microseconds",
    "usec",
    "usecs",
    "us",
    "millisecond",
    "milliseconds",
    "msec",
    "msecs",
    "ms",
    "second",
    "seconds",
    "sec",
    "secs",
    "s",
    "minute",
    "minutes",
    "min",
    "mins",
    "m",
    "hour",
    "hours",
    "hr",
    "hrs",
    "h",
];

/// Returns whether an expression is the name of such a unit.
fn is_short_unit(unit: &Expr) -> bool {
    match unit {
        Expr::Nested(inner) => is_short_unit(inner),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(unit), .. }) => {
            SHORT_UNITS.iter().any(|short| unit.eq_ignore_ascii_case(short))
        }
        _ => false,
    }
}

/// `date_trunc(unit, instant, zone)`: the local time is cut, and becomes an instant again. `None` for other calls.
fn cut_in_zone(call: &Function) -> Result<Option<Expr>> {
    if name_of(call) != "date_trunc" {
        return Ok(None);
    }
    let passed: Vec<Expr> = arguments(call).cloned().collect();
    let [unit, instant, zone] = passed.as_slice() else { return Ok(None) };
    let mut local = expression(&format!("{OF_INSTANT}(NULL, NULL)"))?;
    set_arguments(&mut local, vec![zone.clone(), instant.clone()]);
    let mut cut = expression("date_trunc(NULL, NULL)")?;
    set_arguments(&mut cut, vec![unit.clone(), local]);
    let is_short = is_short_unit(unit);
    let mut again = expression(&format!("{}(NULL)", if is_short { AS_OF } else { OF_LOCAL_TIME }))?;
    let instant = is_short.then(|| instant.clone());
    set_arguments(&mut again, [zone.clone(), cut].into_iter().chain(instant).collect());
    Ok(Some(again))
}

/// The number of digits in `CURRENT_TIMESTAMP(3)`; `None` without one.
fn digits_of(call: &Function) -> Option<u64> {
    let mut digits = arguments(call);
    let mut argument = digits.next()?;
    while let Expr::Cast { expr: inner, .. } | Expr::Nested(inner) = argument {
        argument = inner;
    }
    match argument {
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => number.parse().ok(),
        _ => None,
    }
}

/// The current time under other names, and the age up to today.
fn current_time(call: &Function) -> Result<Option<Expr>> {
    let [part] = call.name.0.as_slice() else { return Ok(None) };
    let Some(name) = part.as_ident().filter(|name| name.quote_style.is_none()) else { return Ok(None) };
    let name = name.value.to_ascii_lowercase();
    if let Some(digits) = digits_of(call).map(|digits| digits.min(6)) {
        let text = match name.as_str() {
            "current_timestamp" => format!("CAST(now() AS TIMESTAMP({digits}) WITH TIME ZONE)"),
            "localtimestamp" => format!("CAST(now() AS TIMESTAMP({digits}))"),
            "current_time" | "localtime" => format!("CAST(current_time() AS TIME({digits}))"),
            _ => return Ok(None),
        };
        let mut time = expression(&text)?;
        round_cast(&mut time)?;
        return Ok(Some(time));
    }
    let text = match name.as_str() {
        "transaction_timestamp" => "now()",
        "localtimestamp" => "CAST(now() AS TIMESTAMP)",
        "localtime" => "current_time()",
        "age" => {
            let FunctionArguments::List(list) = &call.args else { return Ok(None) };
            let [FunctionArg::Unnamed(FunctionArgExpr::Expr(time))] = list.args.as_slice() else { return Ok(None) };
            let (mut age, today) = (expression("age(NULL, NULL)")?, expression("current_date()")?);
            set_arguments(&mut age, vec![today, time.clone()]);
            return Ok(Some(age));
        }
        _ => return Ok(None),
    };
    expression(text).map(Some)
}

/// Returns whether an expression is an instant, though its type has no zone.
pub(crate) fn is_instant(expr: &Expr) -> bool {
    let is_declared = |data_type: &DataType| {
        matches!(data_type, DataType::Timestamp(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone))
    };
    match expr {
        Expr::Nested(inner) => is_instant(inner),
        Expr::TypedString(literal) => is_declared(&literal.data_type),
        Expr::Cast { data_type, .. } => is_declared(data_type),
        Expr::BinaryOp { left, op: BinaryOperator::Plus | BinaryOperator::Minus, right } => {
            is_instant(left) || is_instant(right)
        }
        Expr::Function(call) => {
            let name = name_of(call);
            INSTANTS.contains(&name.as_str()) || KEEPING.contains(&name.as_str()) && arguments(call).any(is_instant)
        }
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|CaseWhen { result, .. }| result);
            results.chain(else_result.as_deref()).any(is_instant)
        }
        _ => false,
    }
}

fn name_of(call: &Function) -> String {
    call.name.to_string().to_ascii_lowercase()
}

fn arguments(call: &Function) -> impl Iterator<Item = &Expr> {
    let args = match &call.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}
