//! `PREPARE`, `EXECUTE` and `DEALLOCATE`, which share their statements with the extended protocol.

use crate::support::Served;
use atsdb_server::Role;
use postgres::{Client, NoTls, SimpleQueryMessage};

fn connect(served: &Served) -> Client {
    let port = served.pg().port();
    Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap()
}

/// The rows of statements, each as one text, or the code of the error.
fn asked(client: &mut Client, text: &str) -> Vec<String> {
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => {
            let values: Vec<&str> = (0..row.len()).map(|at| row.get(at).unwrap_or("NULL")).collect();
            Some(values.join("|"))
        }
        _ => None,
    };
    match client.simple_query(text) {
        Ok(messages) => messages.into_iter().filter_map(row).collect(),
        Err(error) => vec![error.code().unwrap().code().to_owned()],
    }
}

#[test]
fn statements_are_prepared_and_executed_by_sql() {
    let served = Served::with_tables();
    let mut client = connect(&served);
    client
        .batch_execute(
            "PREPARE by_sensor (text, float8) AS SELECT value FROM readings WHERE sensor = $1 AND value > $2",
        )
        .unwrap();
    assert_eq!(asked(&mut client, "EXECUTE by_sensor('s2', 0)"), ["1.5"]);
    assert_eq!(asked(&mut client, "EXECUTE by_sensor(lower('S1'), 0.25 * 2 - 0.1);"), ["0.5"]);
    assert_eq!(asked(&mut client, "EXECUTE by_sensor('s1', NULL)"), Vec::<String>::new());
    // Types that are not declared follow from the statement; a text is read as a value of the type.
    client
        .batch_execute("PREPARE since AS SELECT count(*) FROM readings WHERE time >= $1 AND count = ANY($2)")
        .unwrap();
    assert_eq!(asked(&mut client, "EXECUTE since('2024-01-01 00:01:00', ARRAY[2, 3])"), ["2"]);
    client
        .batch_execute("PREPARE add (int, text) AS INSERT INTO sensors (id, name) VALUES ($1, $2) RETURNING id")
        .unwrap();
    assert_eq!(asked(&mut client, "EXECUTE add(7, 'se''ven'); EXECUTE add(8, ')')"), ["7", "8"]);
    assert_eq!(client.execute("EXECUTE add(9, 'nine')", &[]).unwrap(), 1);
    assert_eq!(served.count("sensors"), 5);
    // One error, and nothing of the message is stored.
    assert_eq!(asked(&mut client, "EXECUTE add(10, 'ten'); EXECUTE add(7, 'again')"), ["23505"]);
    assert_eq!(served.count("sensors"), 5);
    // Queries about the catalogue can be prepared, too.
    client.batch_execute("PREPARE kind (text) AS SELECT relkind FROM pg_class WHERE relname = $1").unwrap();
    assert_eq!(asked(&mut client, "EXECUTE kind('high')"), ["v"]);
    client.batch_execute("PREPARE numbered (oid) AS SELECT typname FROM pg_type WHERE oid = $1").unwrap();
    assert_eq!(asked(&mut client, "EXECUTE numbered('23')"), ["int4"]);
    assert_eq!(asked(&mut client, "EXECUTE numbered(23)"), ["int4"]);
    assert_eq!(asked(&mut client, "EXECUTE numbered(20 + 3)"), ["int4"]);
}

#[test]
fn numbers_are_rounded_to_integer_parameters() {
    let served = Served::new();
    let mut client = connect(&served);
    client.batch_execute("CREATE TABLE whole (s SMALLINT, i INT, b BIGINT)").unwrap();
    client.batch_execute("PREPARE add AS INSERT INTO whole VALUES ($1, $2, $3) RETURNING s, i, b").unwrap();
    assert_eq!(asked(&mut client, "EXECUTE add(1.5, -2.5, 0.4)"), ["2|-3|0"]);
    assert_eq!(asked(&mut client, "EXECUTE add(1.5::float8, 2.5::float8, -0.5::float8)"), ["2|2|0"]);
    assert_eq!(asked(&mut client, "EXECUTE add(NULL, '7', 9223372036854775806.5)"), ["NULL|7|9223372036854775807"]);
    assert_eq!(asked(&mut client, "EXECUTE add(32767.5, 1, 1)"), ["22003"]);
    assert_eq!(asked(&mut client, "EXECUTE add(1, '1.5', 1)"), ["22P02"]);
}

