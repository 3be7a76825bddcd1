//! `VALUES` with texts beside times, booleans, bytes or arrays in a column. In PostgreSQL a text in quotes beside a
//! time is such a time; DataFusion finds no type for both.
//!
//! Waits for [#23041](https://github.com/apache/datafusion/issues/23041).

use datafusion::sql::sqlparser::ast::{CastKind, DataType, Expr, Value, Values};

/// Casts the texts in quotes among such values of a column, before what is in the rows is visited.
pub(crate) fn type_rows(values: &mut Values) {
    let width = values.rows.iter().map(|row| row.len()).max().unwrap_or(0);
    for at in 0..width {
        let types: Vec<DataType> = values.rows.iter().filter_map(|row| known_type(row.get(at)?)).collect();
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

/// The type of an expression that is known to be a time, a day, an interval, a boolean, bytes or an array.
fn known_type(expr: &Expr) -> Option<DataType> {
    let of = match expr {
        Expr::Nested(inner) => return known_type(inner),
        Expr::Interval(_) => return Some(DataType::Interval { fields: None, precision: None }),
        Expr::Value(value) if matches!(value.value, Value::Boolean(_)) => return Some(DataType::Boolean),
        Expr::Cast { data_type, .. } => data_type,
        Expr::TypedString(typed) => &typed.data_type,
        _ => return None,
    };
    let is_time =
        matches!(of, DataType::Date | DataType::Time(..) | DataType::Timestamp(..) | DataType::Interval { .. });
    let is_other = matches!(of, DataType::Bool | DataType::Boolean | DataType::Bytea | DataType::Array(_));
    (is_time || is_other).then(|| of.clone())
}
