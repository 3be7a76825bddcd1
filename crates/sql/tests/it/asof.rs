//! ASOF joins, compared with a loop over both sides.

use crate::render::lines;
use crate::stores::session;
use atsdb_sql::{Answer, Session};

fn rows(session: &Session, sql: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in session.statements(sql) {
        if let Answer::Rows(rows) =
            session.execute(&statement.unwrap(), &[]).unwrap_or_else(|error| panic!("{error}\n{sql}"))
        {
            found.extend(rows.flat_map(|batch| lines(&batch.unwrap())));
        }
    }
    found
}

/// Milliseconds, key, number. The key may be missing.
type Row = (i64, Option<i64>, i64);

/// Rows with times of up to `count_max` units.
fn generated(count: i64, seed: i64, count_max: i64, unit: i64) -> Vec<Row> {
    let mut state = seed;
    let mut random = |bound: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).rem_euclid(bound)
    };
    // No two rows of a key have the same time, so there is only one right answer.
    let mut rows: Vec<Row> = Vec::new();
    for number in 0..count {
        let key = random(6);
        let row = (random(count_max) * unit, (key > 0).then_some(key), number);
        if !rows.iter().any(|(time, key, _)| (*time, *key) == (row.0, row.1)) {
            rows.push(row);
        }
    }
    rows
}

fn insert(session: &Session, table: &str, values: &[Row]) {
    for part in values.chunks(100) {
        let values: Vec<String> = part
            .iter()
            .map(|(time, key, number)| {
                let key = key.map_or("NULL".to_owned(), |key| format!("'k{key}'"));
                format!(
                    "('1970-01-01 00:{:02}:{:02}.{:03}', {key}, {number})",
                    time / 60_000,
                    time / 1_000 % 60,
                    time % 1_000
                )
            })
            .collect();
        rows(session, &format!("INSERT INTO {table} VALUES {}", values.join(", ")));
    }
}

#[test]
fn an_asof_join_finds_what_a_loop_over_both_sides_finds() {
    let (session, _directory) = session("memory");
    rows(&session, "CREATE TABLE a (t TIMESTAMP(3), k TEXT, n INT) WITH (map = 'k:u8', slice = 'hour')");
    rows(&session, "CREATE TABLE b (t TIMESTAMP(0), k TEXT, m INT) WITH (slice = 'hour')");
    let (left, right) = (generated(1_500, 1, 40_000, 1), generated(300, 2, 40, 1_000));
    insert(&session, "a", &left);
    insert(&session, "b", &right);
    for (operator, tolerance) in [
        (">=", None),
        (">", None),
        ("<=", None),
        ("<", None),
        (">=", Some(700)),
        (">", Some(1)),
        ("<=", Some(0)),
        ("<", Some(1_000)),
    ] {
        let back = operator.starts_with('>');
        let condition = tolerance.map_or(String::new(), |limit| {
            let distance = if back { "a.t - b.t" } else { "b.t - a.t" };
            format!(" AND {distance} <= INTERVAL '{limit} milliseconds'")
        });
        let sql = format!(
            "SELECT a.n, b.m FROM a ASOF LEFT JOIN b ON a.k = b.k AND a.t {operator} b.t{condition} ORDER BY a.n"
        );
        let wanted: Vec<String> = left
            .iter()
            .map(|(time, key, number)| {
                let fits = |(other, other_key, _): &&Row| {
                    let distance = if back { time - other } else { other - time };
                    let least = i64::from(!operator.ends_with('='));
                    key.is_some()
                        && key == other_key
                        && distance >= least
                        && tolerance.is_none_or(|limit| distance <= limit)
                };
                let found = right.iter().filter(fits).min_by_key(|(other, ..)| (time - other).abs());
                format!("{number} | {}", found.map_or("NULL".to_owned(), |(_, _, number)| number.to_string()))
            })
            .collect();
        assert_eq!(rows(&session, &sql), wanted, "{sql}");
        let inner: Vec<&String> = wanted.iter().filter(|line| !line.ends_with("NULL")).collect();
        assert!(!inner.is_empty() || tolerance == Some(0), "{sql}");
        let found = rows(&session, &sql.replace("LEFT ", ""));
        assert_eq!(found.iter().collect::<Vec<_>>(), inner, "{sql}");
    }
}