#[test]
fn arrays_of_decimals_and_uuids_keep_their_values() {
    let served = Served::new();
    let mut client = connect(&served);
    client.batch_execute("CREATE TABLE a (id UUID, d NUMERIC(9, 2)[], u UUID[])").unwrap();
    client
        .batch_execute("PREPARE add (uuid, numeric[], uuid[]) AS INSERT INTO a VALUES ($1, $2, $3) RETURNING d, u")
        .unwrap();
    let id = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    let added = asked(&mut client, &format!("EXECUTE add('{id}', '{{NULL,1,2.50,100}}', '{{{id},NULL}}')"));
    assert_eq!(added, [format!("{{NULL,1.00,2.50,100.00}}|{{{id},NULL}}")]);
    for condition in ["u && $1", "u @> $1", "id = ANY ($1)"] {
        client.batch_execute(&format!("PREPARE found (uuid[]) AS SELECT id FROM a WHERE {condition}")).unwrap();
        assert_eq!(asked(&mut client, &format!("EXECUTE found('{{{id}}}')")), [id], "{condition}");
        client.batch_execute("DEALLOCATE found").unwrap();
    }
    assert_eq!(asked(&mut client, "SELECT '{1,}'::int[]"), ["22P02"]);
    // UUIDs and numbers are equal however they are written.
    let upper = id.to_uppercase();
    let upper = upper.as_str();
    for (condition, value) in [("id = ANY ($1)", upper), ("u @> $1", upper), ("d && $1", "25e-1"), ("d @> $1", "1e2")] {
        client.batch_execute(&format!("PREPARE found AS SELECT id FROM a WHERE {condition}")).unwrap();
        assert_eq!(asked(&mut client, &format!("EXECUTE found('{{{value}}}')")), [id], "{condition}");
        client.batch_execute("DEALLOCATE found").unwrap();
    }
    client.batch_execute("PREPARE declared (uuid[], numeric[]) AS SELECT $1, $2").unwrap();
    let shown = asked(&mut client, &format!("EXECUTE declared('{{{upper}}}', '{{1e2}}')"));
    assert!(shown[0].starts_with(&format!("{{{id}}}|{{100")), "{shown:?}");
}

#[test]
fn parameters_beside_arrays_have_postgresqls_types() {
    let served = Served::new();
    let mut client = connect(&served);
    client
        .batch_execute("CREATE TABLE t (i INT, a INT[], b TEXT[]); INSERT INTO t VALUES (1, '{1,2}', '{x}')")
        .unwrap();
    // The client sends values in the binary form of the types that it is told.
    let numbers = vec![1_i32, 7];
    assert_eq!(client.query("SELECT i FROM t WHERE i = ANY ($1)", &[&numbers]).unwrap().len(), 1);
    assert_eq!(client.query("SELECT i FROM t WHERE i <> ALL ($1)", &[&numbers]).unwrap().len(), 0);
    assert_eq!(client.query("SELECT i FROM t WHERE $1 = ANY (a)", &[&2_i32]).unwrap().len(), 1);
    assert_eq!(client.query("SELECT i FROM t WHERE array_position(b, $1) = 1", &[&"x"]).unwrap().len(), 1);
    let row =
        client.query_one("SELECT a[$1], array_append(a, $2), array_cat(a, $3) FROM t", &[&2_i32, &3_i32, &numbers]);
    let row = row.unwrap();
    assert_eq!(row.get::<_, i32>(0), 2);
    assert_eq!(row.get::<_, Vec<i32>>(1), [1, 2, 3]);
    assert_eq!(row.get::<_, Vec<i32>>(2), [1, 2, 1, 7]);
}

