//! Functions about the session and the catalogue beside tables of users, and functions of the store beside tables of
//! the catalogue. The answers are those of PostgreSQL 15.

use crate::support::Served;
use postgres::types::Type;
use postgres::{Client, NoTls};

fn asked(served: &Served, query: &str) -> Option<String> {
    served.psql(&["-t", "-c", query], "").map(|found| found.trim().to_owned())
}

#[test]
fn functions_about_the_session_are_called_beside_tables() {
    let served = Served::with_tables();
    for (query, expected) in [
        ("SELECT id, pg_backend_pid() > 0 AS has_process FROM sensors ORDER BY 1", "1|t\n2|t"),
        ("SELECT name, current_setting('server_encoding') FROM sensors WHERE id = 1", "s1|UTF8"),
        ("SELECT id, current_setting('my.own', true) IS NULL FROM sensors ORDER BY 1 LIMIT 1", "1|t"),
        ("SELECT count(*) FROM sensors WHERE has_table_privilege('sensors', 'SELECT')", "2"),
        ("SELECT count(*) FROM sensors WHERE has_table_privilege(current_user, 'sensors'::regclass, 'FLY')", "ERROR"),
        ("SELECT 'sensors'::regclass, 'public.sensors'::regclass::text FROM sensors WHERE id = 1", "sensors|sensors"),
        ("SELECT 'sensors'::regclass::oid > 16383, to_regclass('nowhere') IS NULL FROM sensors WHERE id = 1", "t|t"),
        ("SELECT 'nowhere'::regclass FROM sensors", "ERROR"),
        (
            "SELECT format_type(23, NULL), format_type(1700, 655366), id FROM sensors WHERE id = 2",
            "integer|numeric(10,2)|2",
        ),
        (
            "SELECT pg_table_is_visible('sensors'::regclass), obj_description(1, 'pg_class') FROM sensors WHERE id = 1",
            "t|",
        ),
        ("SELECT s.pid = pg_backend_pid() FROM (SELECT pg_backend_pid() AS pid FROM sensors) AS s LIMIT 1", "t"),
        ("SELECT s.pg_backend_pid > 0 FROM (SELECT pg_backend_pid() FROM sensors) AS s LIMIT 1", "t"),
        ("SELECT CASE WHEN pg_is_in_recovery() THEN 'yes' ELSE name END FROM sensors WHERE id = 1", "s1"),
        (
            "INSERT INTO sensors VALUES (3, current_setting('client_encoding')) RETURNING name, pg_backend_pid() > 0",
            "UTF8|t",
        ),
        ("SELECT name IS DISTINCT FROM current_setting('server_encoding') FROM sensors WHERE id = 1", "t"),
        ("SELECT extract(year FROM pg_postmaster_start_time()) > 2000 FROM sensors WHERE id = 1", "t"),
        (
            "SELECT set_config('my.day', '2024-02-29', false)::date + 1, format_type(23, NULL)::text \
             FROM sensors WHERE id = 1",
            "2024-03-01|integer",
        ),
        ("UPDATE sensors SET name = 'sensors'::regclass::text WHERE id = 3 RETURNING name", "sensors"),
    ] {
        let Some(found) = asked(&served, query) else { return };
        match expected {
            "ERROR" => assert!(found.contains("ERROR"), "{query}: {found}"),
            expected => assert_eq!(found, expected, "{query}"),
        }
    }
}

#[test]
fn their_columns_have_their_names() {
    let served = Served::with_tables();
    let query = "SELECT pg_backend_pid() > 0, has_table_privilege('sensors', 'select'), 'sensors'::regclass, \
                 'sensors'::regclass::text, format_type(23, -1) AS f FROM sensors LIMIT 1";
    let Some(found) = served.psql(&["-c", query], "") else { return };
    let expected = "?column?|has_table_privilege|regclass|text|f\nt|t|sensors|sensors|integer\n(1 row)";
    assert_eq!(found.trim(), expected);
}

#[test]
fn what_is_set_beside_a_table_holds() {
    let script = "BEGIN;\n\
         SELECT set_config('application_name', 'one', true), count(*) FROM sensors;\n\
         SHOW application_name;\n\
         COMMIT;\n\
         SELECT set_config('my.own', 'two', false), count(*) FROM sensors;\n\
         SHOW my.own;\n";
    let served = Served::with_tables();
    let Some(found) = served.psql(&["-t"], script) else { return };
    assert_eq!(found.trim(), "one|2\none\ntwo|2\ntwo");
}

