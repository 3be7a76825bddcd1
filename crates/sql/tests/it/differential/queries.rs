//! Statements: what the generator can ask. A new kind of statement is one more arm of [`next_step`].

use super::changes::change;
use super::choice::Choice;
use super::expressions::{Scope, Type, any_type, condition, expression, literal};
use super::keys;
use Type::{Float, Int, Text};

/// One statement of a run.
pub(crate) enum Step {
    /// Compared; in order when that is said to the last column.
    Query { sql: String, is_ordered: bool },
    /// Executed on both sides, one after the other.
    Changes(Vec<String>),
}

/// `a` is a series table of a few days, `b` a plain one, `c` is small enough for cross joins.
pub(crate) const TABLES: [(&str, &[(&str, Type)]); 3] = [
    ("a", &[("at", Int), ("k", Int), ("x", Int), ("f", Float), ("s", Text), ("m", Text)]),
    ("b", &[("k", Int), ("y", Int), ("g", Float), ("s", Text)]),
    ("c", &[("k", Int), ("s", Text)]),
];

/// A query and the types of its columns, which are called `c0`, `c1`, ...
struct Query {
    sql: String,
    types: Vec<Type>,
}

pub(crate) fn next_step(choice: &mut Choice) -> Step {
    if choice.percent(15) {
        return match choice.below(3) {
            0 => Step::Changes(vec![change(choice)]),
            1 => Step::Changes(vec![keys::insert(choice)]),
            _ => Step::Changes(keys::transaction(choice)),
        };
    }
    if choice.percent(10) {
        let returning = format!("{} RETURNING part, n + 1", keys::insert(choice));
        let sql = if choice.percent(30) { returning } else { keys::WHOLE.to_owned() };
        return Step::Query { sql, is_ordered: false };
    }
    let query = query(choice, 1);
    let columns: Vec<usize> = (0..query.types.len()).collect();
    match choice.below(3) {
        0 => Step::Query { sql: query.sql, is_ordered: false },
        _ => {
            let order: Vec<String> = columns.iter().map(|column| sort_key(choice, &format!("c{column}"))).collect();
            let mut sql = format!("SELECT * FROM ({}) AS d ORDER BY {}", query.sql, order.join(", "));
            if choice.percent(50) {
                sql.push_str(&format!(" LIMIT {}", choice.below(12)));
                if choice.percent(50) {
                    sql.push_str(&format!(" OFFSET {}", choice.below(8)));
                }
            }
            Step::Query { sql, is_ordered: true }
        }
    }
}

fn sort_key(choice: &mut Choice, column: &str) -> String {
    format!("{column} {} NULLS {}", choice.of(&["ASC", "DESC"]), choice.of(&["FIRST", "LAST"]))
}

fn query(choice: &mut Choice, depth: usize) -> Query {
    match choice.below(10) {
        0..=2 => plain(choice, depth),
        3..=5 => grouped(choice, depth),
        6 => windowed(choice),
        7 | 8 => set_operation(choice),
        _ => plain(choice, 0),
    }
}

fn plain(choice: &mut Choice, depth: usize) -> Query {
    let (from, scope) = source(choice, depth);
    let types: Vec<Type> = (0..1 + choice.below(4)).map(|_| any_type(choice)).collect();
    let items: Vec<String> = types.iter().map(|ty| item(choice, &scope, *ty)).collect();
    let distinct = if choice.percent(25) { "DISTINCT " } else { "" };
    let filter = filter(choice, &scope);
    Query { sql: format!("SELECT {distinct}{} FROM {from}{filter}", named(&items)), types }
}

/// A column of the result: now and then a scalar subquery.
fn item(choice: &mut Choice, scope: &Scope, ty: Type) -> String {
    if ty != Int || choice.percent(90) {
        return expression(choice, scope, ty, 2);
    }
    let inner = Scope::of(TABLES[1].1, "sub");
    let outer = expression(choice, scope, Int, 0);
    let aggregate = choice.of(&["max", "min", "sum", "count"]);
    match choice.percent(50) && outer.contains('.') {
        true => format!("(SELECT {aggregate}(sub.y) FROM b AS sub WHERE sub.k = {outer})"),
        false => format!("(SELECT {aggregate}(sub.y) FROM b AS sub WHERE {})", condition(choice, &inner, 1)),
    }
}

fn filter(choice: &mut Choice, scope: &Scope) -> String {
    if choice.percent(15) {
        return String::new();
    }
    let plain = condition(choice, scope, 3);
    if choice.percent(80) {
        return format!(" WHERE {plain}");
    }
    let inner = Scope::of(TABLES[1].1, "sub");
    let not = choice.of(&["", "NOT "]);
    let outer = expression(choice, scope, Int, 0);
    let subquery = match choice.below(2) {
        0 => format!("{outer} {not}IN (SELECT sub.k FROM b AS sub WHERE {})", condition(choice, &inner, 1)),
        _ => format!("{not}EXISTS (SELECT 1 FROM b AS sub WHERE sub.k = {outer} AND {})", condition(choice, &inner, 1)),
    };
    format!(" WHERE {plain} AND {subquery}")
}