#[test]
fn sql_and_the_protocol_share_their_prepared_statements() {
    let served = Served::with_tables();
    let mut client = connect(&served);
    let held = client.prepare("SELECT $1::int + 1").unwrap();
    let listed = "SELECT name, statement, parameter_types, from_sql, prepare_time > now() - interval '1 hour' FROM \
                  pg_prepared_statements ORDER BY from_sql";
    client.batch_execute("PREPARE \"My p\" (int, text[]) AS SELECT $1, $2").unwrap();
    let rows = asked(&mut client, listed);
    let (name, rest) = rows[0].split_once('|').unwrap();
    assert_eq!(rest, "SELECT $1::int + 1|{integer}|f|t");
    assert_eq!(rows[1..], ["My p|PREPARE \"My p\" (int, text[]) AS SELECT $1, $2|{integer,text[]}|t|t"]);
    assert_eq!(asked(&mut client, &format!("EXECUTE {name}(41)")), ["42"]);
    // In binary, as drivers read it.
    let rows =
        client.query("SELECT from_sql, prepare_time FROM pg_prepared_statements WHERE name = 'My p'", &[]).unwrap();
    let prepared: std::time::SystemTime = rows[0].get(1);
    assert!(rows[0].get::<_, bool>(0) && prepared.elapsed().unwrap().as_secs() < 3_600);
    let columns = client.prepare("EXECUTE \"My p\"(1, '{a,b}')").unwrap();
    assert_eq!(columns.columns().len(), 2);
    client.batch_execute("DEALLOCATE \"My p\"; DEALLOCATE PREPARE ALL").unwrap();
    assert_eq!(client.query(&held, &[&1]).unwrap_err().code().unwrap().code(), "26000");
    assert_eq!(asked(&mut client, "SELECT count(*) FROM pg_prepared_statements WHERE from_sql"), ["0"]);
}

#[test]
fn a_parameter_may_be_declared_with_an_enumerated_type() {
    let served = Served::new();
    let mut client = connect(&served);
    for text in [
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
        "CREATE TABLE m (id INT, v mood)",
        "INSERT INTO m VALUES (1, 'ok'), (2, 'happy')",
        "PREPARE found (mood, int) AS SELECT id FROM m WHERE v > $1 AND id > $2",
        "PREPARE add (int, Mood) AS INSERT INTO m VALUES ($1, $2) RETURNING v",
    ] {
        client.batch_execute(text).unwrap();
    }
    assert_eq!(asked(&mut client, "EXECUTE found('sad', 1)"), ["2"]);
    assert_eq!(asked(&mut client, "EXECUTE found('nothing', 1)"), ["22P02"]);
    assert_eq!(asked(&mut client, "EXECUTE add(3, 'sad')"), ["sad"]);
    assert_eq!(asked(&mut client, "PREPARE other (moods) AS SELECT $1"), ["42704"]);
}

#[test]
fn wrong_prepares_and_executes_have_postgresqls_codes() {
    let served = Served::with_tables();
    let mut client = connect(&served);
    client.batch_execute("PREPARE p (int) AS SELECT $1").unwrap();
    for (text, code) in [
        ("PREPARE p AS SELECT 1", "42P05"),
        ("PREPARE q (nonsense) AS SELECT $1", "42704"),
        ("PREPARE q AS SELECT nothing FROM readings", "42703"),
        ("PREPARE q AS CREATE TABLE t (a INT)", "42601"),
        ("PREPARE q AS COPY sensors TO STDOUT", "42601"),
        ("EXECUTE q", "26000"),
        ("EXECUTE p", "42601"),
        ("EXECUTE p(1, 2)", "42601"),
        ("EXECUTE p('x')", "22P02"),
        ("EXECUTE p(true)", "42804"),
        ("EXECUTE p(1 FROM readings)", "42601"),
        ("DEALLOCATE q", "26000"),
    ] {
        assert_eq!(asked(&mut client, text), [code], "{text}");
    }
    // A message of the protocol may prepare what SQL cannot execute.
    let begin = client.prepare("BEGIN").unwrap();
    assert_eq!(asked(&mut client, "SELECT name FROM pg_prepared_statements WHERE statement = 'BEGIN'").len(), 1);
    let name = asked(&mut client, "SELECT name FROM pg_prepared_statements WHERE statement = 'BEGIN'").remove(0);
    assert_eq!(asked(&mut client, &format!("EXECUTE {name}")), ["0A000"]);
    drop(begin);
    // The columns are those that were described to the client.
    client.batch_execute("CREATE TABLE changing (a INT); PREPARE c AS SELECT * FROM changing").unwrap();
    client.batch_execute("ALTER TABLE changing ADD COLUMN b TEXT; INSERT INTO changing VALUES (1, 'x')").unwrap();
    assert_eq!(asked(&mut client, "EXECUTE c"), ["0A000"]);
    // Nesting is not recursion.
    let nested = "PREPARE a AS ".repeat(100_000);
    assert_eq!(asked(&mut client, &nested), ["42601"]);
}

