//! Statements that change rows: what they set stays small, so that nothing overflows however often they run.

use super::choice::Choice;
use super::expressions::{Scope, Type, condition, expression, literal};
use super::queries::TABLES;
use Type::{Float, Int, Text};

/// `INSERT`, `UPDATE` or `DELETE`.
pub(crate) fn change(choice: &mut Choice) -> String {
    match choice.below(6) {
        0 | 1 => insert(choice),
        2 => delete(choice),
        _ => update(choice),
    }
}

fn insert(choice: &mut Choice) -> String {
    let rows: Vec<String> = (0..1 + choice.below(4))
        .map(|_| format!("({}, {}, {})", 86_400 * choice.below(4), literal(choice, Int), literal(choice, Text)))
        .collect();
    format!("INSERT INTO a (at, k, s) VALUES {}", rows.join(", "))
}

/// Few rows: the tables are to last for a run.
fn delete(choice: &mut Choice) -> String {
    let (table, columns) = TABLES[choice.below(2)];
    let scope = Scope::of(columns, "l");
    let few = match table {
        "a" if choice.percent(30) => format!("l.at BETWEEN {0} AND {0} + 9999", choice.below(4 * 86_400)),
        _ => format!("l.k = {}", choice.below(8)),
    };
    match choice.below(3) {
        0 => format!("DELETE FROM {table} AS l WHERE {few}"),
        1 => format!("DELETE FROM {table} AS l WHERE {few} AND {}", condition(choice, &scope, 2)),
        _ => format!("DELETE FROM {table} AS l WHERE {few} AND l.k IN (SELECT k FROM c)"),
    }
}

fn update(choice: &mut Choice) -> String {
    let (table, columns) = TABLES[choice.below(2)];
    let scope = Scope::of(columns, "l");
    let (number, float) = if table == "a" { ("x", "f") } else { ("y", "g") };
    let mut set = vec![match choice.below(5) {
        0 => format!("{number} = ({}) % 100", expression(choice, &scope, Int, 2)),
        1 => format!(
            "{float} = CASE WHEN {} THEN {} ELSE l.{float} END",
            condition(choice, &scope, 1),
            literal(choice, Float)
        ),
        2 => format!("{number} = l.k, k = {}", choice.below(8)),
        3 => format!("s = {}", literal(choice, Text)),
        _ => format!("{number} = (SELECT count(*) FROM c WHERE c.k = l.k)"),
    }];
    if table == "a" {
        match choice.below(4) {
            0 => set.push(format!("m = {}", choice.of(&["'red'", "'blue'", "l.m", "NULL"]))),
            1 => set.push(format!("at = {}", choice.of(&["l.at + 3600", "86400", "abs(l.at - 50000)"]))),
            _ => {}
        }
    }
    let set = set.join(", ");
    match choice.below(4) {
        0 => format!("UPDATE {table} AS l SET {set}"),
        1 if !set.contains("SELECT") => format!(
            "UPDATE {table} AS l SET {set} FROM (SELECT k AS rk, count(*) AS n FROM b GROUP BY k) AS r WHERE r.rk = l.k AND r.n > {}",
            choice.below(5)
        ),
        _ => format!("UPDATE {table} AS l SET {set} WHERE {}", condition(choice, &scope, 2)),
    }
}
