//! Parameters: `$name` stands for a literal whose type depends on its place.

use crate::stores::session;
use atsdb_core::Error;
use atsdb_sql::{Answer, Session};

fn execute(session: &Session, sql: &str, params: &[(&str, &str)]) -> Result<Vec<String>, Error> {
    let params: Vec<(String, String)> =
        params.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    let statement = session.statements(sql).next().unwrap()?;
    let Answer::Rows(rows) = session.execute(&statement, &params)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for batch in rows {
        found.extend(crate::render::lines(&batch?));
    }
    Ok(found)
}

#[test]
fn a_parameter_beside_text_is_text_whatever_it_looks_like() {
    let session = session("memory").0;
    let run = |sql: &str, value: &str| execute(&session, sql, &[("v", value)]).unwrap();
    run("CREATE TABLE t (s TEXT, m TEXT, n INT, x DOUBLE) WITH (map = 'm:u8')", "");
    run("INSERT INTO t SELECT $v, $v, $v, $v", "12");
    run("INSERT INTO t (s, m, x) SELECT ($v), $v AS m, $v UNION ALL SELECT $v, $v, $v", "-1.10");
    run("INSERT INTO t (s, m, n) VALUES ($v, $v, abs(3))", "1e3");
    assert_eq!(
        run("SELECT s, m, n, x FROM t ORDER BY s", ""),
        ["-1.10 | -1.10 | NULL | -1.1", "-1.10 | -1.10 | NULL | -1.1", "12 | 12 | 12 | 12.0", "1e3 | 1e3 | 3 | NULL"]
    );
    let counts = |condition: &str, value: &str| run(&format!("SELECT count(*) FROM t WHERE {condition}"), value);
    for condition in
        ["s = $v", "$v = m", "s IN ('x', $v)", "m BETWEEN $v AND ($v)", "s LIKE $v", "s || 'a' = $v || 'a'"]
    {
        assert_eq!(counts(condition, "12"), ["1"], "{condition}");
        assert_eq!(counts(condition, "-1.10"), ["2"], "{condition}");
        assert_eq!(counts(condition, "-1.1"), ["0"], "{condition}");
    }
    assert_eq!(counts("s IS NOT DISTINCT FROM $v AND $v IN (SELECT m FROM t)", "12"), ["1"]);
    for condition in ["n = $v", "n + 0 = $v", "$v <= n", "n IN (1, $v)", "n BETWEEN 0 AND $v AND n > 11", "x = $v"] {
        assert_eq!(counts(condition, "12"), ["1"], "{condition}");
    }
    assert_eq!(run("SELECT $v = 12, $v < $v, -$v FROM t LIMIT $v", "1"), ["false | false | -1"]);
    assert_eq!(run("SELECT s = $v AS a, count(*) FROM t GROUP BY s = $v ORDER BY 1", "12"), ["false | 3", "true | 1"]);
    let of_sets = run("SELECT s = $v AS a, count(*) FROM t GROUP BY ROLLUP (s = $v) ORDER BY 1, 2", "12");
    assert_eq!(of_sets, ["false | 3", "true | 1", "NULL | 4"]);
    run("UPDATE t SET s = $v WHERE n = 12", "1.50");
    run("UPDATE t SET m = $v, n = $v WHERE s = '1e3'", "40");
    assert_eq!(run("SELECT s, m, n FROM t WHERE n IS NOT NULL ORDER BY n", ""), ["1.50 | 12 | 12", "1e3 | 40 | 40"]);
    run("CREATE TABLE k (id INT PRIMARY KEY, s TEXT)", "");
    for value in ["7.10", "7.20"] {
        run("INSERT INTO k SELECT 1, $v WHERE true ON CONFLICT (id) DO UPDATE SET s = k.s || $v", value);
    }
    assert_eq!(run("SELECT s FROM k", ""), ["7.107.20"]);
    run("INSERT INTO k VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET s = $v WHERE k.s <> $v", "8.10");
    assert_eq!(run("SELECT s FROM k WHERE s = $v", "8.10"), ["8.10"]);
}

#[test]
fn a_heading_shows_what_a_parameter_stands_for() {
    let session = session("memory").0;
    let statement = session.statements("SELECT 'a' = $v, $v + 1").next().unwrap().unwrap();
    let Answer::Rows(rows) = session.execute(&statement, &[("v".to_owned(), "12".to_owned())]).unwrap() else {
        panic!()
    };
    let names: Vec<String> = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["'a' = 12", "12 + 1"]);
}
