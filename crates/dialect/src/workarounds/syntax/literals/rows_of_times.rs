//! `VALUES` with times and texts in a column. In PostgreSQL a text in quotes beside a time is such a time; DataFusion
//! finds no type for both.
//!
//! Waits for [#23041](https://github.com/apache/datafusion/issues/23041).

use datafusion::sql::sqlparser::ast::{CastKind, DataType, Expr, Value, Values};

/// Casts the texts in quotes among the times of a column, before what is in the rows is visited.
pub(crate) fn unite_times(values: &mut Values) {
    let width = values.rows.iter().map(|row| row.len()).max().unwrap_or(0);
    for at in 0..width {
        let types: Vec<DataType> = values.rows.iter().filter_map(|row| time_type(row.get(at)?)).collect();
        // Days beside times become times.
        let moment = types.iter().find(|of| matches!(of, DataType::Timestamp(..)));
        let Some(wanted) = moment.or(types.first()) else { continue };
        for value in values.rows.iter_mut().filter_map(|row| row.get_mut(at)) {
            if matches!(&*value, Expr::Value(text) if matches!(text.value, Value::SingleQuotedString(_))) {
                let expr = Box::new(Expr::Nested(Box::new(value.clone())));
                let data_type = wanted.clone();
                *value = Expr::Cast { kind: CastKind::Cast, expr, data_type, array: false, format: None };
            }
        }
    }
}

/// The type of an expression that is known to be a time, a day or an interval.
fn time_type(expr: &Expr) -> Option<DataType> {
    let of = match expr {
        Expr::Nested(inner) => return time_type(inner),
        Expr::Interval(_) => return Some(DataType::Interval { fields: None, precision: None }),
        Expr::Cast { data_type, .. } => data_type,
        Expr::TypedString(typed) => &typed.data_type,
        _ => return None,
    };
    let is_time =
        matches!(of, DataType::Date | DataType::Time(..) | DataType::Timestamp(..) | DataType::Interval { .. });
    is_time.then(|| of.clone())
}
