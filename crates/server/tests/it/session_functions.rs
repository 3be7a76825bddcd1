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
        (
            "SELECT has_schema_privilege('public', 'USAGE'), has_database_privilege(current_database(), 'CONNECT'), \
             has_column_privilege('sensors', 'height', 'UPDATE'), has_column_privilege('sensors', 9::int2, 'SELECT') \
             IS NULL FROM sensors WHERE id = 1",
            "t|t|t|t",
        ),
        ("SELECT has_column_privilege('sensors', 'width', 'SELECT') FROM sensors", "ERROR"),
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
fn functions_about_the_catalogue_take_parameters_of_their_types() {
    let served = Served::with_tables();
    let port = served.pg().port();
    let mut client = Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap();
    for (text, types) in [
        ("SELECT current_setting($1), current_setting($2, $3)", vec![Type::TEXT, Type::TEXT, Type::BOOL]),
        ("SELECT set_config($1, $2, $3)", vec![Type::TEXT, Type::TEXT, Type::BOOL]),
        ("SELECT pg_get_userbyid($1), pg_table_is_visible($2)", vec![Type::OID, Type::OID]),
        ("SELECT to_regclass($1)", vec![Type::TEXT]),
        ("SELECT format_type($1, $2)", vec![Type::OID, Type::INT4]),
        ("SELECT pg_get_expr(adbin, $1) FROM pg_attrdef", vec![Type::OID]),
        ("SELECT obj_description(oid, $1) FROM pg_namespace", vec![Type::NAME]),
        ("SELECT pg_get_indexdef($1, $2, $3)", vec![Type::OID, Type::INT4, Type::BOOL]),
        ("SELECT pg_get_constraintdef($1, $2)", vec![Type::OID, Type::BOOL]),
        ("SELECT pg_relation_size($1, $2)", vec![Type::REGCLASS, Type::TEXT]),
    ] {
        let statement = client.prepare(text).unwrap();
        assert_eq!(statement.params(), types, "{text}");
    }
    // The setting does not exist when the query is prepared.
    let setting = client.prepare("SELECT current_setting('my.own')").unwrap();
    let row = client.query_one("SELECT set_config($1, $2, $3)", &[&"my.own", &"one", &false]).unwrap();
    assert_eq!(row.get::<_, &str>(0), "one");
    assert_eq!(client.query_one(&setting, &[]).unwrap().get::<_, &str>(0), "one");
    let row = client.query_one("SELECT current_setting($1)", &[&"my.own"]).unwrap();
    assert_eq!(row.get::<_, &str>(0), "one");
    let number: u32 = client.query_one("SELECT to_regclass($1)::oid", &[&"sensors"]).unwrap().get(0);
    let text = "SELECT pg_table_is_visible($1), format_type($2, $3)";
    let row = client.query_one(text, &[&number, &1_700_u32, &655_366_i32]).unwrap();
    assert_eq!((row.get::<_, bool>(0), row.get::<_, &str>(1)), (true, "numeric(10,2)"));
    let text = "SELECT nspname, obj_description(oid, $1) FROM pg_namespace WHERE nspname <> 'information_schema' \
                ORDER BY 1";
    let rows = client.query(text, &[&"pg_namespace"]).unwrap();
    let rows: Vec<(&str, Option<&str>)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(rows, [("pg_catalog", None), ("pg_toast", None), ("public", Some("standard public schema"))]);
    let text = "SELECT n, to_regclass(n)::oid = $1 FROM (VALUES (1, 'sensors'), (2, NULL), (3, 'nowhere'), \
                (4, 'readings'), (5, 'sensors')) AS v(i, n) ORDER BY i";
    let rows = client.query(text, &[&number]).unwrap();
    let found: Vec<Option<bool>> = rows.iter().map(|row| row.get(1)).collect();
    assert_eq!(found, [Some(true), None, None, Some(false), Some(true)]);
}

