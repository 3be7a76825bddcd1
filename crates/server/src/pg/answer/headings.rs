//! The headings of answers. The store heads an expression by its text, PostgreSQL by the name of its function or type.

use crate::pg::catalogue::name_of_expression;
use crate::pg::wire::outgoing::ResultColumn;
use atsdb::sql::items_of_answer;
use datafusion::sql::sqlparser::ast::{Expr, SelectItem, Statement};

/// Gives the columns of a statement's answer PostgreSQL's headings.
pub(super) fn set_headings(statement: &Statement, columns: &mut [ResultColumn]) {
    let items = items_of_answer(statement).unwrap_or_default();
    let stars: Vec<usize> = (0..items.len()).filter(|position| is_star(&items[*position])).collect();
    // How many columns a star stands for is known if there is one. Columns between several ones keep their headings.
    let (Some(first), Some(last)) = (stars.first(), stars.last()) else {
        if items.len() == columns.len() {
            items.iter().zip(columns).for_each(|(item, column)| set_heading(item, column));
        }
        return;
    };
    let behind = items.len() - last - 1;
    if first + behind <= columns.len() {
        let start = columns.len() - behind;
        items[..*first].iter().zip(&mut *columns).for_each(|(item, column)| set_heading(item, column));
        items[last + 1..].iter().zip(&mut columns[start..]).for_each(|(item, column)| set_heading(item, column));
    }
}

fn set_heading(item: &SelectItem, column: &mut ResultColumn) {
    // The name of a column is as it was declared.
    if let SelectItem::UnnamedExpr(expr) = item
        && !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
    {
        column.name = name_of_expression(expr);
    }
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// Returns whether a heading cannot be the text of an expression.
pub(super) fn is_surely_a_name(heading: &str) -> bool {
    let is_constant = ["true", "false", "null"].iter().any(|constant| heading.eq_ignore_ascii_case(constant));
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !is_constant && heading.starts_with(|first: char| first.is_ascii_alphabetic()) && heading.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pg::types::known;
    use atsdb::sql::parse_answer;

    fn headings(statement: &str, columns: &[&str]) -> Vec<String> {
        let column = |name: &&str| ResultColumn::new(*name, known::TEXT);
        let mut columns: Vec<ResultColumn> = columns.iter().map(column).collect();
        set_headings(&parse_answer(statement).unwrap(), &mut columns);
        columns.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn an_expression_is_headed_by_its_function_or_type() {
        let statement = "SELECT count(*), 1 + 1, x::date, '5'::int, CASE WHEN a THEN 1 END, true, Sensor FROM t";
        let texts = ["count(*)", "1 + 1", "x::DATE", "'5'::INT", "CASE", "true", "Sensor"];
        let expected = ["count", "?column?", "x", "int4", "case", "bool", "Sensor"];
        assert_eq!(headings(statement, &texts), expected);
    }

    #[test]
    fn columns_before_and_behind_stars_are_found() {
        let columns = ["max(a)", "a", "b", "a", "min(b)", "c", "1"];
        let one = headings("SELECT max(a), *, 1 FROM t", &columns);
        assert_eq!(one, ["max", "a", "b", "a", "min(b)", "c", "?column?"]);
        let several = headings("SELECT max(a), t.*, min(b), u.*, 1 FROM t, u", &columns);
        assert_eq!(several, ["max", "a", "b", "a", "min(b)", "c", "?column?"]);
    }

    #[test]
    fn what_returning_computes_has_headings() {
        assert_eq!(headings("DELETE FROM t RETURNING id, id + 1", &["id", "id + 1"]), ["id", "?column?"]);
    }
}
