//! `pg_operator`: PostgreSQL's operators that statements may use.

use super::super::relation::Row;
use super::super::value::Value;
use super::procedures::named;
use super::roles::OWNER;
use super::row::row;
use std::sync::LazyLock;

/// One operator a line: its number, its name, whether it is infix (`b`) or a prefix (`l`), whether joins may merge and
/// hash by it, the types of its operands and of its result, its commutator and its negator; then its function, and the
/// functions that estimate how many rows it selects from one and from two tables, each with number and name.
const LIST: &str = include_str!("operators.txt");

/// The rows, which are the same in every database.
static OPERATORS: LazyLock<Vec<Row>> = LazyLock::new(|| LIST.lines().filter_map(operator).collect());

pub(super) fn operators() -> Vec<Row> {
    OPERATORS.clone()
}

fn operator(line: &str) -> Option<Row> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [number, name, kind, merges, hashes, left, right, result, commutator, negator, functions @ ..] =
        parts.as_slice()
    else {
        return None;
    };
    let [function, function_name, of_one, of_one_name, of_two, of_two_name] = functions else { return None };
    let int = |text: &str| text.parse::<i64>().ok();
    let oid = |text: &str| Some(Value::Int(int(text)?));
    Some(row(
        "pg_catalog",
        "pg_operator",
        &[
            ("oid", oid(number)?),
            ("oprname", Value::text(*name)),
            ("oprnamespace", Value::Int(11)),
            ("oprowner", Value::Int(OWNER)),
            ("oprkind", Value::text(*kind)),
            ("oprcanmerge", Value::Bool(*merges == "t")),
            ("oprcanhash", Value::Bool(*hashes == "t")),
            ("oprleft", oid(left)?),
            ("oprright", oid(right)?),
            ("oprresult", oid(result)?),
            ("oprcom", oid(commutator)?),
            ("oprnegate", oid(negator)?),
            ("oprcode", named((int(function)?, *function_name))),
            ("oprrest", named((int(of_one)?, *of_one_name))),
            ("oprjoin", named((int(of_two)?, *of_two_name))),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_operator_and_related_ones_are_listed() {
        let rows = operators();
        assert_eq!(rows.len(), LIST.lines().count());
        let numbers: Vec<i64> = rows.iter().filter_map(|row| row[0].int()).collect();
        assert!(numbers.is_sorted());
        for row in &rows {
            for related in [&row[10], &row[11]] {
                let related = related.int().unwrap();
                assert!(related == 0 || numbers.contains(&related), "{row:?}");
            }
        }
    }
}
