//! The table and the column that the columns of an answer come from, as a client sees them.

use crate::support::Served;
use postgres::{Client, NoTls};

/// Returns the names of the table and the column of each column of an answer, as the catalogue gives them.
fn origins(client: &mut Client, statement: &str) -> Vec<String> {
    let prepared = client.prepare(statement).unwrap();
    let columns: Vec<(u32, i16)> = prepared
        .columns()
        .iter()
        .map(|column| (column.table_oid().unwrap_or(0), column.column_id().unwrap_or(0)))
        .collect();
    let mut named = |(table, position): (u32, i16)| {
        let query = "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
                     WHERE c.oid = $1 AND a.attnum = $2";
        match client.query_opt(query, &[&table, &position]).unwrap() {
            Some(row) => format!("{}.{}", row.get::<_, &str>(0), row.get::<_, &str>(1)),
            None => String::new(),
        }
    };
    columns.into_iter().map(&mut named).collect()
}

#[test]
fn a_column_of_an_answer_names_its_table() {
    let served = Served::with_tables();
    let port = served.pg().port();
    let mut client = Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap();
    let sensors = ["sensors.id", "sensors.name", "sensors.height"];
    client.batch_execute("CREATE TEMPORARY TABLE passing (id INT)").unwrap();
    for (statement, expected) in [
        (
            "SELECT id, name AS n, height + 1, count(*) FROM sensors s GROUP BY id, name, height",
            vec!["sensors.id", "sensors.name", "", ""],
        ),
        ("SELECT * FROM public.sensors WHERE id = $1", sensors.to_vec()),
        ("SELECT s.*, (r.value), ID AS again FROM readings r JOIN sensors s ON s.name = r.sensor", {
            [sensors.as_slice(), &["readings.value", "sensors.id"]].concat()
        }),
        ("INSERT INTO sensors AS x VALUES (1, 'x', 1) RETURNING x.name", vec!["sensors.name"]),
        ("UPDATE sensors SET height = 1 RETURNING id, height", vec!["sensors.id", "sensors.height"]),
        ("DELETE FROM sensors RETURNING *", sensors.to_vec()),
        ("SELECT sensor FROM high", vec!["high.sensor"]),
        ("SELECT id FROM (SELECT id, name FROM sensors) t", vec!["sensors.id"]),
        ("WITH w (k) AS (SELECT id FROM sensors) SELECT k FROM w", vec!["sensors.id"]),
        ("SELECT id FROM sensors JOIN sensors other USING (id)", vec!["sensors.id"]),
        ("SELECT a FROM sensors AS s (a, b, c)", vec!["sensors.id"]),
        ("SELECT id FROM passing", vec!["passing.id"]),
        ("SELECT id FROM (SELECT 1 AS id) t", vec![""]),
        ("WITH sensors AS (SELECT 1 AS id) SELECT id FROM sensors", vec![""]),
        ("SELECT id FROM sensors UNION SELECT 1", vec![""]),
    ] {
        assert_eq!(origins(&mut client, statement), expected, "{statement}");
    }
}
