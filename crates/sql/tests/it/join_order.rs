//! The order of joins: no cross join comes before an equality, the smaller tables come first, columns keep their order,
//! and the answers are those of nested loops over the rows.

use crate::differential::choice::Choice;
use crate::render::{ask, sorted};
use crate::stores::{STORES, session};
use atsdb_sql::Session;

fn plan(session: &Session, sql: &str) -> String {
    ask(session, &format!("EXPLAIN {sql}")).join("\n")
}

/// A fact table of 4,000 rows, two tables that its columns name, and two that are only connected with each other.
fn star(session: &Session) {
    for statement in [
        "CREATE TABLE facts (time TIMESTAMP, place INT, kind TEXT, v BIGINT) WITH (map = 'kind:u8')",
        "CREATE TABLE places (place INT PRIMARY KEY, region INT)",
        "CREATE TABLE kinds (kind TEXT PRIMARY KEY, name TEXT)",
        "CREATE TABLE regions (region INT PRIMARY KEY, title TEXT)",
        "INSERT INTO facts SELECT to_timestamp_seconds(value), value % 50, 'k' || value % 7, value FROM \
         generate_series(1, 4000)",
        "INSERT INTO places SELECT value, value % 5 FROM generate_series(0, 49)",
        "INSERT INTO kinds SELECT 'k' || value, 'kind ' || value FROM generate_series(0, 6)",
        "INSERT INTO regions SELECT value, 'region ' || value FROM generate_series(0, 4)",
    ] {
        ask(session, statement);
    }
}

#[test]
fn no_cross_join_comes_before_an_equality() {
    let (session, _directory) = session(STORES[0]);
    star(&session);
    for (from, condition) in [
        ("regions r, kinds k, places p, facts f", "f.place = p.place AND f.kind = k.kind AND p.region = r.region"),
        ("kinds k, regions r, facts f, places p", "f.place = p.place AND f.kind = k.kind AND p.region = r.region"),
        (
            "kinds k CROSS JOIN regions r JOIN places p ON true JOIN facts f ON f.place = p.place",
            "f.kind = k.kind AND p.region = r.region",
        ),
        (
            "regions r, kinds k, (SELECT * FROM facts WHERE v > 5) f, places p",
            "f.place + 0 = p.place AND f.kind = k.kind AND p.region = r.region",
        ),
    ] {
        let sql = format!("SELECT count(*), sum(v) FROM {from} WHERE {condition}");
        let plan = plan(&session, &sql);
        assert!(
            !plan.contains("CrossJoin") && !plan.contains("Cross Join") && !plan.contains("NestedLoop"),
            "{sql}\n{plan}"
        );
    }
    // Without a connection, the cross join comes last.
    let plan = plan(&session, "SELECT count(*) FROM kinds k, places p, regions r WHERE p.region = r.region");
    let (cross, inner) = (plan.find("Cross Join").unwrap(), plan.find("Inner Join").unwrap());
    assert!(cross < inner, "{plan}");
}

#[test]
fn the_smallest_joins_come_first_and_the_columns_stay() {
    let (session, _directory) = session(STORES[0]);
    star(&session);
    let sql = "SELECT * FROM facts f JOIN kinds k ON f.kind = k.kind JOIN places p ON f.place = p.place \
               WHERE p.place = 3 AND k.name = 'kind 3' ORDER BY v";
    let plan = plan(&session, sql);
    let joins: Vec<&str> = plan.lines().filter(|line| line.contains("Inner Join:")).collect();
    // The condition on the key leaves one place, so that join is the inner one.
    assert!(joins[0].contains("f.kind") && joins[1].contains("place"), "{plan}");
    assert_eq!(ask(&session, sql)[0], "1970-01-01T00:00:03Z | 3 | k3 | 3 | k3 | kind 3 | 3 | 3");
    let using =
        "SELECT * FROM facts JOIN places USING (place) JOIN kinds USING (kind) NATURAL JOIN regions WHERE v = 103";
    let by_hand = "SELECT p.region, f.kind, f.place, f.time, f.v, k.name, r.title FROM (facts f CROSS JOIN regions r) \
                   CROSS JOIN (kinds k CROSS JOIN places p) WHERE f.v = 103 AND f.place = p.place AND f.kind = k.kind \
                   AND p.region = r.region";
    assert_eq!(ask(&session, using), ask(&session, by_hand));
}

