//! `similar_to_escape(pattern, escape)`: the regular expression of a pattern of `SIMILAR TO`.

use crate::functions::base::plain::Plain;
use crate::text::datafusion_errors::external;
use crate::text::similar_pattern::regular_expression;
use datafusion::arrow::array::{ArrayRef, AsArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The function, which statements do not call by its name.
pub fn similar_to_escape() -> ScalarUDF {
    Plain::variadic("similar_to_escape", DataType::Utf8, expressions).udf()
}

fn expressions(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [patterns, escapes] = args else { return exec_err!("a pattern and its escape character make an expression") };
    let (patterns, escapes) = (cast(patterns, &DataType::Utf8)?, cast(escapes, &DataType::Utf8)?);
    let mut expressions = StringBuilder::new();
    // Neighbouring rows often have the same pattern.
    let mut last: Option<(&str, &str, String)> = None;
    for pair in patterns.as_string::<i32>().iter().zip(escapes.as_string::<i32>()) {
        let (Some(pattern), Some(escape)) = pair else {
            expressions.append_null();
            continue;
        };
        let expression = match last.take() {
            Some((of, escaped_by, expression)) if of == pattern && escaped_by == escape => expression,
            _ => regular_expression(pattern, escape.chars().next()).map_err(external)?,
        };
        expressions.append_value(&expression);
        last = Some((pattern, escape, expression));
    }
    Ok(Arc::new(expressions.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::StringArray;

    #[test]
    fn each_row_has_its_pattern() {
        let patterns: ArrayRef = Arc::new(StringArray::from(vec![Some("a%"), Some("a%"), None, Some("b#%")]));
        let escapes: ArrayRef = Arc::new(StringArray::from(vec!["#"; 4]));
        let found = expressions(&[Arc::clone(&patterns), escapes]).unwrap();
        let expected = [Some("(?s)^(?:a.*)$"), Some("(?s)^(?:a.*)$"), None, Some("(?s)^(?:b\\%)$")];
        assert_eq!(found.as_string::<i32>().iter().collect::<Vec<_>>(), expected);
        let escapes: ArrayRef = Arc::new(StringArray::from(vec!["%"; 4]));
        assert!(expressions(&[patterns, escapes]).is_err());
    }
}