/// Executes statements one by one.
fn defined(client: &mut Client, statements: &[&str]) {
    for statement in statements {
        client.batch_execute(statement).unwrap();
    }
}

#[test]
fn columns_that_have_changed_are_an_error_before_rows_change() {
    let served = Served::new();
    let (mut client, mut other) = (connect(&served), connect(&served));
    defined(&mut other, &["CREATE TABLE t (a INT, b INT)", "INSERT INTO t VALUES (1, 2)"]);
    let insert = client.prepare("INSERT INTO t (a, b) VALUES ($1, 5) RETURNING *").unwrap();
    let with = client.prepare("WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone").unwrap();
    let update = client.prepare("UPDATE t SET b = 3 WHERE a = $1 RETURNING a").unwrap();
    client.batch_execute("PREPARE all_gone AS DELETE FROM t RETURNING *").unwrap();
    defined(&mut other, &["ALTER TABLE t ADD COLUMN c INT"]);
    assert_eq!(client.query(&insert, &[&7]).unwrap_err().code().unwrap().code(), "0A000");
    assert_eq!(client.query(&with, &[]).unwrap_err().code().unwrap().code(), "0A000");
    assert_eq!(asked(&mut client, "EXECUTE all_gone"), ["0A000"]);
    assert_eq!(asked(&mut client, "SELECT * FROM t"), ["1|2|NULL"]);
    // Its column is still the same.
    assert_eq!(client.query_one(&update, &[&1]).unwrap().get::<_, i32>(0), 1);
    assert_eq!(asked(&mut client, "SELECT * FROM t"), ["1|3|NULL"]);
}

#[test]
fn columns_of_other_names_are_other_columns() {
    let served = Served::new();
    let (mut client, mut other) = (connect(&served), connect(&served));
    defined(&mut other, &["CREATE TABLE t (a INT, b INT)", "INSERT INTO t VALUES (1, 2)"]);
    let all = client.prepare("SELECT * FROM t WHERE a = $1").unwrap();
    let named = client.prepare("SELECT b AS x, a + $1 FROM t").unwrap();
    client.batch_execute("PREPARE all_of_t AS SELECT * FROM t").unwrap();
    let swapped = ["DROP TABLE t", "CREATE TABLE t (b INT, a INT)", "INSERT INTO t VALUES (2, 1)"];
    defined(&mut other, &swapped);
    assert_eq!(client.query(&all, &[&1]).unwrap_err().code().unwrap().code(), "0A000");
    assert_eq!(asked(&mut client, "EXECUTE all_of_t"), ["0A000"]);
    let row = client.query_one(&named, &[&7]).unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (2, 8));
}

#[test]
fn an_execute_has_the_rights_of_its_statement_and_no_more() {
    let served = Served::with_users(&[("reader", Role::Read, "r"), ("me", Role::Admin, "m")], None);
    served.create_tables();
    let prepare = "PREPARE add AS INSERT INTO sensors VALUES (9, 'x', 1)";
    let by = |user: &str, password: &str, script: &str| served.psql_as(&format!("user={user}"), password, script);
    let Some(refused) = by("reader", "r", &format!("{prepare}; EXECUTE add")) else { return };
    assert!(refused.contains("42501"), "{refused}");
    let read_only = format!("SET default_transaction_read_only = on; {prepare}; EXECUTE add");
    let refused = by("me", "m", &read_only).unwrap();
    assert!(refused.contains("25006: cannot execute INSERT in a read-only transaction"), "{refused}");
    assert_eq!(served.count("sensors"), 2);
    assert_eq!(by("reader", "r", "PREPARE n AS SELECT count(*) FROM sensors; EXECUTE n").unwrap().trim(), "2");
}