/// The columns of a table of the random queries.
const COLUMNS: [&str; 2] = ["a", "b"];

type Row = Vec<Option<i64>>;

/// Whether a condition holds for a row.
type Test = Box<dyn Fn(&Row) -> bool>;

/// A random condition over columns by position, as SQL and as a function.
fn condition(choice: &mut Choice, names: &[String]) -> (String, Test) {
    let mut column = || choice.below(names.len());
    let (x, y, z) = (column(), column(), column());
    let number = choice.below(4) as i64;
    let (a, b, c) = (&names[x], &names[y], &names[z]);
    match choice.below(10) {
        0 => (format!("{a} = {number}"), Box::new(move |row| row[x] == Some(number))),
        1 => (format!("{a} < {b}"), Box::new(move |row| row[x].zip(row[y]).is_some_and(|(x, y)| x < y))),
        2 => (
            format!("{a} + {b} = {c}"),
            Box::new(move |row| row[x].zip(row[y]).zip(row[z]).is_some_and(|((x, y), z)| x + y == z)),
        ),
        3 => (
            format!("({a} = {b} OR {c} = {number})"),
            Box::new(move |row| row[x].zip(row[y]).is_some_and(|(x, y)| x == y) || row[z] == Some(number)),
        ),
        _ => (format!("{a} = {b}"), Box::new(move |row| row[x].zip(row[y]).is_some_and(|(x, y)| x == y))),
    }
}

#[test]
fn random_joins_have_the_rows_of_nested_loops() {
    let (session, _directory) = session(STORES[0]);
    let mut choice = Choice::new(7);
    let mut tables: Vec<Vec<Row>> = Vec::new();
    for table in 0..5 {
        let count = 1 + choice.below(9);
        let mut value = || (!choice.percent(15)).then(|| choice.below(4) as i64);
        let rows: Vec<Row> = (0..count).map(|_| COLUMNS.iter().map(|_| value()).collect()).collect();
        let shown = |value: &Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
        let texts: Vec<String> =
            rows.iter().map(|row| format!("({})", row.iter().map(shown).collect::<Vec<_>>().join(", "))).collect();
        let engine = if table % 2 == 0 { "" } else { " WITH (engine = 'memory')" };
        ask(&session, &format!("CREATE TABLE r{table} (a{table} INT, b{table} INT){engine}"));
        ask(&session, &format!("INSERT INTO r{table} VALUES {}", texts.join(", ")));
        tables.push(rows);
    }
    for _ in 0..150 {
        let count = 3 + choice.below(3);
        let used: Vec<usize> = {
            let mut left: Vec<usize> = (0..tables.len()).collect();
            (0..count).map(|_| left.remove(choice.below(left.len()))).collect()
        };
        let names: Vec<String> =
            used.iter().flat_map(|table| COLUMNS.iter().map(move |column| format!("{column}{table}"))).collect();
        let conditions: Vec<_> = (0..1 + choice.below(count + 1)).map(|_| condition(&mut choice, &names)).collect();
        let comma = choice.percent(50);
        let from: Vec<String> = used.iter().map(|table| format!("r{table}")).collect();
        let texts: Vec<&str> = conditions.iter().map(|(text, _)| text.as_str()).collect();
        let sql = match comma {
            true => format!("SELECT * FROM {} WHERE {}", from.join(", "), texts.join(" AND ")),
            // All conditions at the last join, where all columns are known.
            false => format!(
                "SELECT * FROM {} ON {}",
                from.join(" JOIN ").replacen(" JOIN ", " CROSS JOIN ", count - 2),
                texts.join(" AND ")
            ),
        };
        let mut expected = vec![Vec::new()];
        for table in &used {
            let longer = |row: &Row| tables[*table].iter().map(|more| [row.clone(), more.clone()].concat()).collect();
            expected = expected.iter().flat_map(|row| -> Vec<Row> { longer(row) }).collect();
        }
        expected.retain(|row| conditions.iter().all(|(_, holds)| holds(row)));
        let shown = |row: &Row| {
            row.iter()
                .map(|value| value.map_or("NULL".to_owned(), |value| value.to_string()))
                .collect::<Vec<_>>()
                .join(" | ")
        };
        let mut expected: Vec<String> = expected.iter().map(shown).collect();
        expected.sort();
        assert_eq!(sorted(&session, &sql), expected, "{sql}");
    }
}