#[test]
fn functions_about_the_session_take_parameters_beside_tables() {
    let served = Served::with_tables();
    let port = served.pg().port();
    let mut client = Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap();
    let text = "SELECT current_setting($2), name, has_table_privilege($3, 'select') FROM sensors WHERE id = $1";
    let statement = client.prepare(text).unwrap();
    assert_eq!(statement.params(), [Type::INT4, Type::TEXT, Type::TEXT]);
    let names: Vec<&str> = statement.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["current_setting", "name", "has_table_privilege"]);
    client.batch_execute("SET my.own = 'one'; SET my.other = 'two'").unwrap();
    for (setting, id, expected) in [("my.own", 1, ("one", "s1")), ("my.other", 2, ("two", "s2"))] {
        let row = client.query_one(&statement, &[&id, &setting, &"sensors"]).unwrap();
        assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), expected);
        assert!(row.get::<_, bool>(2));
    }
    let text = "SELECT set_config($1, $2, false) FROM sensors WHERE id = 1";
    assert_eq!(client.query_one(text, &[&"my.own", &"three"]).unwrap().get::<_, &str>(0), "three");
    let rows = client.query("SELECT id FROM sensors WHERE name = current_setting($1)", &[&"my.own"]).unwrap();
    assert!(rows.is_empty());
    let missing = client.query("SELECT current_setting($1) FROM sensors", &[&"my.missing"]).unwrap_err();
    assert_eq!(missing.code().unwrap().code(), "42704");
}

#[test]
fn values_of_the_catalogue_are_sent_in_binary() {
    let served = Served::with_tables();
    let port = served.pg().port();
    let mut client = Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap();
    let text = "SELECT indkey, indclass FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname = 'sensors_pkey'";
    let row = client.query_one(text, &[]).unwrap();
    assert_eq!((row.get::<_, Vec<i16>>(0), row.get::<_, Vec<u32>>(1)), (vec![1], vec![1_978]));
    let text = "SELECT relkind, reltuples, avg(relnatts) \
                FROM pg_class WHERE relname = 'sensors' GROUP BY relkind, reltuples";
    let statement = client.prepare(text).unwrap();
    let types: Vec<_> = statement.columns().iter().map(|column| column.type_().clone()).collect();
    assert_eq!(types, [Type::CHAR, Type::FLOAT4, Type::NUMERIC]);
    let row = client.query_one(&statement, &[]).unwrap();
    assert_eq!((row.get::<_, i8>(0), row.get::<_, f32>(1)), (114, -1.0));
    let text = "SELECT attidentity FROM pg_attribute WHERE attname = 'height'";
    assert_eq!(client.query_one(text, &[]).unwrap().get::<_, i8>(0), 0);
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
            "SELECT avg(relnatts), avg(relnatts * 0.5), avg(relnatts::float8), avg(relnatts::numeric) FROM pg_class \
             WHERE relname IN ('sensors', 'readings')",
            "4.0000000000000000|2.0000000000000000|4|4.0000000000000000",
        ),
        (
            "SELECT avg(n) FROM (SELECT 9007199254740993 AS n FROM pg_namespace WHERE nspname = 'public') AS x",
            "9007199254740993.0000000000000000",
        ),
        (
            "SELECT avg(l), sum(l) FROM (SELECT interval '1 hour' AS l FROM pg_namespace WHERE nspname <> \
             'information_schema') AS x",
            "01:00:00|03:00:00",
        ),
        (
            "SELECT pg_relation_size(oid, 'main') = pg_relation_size(oid), pg_relation_size(oid, 'fsm'), \
             pg_relation_size(1, 'none') IS NULL FROM pg_class WHERE relname = 'sensors'",
            "t|0|t",
        ),
        ("SELECT pg_relation_size('sensors', 'none')", "ERROR:  22023"),
        ("SELECT pg_table_size('nowhere')", "ERROR:  42P01"),
        (
            "SELECT 0.1 + 0.2, 1.0 / 3, 12345678901234567890 + 1, 1.5 * 2, 2.50::int, current_user IS NULL",
            "0.3|0.33333333333333333333|12345678901234567891|3.0|3|f",
        ),
        ("SELECT 5::numeric / 2 = 2.5, 5 / 2::numeric > 2, 7::numeric % 4, current_user IS NULL", "t|t|3|f"),
        ("SELECT sum(relnatts::numeric) / 2 > 1 FROM pg_class WHERE relname = 'sensors'", "t"),
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
            error if error.starts_with("ERROR") => assert!(found.contains(error), "{query}: {found}"),
            expected => assert_eq!(found, expected, "{query}"),
        }
    }
    let Some(types) = served.psql(&["-t"], "SELECT length(relname), md5(relname) FROM pg_class \\gdesc\n") else {
        return;
    };
    assert_eq!(types.trim(), "length|integer\nmd5|text");
}
