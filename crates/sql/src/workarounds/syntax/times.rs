//! Words about times that DataFusion lacks or understands in another way: `AT TIME ZONE`, which it takes as a change of
//! the type, `OVERLAPS`, PostgreSQL's names of the current time, and words in texts that become times: `DATE 'today'`.
//!
//! No upstream issue known.

use super::{expression, set_arguments};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, TimezoneInfo, Value, ValueWithSpan,
};

/// Functions whose result is an instant.
const INSTANTS: [&str; 7] = [
    "now",
    "current_timestamp",
    "statement_timestamp",
    "clock_timestamp",
    "to_timestamp",
    "to_timestamp_seconds",
    "to_timestamp_millis",
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

/// The functions behind `AT TIME ZONE`, of local times and of instants.
const OF_LOCAL_TIME: &str = "timezone";
const OF_INSTANT: &str = "timezone_of_instant";

/// Rewrites an expression whose parts have been rewritten already.
pub(super) fn settle_times(expr: &mut Expr) -> Result<()> {
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
        }
        Expr::TypedString(literal) => {
            if let Some(time) = time_of_word(&literal.value, &literal.data_type)? {
                let data_type = literal.data_type.clone();
                let kind = CastKind::Cast;
                *expr = Expr::Cast { kind, expr: Box::new(time), data_type, array: false, format: None };
            }
        }
        _ => {}
    }
    Ok(())
}

/// The time that a word in a text stands for, before it gets the type of a date or a time.
fn time_of_word(text: &ValueWithSpan, data_type: &DataType) -> Result<Option<Expr>> {
    let (Value::SingleQuotedString(word), DataType::Date | DataType::Timestamp(..)) = (&text.value, data_type) else {
        return Ok(None);
    };
    let time = match word.trim().to_ascii_lowercase().as_str() {
        "now" => "now()",
        "today" => "current_date()",
        "tomorrow" => "(current_date() + INTERVAL '1 day')",
        "yesterday" => "(current_date() - INTERVAL '1 day')",
        "epoch" => "'1970-01-01'",
        _ => return Ok(None),
    };
    expression(time).map(Some)
}

/// The current time under other names, and the age up to today.
fn current_time(call: &Function) -> Result<Option<Expr>> {
    let [part] = call.name.0.as_slice() else { return Ok(None) };
    let Some(name) = part.as_ident().filter(|name| name.quote_style.is_none()) else { return Ok(None) };
    let text = match name.value.to_ascii_lowercase().as_str() {
        "transaction_timestamp" | "localtimestamp" => "now()",
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

/// Whether an expression is an instant, though its type has no zone.
fn is_instant(expr: &Expr) -> bool {
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