#[test]
fn a_report_sets_nothing() {
    let script = "EXPLAIN SELECT set_config('my.own', 'one', false), count(*) FROM sensors;\n\
         SELECT coalesce(current_setting('my.own', true), 'none');\n";
    let served = Served::with_tables();
    let Some(found) = served.psql(&["-t"], script) else { return };
    assert_eq!(found.lines().map(str::trim).rfind(|line| !line.is_empty()), Some("none"), "{found}");
}

#[test]
fn a_prepared_statement_calls_them_at_each_execution() {
    let served = Served::with_tables();
    let port = served.pg().port();
    let mut client = Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap();
    let text = "SELECT current_setting('application_name'), pg_backend_pid(), id FROM sensors WHERE id = $1";
    let statement = client.prepare(text).unwrap();
    let columns: Vec<_> = statement.columns().iter().map(|column| (column.name(), column.type_().clone())).collect();
    assert_eq!(columns, [("current_setting", Type::TEXT), ("pg_backend_pid", Type::INT4), ("id", Type::INT4)]);
    for name in ["one", "two"] {
        client.batch_execute(&format!("SET application_name = '{name}'")).unwrap();
        let row = client.query_one(&statement, &[&2]).unwrap();
        assert_eq!((row.get::<_, &str>(0), row.get::<_, i32>(2)), (name, 2));
        assert!(row.get::<_, i32>(1) > 0);
    }
}

#[test]
fn functions_of_the_store_are_called_beside_the_catalogue() {
    let served = Served::with_tables();
    for (query, expected) in [
        (
            "SELECT initcap(relname), md5(relname) FROM pg_class WHERE relname = 'sensors'",
            "Sensors|029aee483db9ae244d7a5cb353e74602",
        ),
        ("SELECT regexp_replace(relname, 's$', '') FROM pg_class WHERE relname = 'sensors'", "sensor"),
        ("SELECT round(relnatts / 2.0, 1), left(relname, 3) FROM pg_class WHERE relname = 'sensors'", "1.5|sen"),
        ("SELECT lpad(relname, 9, '*') FROM pg_class WHERE relname = 'sensors'", "**sensors"),
        (
            "SELECT to_char(oid::int8, '9') IS NOT NULL, concat_ws('-', relname, NULL, relkind) FROM pg_class \
          WHERE relname = 'sensors'",
            "t|sensors-r",
        ),
        ("SELECT extract(year FROM pg_postmaster_start_time()) > 2000", "t"),
        (
            "SELECT date_part('year', NULL::timestamptz) IS NULL, extract(year FROM now()) > 2000, \
             current_user IS NULL",
            "t|t|f",
        ),
        ("SELECT date_part('epoch', now() - backend_start) >= 0 FROM pg_stat_activity LIMIT 1", "t"),
        ("SELECT date_part('day', now() - backend_start) FROM pg_stat_activity", "ERROR"),
        ("SELECT replace(relname, 's', 'S') FROM pg_class WHERE relname = 'sensors'", "SenSorS"),
        ("SELECT count(DISTINCT relnatts * 1.0), sum(relnatts * 0.5) FROM pg_class WHERE relname = 'sensors'", "1|1.5"),
        (
            "SELECT 0.1 + 0.2, 1.0 / 3, 12345678901234567890 + 1, 1.5 * 2, 2.50::int, current_user IS NULL",
            "0.3|0.33333333333333333333|12345678901234567891|3.0|3|f",
        ),
        ("SELECT 1 / 0.0, current_user", "ERROR"),
        (
            "SELECT trim(LEADING 's' FROM relname), trim('rs' FROM relname), btrim(relname, 's') FROM pg_class \
             WHERE relname = 'sensors'",
            "ensors|enso|ensor",
        ),
        ("SELECT format('%-9s|%I', relname, 'A') FROM pg_class WHERE relname = 'sensors'", "sensors  |\"A\""),
        (
            "SELECT split_part('a.b', '.', -1), array_to_string(ARRAY['a', NULL], ',', '*'), \
             cardinality(ARRAY[]::text[]), current_user IS NULL",
            "b|a,*|0|f",
        ),
        ("SELECT stddev(attnum) FROM pg_attribute", "ERROR"),
        ("SELECT string_to_table(relname, ',') FROM pg_class", "ERROR"),
        ("SELECT no_such_function(relname) FROM pg_class", "ERROR"),
        ("SELECT setval(relname, 1) FROM pg_class", "ERROR"),
    ] {
        let Some(found) = asked(&served, query) else { return };
        match expected {
            "ERROR" => assert!(found.contains("ERROR"), "{query}: {found}"),
            expected => assert_eq!(found, expected, "{query}"),
        }
    }
    let Some(types) = served.psql(&["-t"], "SELECT length(relname), md5(relname) FROM pg_class \\gdesc\n") else {
        return;
    };
    assert_eq!(types.trim(), "length|integer\nmd5|text");
}