/// What follows FROM, and its columns.
fn source(choice: &mut Choice, depth: usize) -> (String, Scope) {
    let (table, columns) = TABLES[choice.below(2)];
    let left = Scope::of(columns, "l");
    match choice.below(8) {
        0..=2 => (format!("{table} AS l"), left),
        3 | 4 => {
            let (other, columns) = TABLES[1 + choice.below(2)];
            let right = Scope::of(columns, "r");
            let both = left.and(&right);
            let join = choice.of(&["JOIN", "LEFT JOIN"]);
            let more = match choice.percent(30) {
                true => format!(" AND {}", condition(choice, &both, 1)),
                false => String::new(),
            };
            let on = choice.of(&["l.k = r.k", "l.s = r.s", "l.k = r.k AND l.s = r.s", "l.k + 1 = r.k"]);
            (format!("{table} AS l {join} {other} AS r ON {on}{more}"), both)
        }
        5 => {
            let right = Scope::of(TABLES[2].1, "r");
            (format!("{table} AS l CROSS JOIN c AS r"), left.and(&right))
        }
        6 if depth > 0 => {
            let inner = query(choice, depth - 1);
            let columns = inner.types.iter().enumerate().map(|(position, ty)| (format!("d.c{position}"), *ty));
            (format!("({}) AS d", inner.sql), Scope(columns.collect()))
        }
        _ => (format!("{table} AS l"), left),
    }
}

fn grouped(choice: &mut Choice, depth: usize) -> Query {
    let (from, scope) = source(choice, depth);
    let mut keys: Vec<(String, Type)> = Vec::new();
    for _ in 0..choice.below(3) {
        let ty = any_type(choice);
        let key = expression(choice, &scope, ty, 1);
        // A literal in GROUP BY is the number of a column.
        if scope.0.iter().any(|(column, _)| key.contains(column)) {
            keys.push((key, ty));
        }
    }
    let aggregates: Vec<(String, Type)> = (0..1 + choice.below(3)).map(|_| aggregate(choice, &scope)).collect();
    let (mut items, mut types): (Vec<String>, Vec<Type>) = keys.iter().cloned().unzip();
    items.extend(aggregates.iter().map(|(sql, _)| sql.clone()));
    types.extend(aggregates.iter().map(|(_, ty)| *ty));
    let mut sql = format!("SELECT {} FROM {from}{}", named(&items), filter(choice, &scope));
    if !keys.is_empty() {
        let keys: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
        sql.push_str(&format!(" GROUP BY {}", keys.join(", ")));
        if choice.percent(30) {
            let (aggregate, ty) = aggregate(choice, &scope);
            sql.push_str(&format!(" HAVING {aggregate} {} {}", choice.of(&[">", "<=", "<>"]), literal(choice, ty)));
        }
    }
    Query { sql, types }
}

fn aggregate(choice: &mut Choice, scope: &Scope) -> (String, Type) {
    let ty = any_type(choice);
    let argument = expression(choice, scope, ty, 1);
    match choice.below(7) {
        0 => ("count(*)".to_owned(), Int),
        1 => (format!("count({argument})"), Int),
        2 => (format!("count(DISTINCT {argument})"), Int),
        3 => (format!("min({argument})"), ty),
        4 => (format!("max({argument})"), ty),
        5 if ty != Text => (format!("avg({argument})"), Float),
        6 if ty != Text => (format!("sum(CASE WHEN {} THEN {argument} END)", condition(choice, scope, 1)), ty),
        _ if ty != Text => (format!("sum({argument})"), ty),
        _ => ("count(*)".to_owned(), Int),
    }
}

/// Window functions whose order is total, by every column of the table.
fn windowed(choice: &mut Choice) -> Query {
    let (table, columns) = TABLES[choice.below(2)];
    let scope = Scope::of(columns, "l");
    let order: Vec<String> = columns.iter().map(|(name, _)| sort_key(choice, &format!("l.{name}"))).collect();
    let partition = choice.of(&["", "PARTITION BY l.k ", "PARTITION BY l.s ", "PARTITION BY l.k % 3 "]);
    let window = format!("{partition}ORDER BY {}", order.join(", "));
    let value = expression(choice, &scope, Int, 1);
    let (function, ty) = match choice.below(7) {
        0 => (format!("row_number() OVER ({window})"), Int),
        1 => (format!("lag({value}, {}) OVER ({window})", 1 + choice.below(3)), Int),
        2 => (format!("lead({value}) OVER ({window})"), Int),
        3 => (format!("sum({value}) OVER ({window} ROWS BETWEEN {} PRECEDING AND CURRENT ROW)", choice.below(4)), Int),
        4 => (format!("count({value}) OVER ({window})"), Int),
        5 => (format!("rank() OVER ({partition}ORDER BY {})", sort_key(choice, "l.k")), Int),
        _ => (format!("first_value(l.s) OVER ({window})"), Text),
    };
    let items = ["l.k".to_owned(), "l.s".to_owned(), function];
    let filter = filter(choice, &scope);
    Query { sql: format!("SELECT {} FROM {table} AS l{filter}", named(&items)), types: vec![Int, Text, ty] }
}

fn set_operation(choice: &mut Choice) -> Query {
    let types: Vec<Type> = (0..1 + choice.below(3)).map(|_| any_type(choice)).collect();
    let side = |choice: &mut Choice| {
        let (from, scope) = source(choice, 0);
        let items: Vec<String> = types.iter().map(|ty| expression(choice, &scope, *ty, 1)).collect();
        format!("SELECT {} FROM {from}{}", named(&items), filter(choice, &scope))
    };
    let (left, right) = (side(choice), side(choice));
    let operation = choice.of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
    Query { sql: format!("{left} {operation} {right}"), types }
}

fn named(items: &[String]) -> String {
    items.iter().enumerate().map(|(position, item)| format!("{item} AS c{position}")).collect::<Vec<_>>().join(", ")
}
