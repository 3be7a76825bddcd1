//! The usual client of Rust programs: the extended protocol, binary values, COPY in binary, cancelling.

use crate::support::Served;
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::{FromSql, Type};
use postgres::{Client, NoTls};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

fn connect(served: &Served) -> Client {
    let port = served.pg().port();
    Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname=air"), NoTls).unwrap()
}

/// A value in its binary form.
struct Binary(Vec<u8>);

impl FromSql<'_> for Binary {
    fn from_sql(_: &Type, bytes: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(bytes.to_vec()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

#[test]
fn addresses_are_described_and_sent_as_what_they_are() {
    let served = Served::new();
    let mut client = connect(&served);
    let text = "SELECT ip::inet, network(ip::inet), host(ip::inet), '::1'::inet, CAST(NULL AS cidr) \
                FROM (VALUES ('10.1.2.3/8')) AS v(ip)";
    let statement = client.prepare(text).unwrap();
    let described: Vec<Type> = statement.columns().iter().map(|column| column.type_().clone()).collect();
    assert_eq!(described, [Type::INET, Type::CIDR, Type::TEXT, Type::INET, Type::CIDR]);
    let row = client.query_one(&statement, &[]).unwrap();
    assert_eq!(row.get::<_, Binary>(0).0, [2, 8, 0, 4, 10, 1, 2, 3]);
    assert_eq!(row.get::<_, Binary>(1).0, [2, 8, 1, 4, 10, 0, 0, 0]);
    assert_eq!(row.get::<_, &str>(2), "10.1.2.3");
    assert_eq!(row.get::<_, IpAddr>(3), IpAddr::V6(Ipv6Addr::LOCALHOST));
    assert!(row.get::<_, Option<Binary>>(4).is_none());
}

#[test]
fn ranges_are_described_and_sent_as_what_they_are() {
    let served = Served::new();
    let mut client = connect(&served);
    let text = "SELECT int4range(low, 5), '[2000-01-01,)'::daterange, numrange(1.5, 2), 'empty'::int8range, \
                tsrange(NULL, '2000-01-01'), CAST(NULL AS tstzrange), lower(int4range(low, 5)) \
                FROM (VALUES (1)) AS v(low)";
    let statement = client.prepare(text).unwrap();
    let described: Vec<Type> = statement.columns().iter().map(|column| column.type_().clone()).collect();
    let ranges = [Type::INT4_RANGE, Type::DATE_RANGE, Type::NUM_RANGE, Type::INT8_RANGE, Type::TS_RANGE];
    assert_eq!(described[..5], ranges);
    assert_eq!(described[5..], [Type::TSTZ_RANGE, Type::INT4]);
    let row = client.query_one(&statement, &[]).unwrap();
    assert_eq!(row.get::<_, Binary>(0).0, [2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 5]);
    assert_eq!(row.get::<_, Binary>(1).0, [0x12, 0, 0, 0, 4, 0, 0, 0, 0]);
    assert_eq!(row.get::<_, Binary>(3).0, [1]);
    assert_eq!(row.get::<_, Binary>(4).0, [8, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(row.get::<_, Option<Binary>>(5).is_none());
    assert_eq!(row.get::<_, i32>(6), 1);
}

#[test]
fn json_and_uuids_are_described_as_what_they_are_also_in_expressions_and_returning() {
    let served = Served::new();
    let mut client = connect(&served);
    client.batch_execute("CREATE TABLE d (id INT PRIMARY KEY, u UUID, j JSON)").unwrap();
    let insert = "INSERT INTO d VALUES (1, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"b\": 1}') \
                  RETURNING u, j, j || '{\"a\": 2}', id";
    let select = "SELECT json_build_object('a', 1), jsonb_agg(j), coalesce(j, '{}'), CAST(u AS UUID), \
                  gen_random_uuid(), CAST(j AS TEXT), j -> 'b', (SELECT u FROM d), array_agg(u) FROM d GROUP BY j, u";
    for (text, types) in [
        (insert, vec![Type::UUID, Type::JSON, Type::JSONB, Type::INT4]),
        (
            select,
            vec![
                Type::JSON,
                Type::JSONB,
                Type::JSON,
                Type::UUID,
                Type::UUID,
                Type::TEXT,
                Type::JSON,
                Type::UUID,
                Type::UUID_ARRAY,
            ],
        ),
    ] {
        let statement = client.prepare(text).unwrap();
        let described: Vec<Type> = statement.columns().iter().map(|column| column.type_().clone()).collect();
        assert_eq!(described, types, "{text}");
        let row = client.query_one(&statement, &[]).unwrap();
        if text == insert {
            let values: Vec<Vec<u8>> = (0..3).map(|at| row.get::<_, Binary>(at).0).collect();
            assert_eq!((values[0].len(), values[1].as_slice()), (16, b"{\"b\": 1}".as_slice()));
            assert_eq!(values[2], b"\x01{\"a\": 2, \"b\": 1}");
        }
    }
}

#[test]
fn parameters_beside_uuids_and_json_are_described_as_what_they_are() {
    let served = Served::new();
    let mut client = connect(&served);
    client.batch_execute("CREATE TABLE d (id INT PRIMARY KEY, u UUID, j JSON, a UUID[])").unwrap();
    for (text, types) in [
        ("INSERT INTO d VALUES ($1, $2, $3, $4)", vec![Type::INT4, Type::UUID, Type::JSON, Type::UUID_ARRAY]),
        ("INSERT INTO d (u, id) SELECT $1, $2 RETURNING id", vec![Type::UUID, Type::INT4]),
        ("SELECT id FROM d WHERE u = $1 OR u IN ($2, $3)", vec![Type::UUID, Type::UUID, Type::UUID]),
        ("SELECT id FROM d WHERE u = ANY ($1)", vec![Type::UUID_ARRAY]),
        ("UPDATE d SET u = $1 WHERE u <> $2", vec![Type::UUID, Type::UUID]),
        ("DELETE FROM d WHERE u = $1 RETURNING u", vec![Type::UUID]),
        ("SELECT $1::uuid, $2::json, $3::jsonb", vec![Type::UUID, Type::JSON, Type::JSONB]),
        ("SELECT id FROM d WHERE u = ANY ($1::uuid[])", vec![Type::UUID_ARRAY]),
        ("SELECT CASE WHEN $1 THEN 1 END, CASE id WHEN $2 THEN 1 END FROM d", vec![Type::BOOL, Type::INT4]),
    ] {
        let statement = client.prepare(text).unwrap();
        assert_eq!(statement.params(), types, "{text}");
    }
}

#[test]
fn parameters_of_functions_have_the_types_of_postgresql() {
    const TEXT: Type = Type::TEXT;
    const INT4: Type = Type::INT4;
    const FLOAT8: Type = Type::FLOAT8;
    let served = Served::new();
    let mut client = connect(&served);
    for (text, types) in [
        ("SELECT left('abc', $1), right('abc', $2), repeat('a', $3)", vec![INT4, INT4, INT4]),
        ("SELECT left($1, 2), repeat($2, 3)", vec![TEXT, TEXT]),
        ("SELECT lpad('a', $1, $2), rpad('a', $3)", vec![INT4, TEXT, INT4]),
        ("SELECT substr('abc', $1), substr($2, $3, $4)", vec![INT4, TEXT, INT4, INT4]),
        ("SELECT split_part($1, $2, $3), chr($4)", vec![TEXT, TEXT, INT4, INT4]),
        ("SELECT round(1.5, $1), round($2), abs($3)", vec![INT4, FLOAT8, FLOAT8]),
        ("SELECT power($1, 2), sqrt($2), ln($3), floor($4), ceil($5)", vec![FLOAT8; 5]),
        ("SELECT make_date($1, $2, $3)", vec![INT4, INT4, INT4]),
        ("SELECT overlay('abc' PLACING $1 FROM $2)", vec![TEXT, INT4]),
        ("SELECT regexp_replace('abc', 'b', 'x', $1, $2)", vec![INT4, INT4]),
    ] {
        let statement = client.prepare(text).unwrap();
        assert_eq!(statement.params(), types, "{text}");
    }
    let text = "SELECT left('abc', $1), lpad('a', $2, $3), substr('abc', $1), sqrt($4)";
    let row = client.query_one(text, &[&2_i32, &3_i32, &"-", &9.0_f64]).unwrap();
    let texts: Vec<&str> = (0..3).map(|at| row.get(at)).collect();
    assert_eq!((texts, row.get::<_, f64>(3)), (vec!["ab", "--a", "bc"], 3.0));
}

#[test]
fn cursors_are_listed_while_they_are_open() {
    let served = Served::new();
    let mut client = connect(&served);
    let mut transaction = client.transaction().unwrap();
    let listed = "SELECT statement, is_holdable FROM pg_cursors WHERE name = 'c'";
    transaction.batch_execute("DECLARE c CURSOR FOR SELECT 1").unwrap();
    let row = transaction.query_one(listed, &[]).unwrap();
    assert_eq!((row.get::<_, &str>(0), row.get::<_, bool>(1)), ("DECLARE c CURSOR FOR SELECT 1", false));
    transaction.batch_execute("CLOSE c").unwrap();
    assert!(transaction.query(listed, &[]).unwrap().is_empty());
}

/// Results whose dictionary of strings is empty.
#[test]
fn mapped_columns_may_have_no_strings_at_all() {
    let served = Served::new();
    let mut client = connect(&served);
    client
        .batch_execute(
            "CREATE TABLE seen (time TIMESTAMP, who TEXT) WITH (map = 'who'); INSERT INTO seen VALUES (now(), NULL)",
        )
        .unwrap();
    for query in [
        "SELECT who FROM seen",
        "SELECT b.who FROM seen a LEFT JOIN seen b ON a.time < b.time",
        "SELECT max(who) FROM seen",
    ] {
        let rows = client.query(query, &[]).unwrap();
        assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<Option<&str>>>(), [None], "{query}");
        let answer = client.simple_query(query).unwrap();
        let row = answer.iter().find_map(|message| match message {
            postgres::SimpleQueryMessage::Row(row) => Some(row.get(0)),
            _ => None,
        });
        assert_eq!(row, Some(None), "{query}");
    }
}

/// Connection pools reset a connection by `DISCARD ALL` before the next user gets it.
#[test]
fn temporary_tables_are_those_of_one_connection_until_it_is_reset() {
    let served = Served::new();
    let (mut client, mut other) = (connect(&served), connect(&served));
    let names = "SELECT count(*) FROM pg_class WHERE relname = 'mine'";
    let create = "CREATE TEMP TABLE mine (id INT PRIMARY KEY, note TEXT)";
    for reset in ["DISCARD ALL", "DISCARD TEMP", "DISCARD TEMPORARY"] {
        client.batch_execute(create).unwrap();
        let insert = client.prepare("INSERT INTO mine VALUES ($1, $2) RETURNING id").unwrap();
        assert_eq!(client.query_one(&insert, &[&7, &"a"]).unwrap().get::<_, i32>(0), 7);
        let mut writer = client.copy_in("COPY mine FROM STDIN").unwrap();
        writer.write_all(b"8\tb\n").unwrap();
        assert_eq!(writer.finish().unwrap(), 1);
        assert_eq!(client.query_one("SELECT sum(id) FROM mine", &[]).unwrap().get::<_, i64>(0), 15);
        assert_eq!(client.query_one(names, &[]).unwrap().get::<_, i64>(0), 1);
        assert_eq!(other.query_one(names, &[]).unwrap().get::<_, i64>(0), 0);
        assert!(other.query("SELECT * FROM mine", &[]).is_err());
        client.batch_execute("DISCARD PLANS; DISCARD SEQUENCES").unwrap();
        assert_eq!(client.query_one(&insert, &[&9, &"c"]).unwrap().get::<_, i32>(0), 9);
        client.batch_execute(reset).unwrap();
        assert!(client.query("SELECT * FROM mine", &[]).is_err(), "{reset}");
    }
    client.batch_execute(create).unwrap();
    client.batch_execute("BEGIN; DISCARD TEMP; ROLLBACK; INSERT INTO mine VALUES (1, 'kept')").unwrap();
    let refused = client.batch_execute("BEGIN; DISCARD ALL").unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("25001"));
    client.batch_execute("ROLLBACK; COMMIT").unwrap();
    assert_eq!(client.query_one("SELECT note FROM mine", &[]).unwrap().get::<_, &str>(0), "kept");
    assert_eq!(client.batch_execute("DISCARD EVERYTHING").unwrap_err().code().map(|code| code.code()), Some("42601"));
}

#[test]
fn values_of_every_type_go_there_and_back() {
    let served = Served::new();
    let mut client = connect(&served);
    client
        .batch_execute(
            "CREATE TABLE every (b BOOLEAN, i2 SMALLINT, i4 INT, i8 BIGINT, f4 REAL, f8 DOUBLE, t TEXT, y BLOB, \
             d DATE, z TIMESTAMP(6), u1 TINYINT UNSIGNED, u2 SMALLINT UNSIGNED, u4 INT UNSIGNED)",
        )
        .unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456);
    let insert = "INSERT INTO every (b, i2, i4, i8, f4, f8, t, y, z, u1, u2, u4) \
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    let bytes: &[u8] = &[0, 255];
    let count = client
        .execute(
            insert,
            &[
                &true,
                &-2_i16,
                &i32::MIN,
                &i64::MAX,
                &1.5_f32,
                &-0.1_f64,
                &"7",
                &bytes,
                &time,
                &200_i16,
                &60_000_i32,
                &4_000_000_000_i64,
            ],
        )
        .unwrap();
    assert_eq!(count, 1);
    let row = client
        .query_one("SELECT b, i2, i4, i8, f4, f8, t, y, d, z, u1, u2, u4 FROM every WHERE i8 = $1", &[&i64::MAX])
        .unwrap();
    assert!(row.get::<_, bool>(0));
    assert_eq!((row.get::<_, i16>(1), row.get::<_, i32>(2), row.get::<_, i64>(3)), (-2, i32::MIN, i64::MAX));
    assert_eq!((row.get::<_, f32>(4), row.get::<_, f64>(5)), (1.5, -0.1));
    assert_eq!((row.get::<_, &str>(6), row.get::<_, &[u8]>(7)), ("7", bytes));
    assert!(row.try_get::<_, Option<SystemTime>>(8).is_err(), "a date is no timestamp");
    assert_eq!(row.get::<_, SystemTime>(9), time);
    assert_eq!((row.get::<_, i16>(10), row.get::<_, i32>(11), row.get::<_, i64>(12)), (200, 60_000, 4_000_000_000));
    assert_eq!(row.columns()[9].type_(), &Type::TIMESTAMPTZ);
    let nulls = client.query_one("SELECT $1::TEXT, $2::BIGINT", &[&None::<String>, &None::<i64>]).unwrap();
    assert_eq!((nulls.get::<_, Option<String>>(0), nulls.get::<_, Option<i64>>(1)), (None, None));
}

#[test]
fn parameters_are_described_before_they_are_bound() {
    let served = Served::with_tables();
    let mut client = connect(&served);
    let statement =
        client.prepare("SELECT sensor, count FROM readings WHERE count > $1 AND sensor = $2 LIMIT $3").unwrap();
    assert_eq!(statement.params(), [Type::INT8, Type::TEXT, Type::INT8]);
    let names: Vec<_> = statement.columns().iter().map(|column| (column.name(), column.type_().clone())).collect();
    assert_eq!(names, [("sensor", Type::TEXT), ("count", Type::INT8)]);
    assert_eq!(client.query(&statement, &[&0_i64, &"s1", &10_i64]).unwrap().len(), 2);
    let returning = client.prepare("INSERT INTO sensors VALUES ($1, $2, $3) RETURNING id, name").unwrap();
    assert_eq!(returning.params(), [Type::INT4, Type::TEXT, Type::FLOAT4]);
    let row = client.query_one(&returning, &[&5_i32, &"s5", &2.5_f32]).unwrap();
    assert_eq!((row.get::<_, i32>(0), row.get::<_, &str>(1)), (5, "s5"));
    assert_eq!(served.count("sensors"), 3);
}

#[test]
fn portals_stop_where_they_are_asked_to() {
    let served = Served::with_tables();
    let mut client = connect(&served);
    let mut transaction = client.transaction().unwrap();
    let portal = transaction.bind("SELECT count FROM readings ORDER BY count", &[]).unwrap();
    let first: Vec<i64> = transaction.query_portal(&portal, 2).unwrap().iter().map(|row| row.get(0)).collect();
    let rest: Vec<i64> = transaction.query_portal(&portal, 2).unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!((first, rest), (vec![1, 2], vec![3]));
    transaction.execute("DELETE FROM readings", &[]).unwrap();
    transaction.rollback().unwrap();
    assert_eq!(served.count("readings"), 3);
    assert_eq!(client.query_one("SELECT count(*) FROM readings", &[]).unwrap().get::<_, i64>(0), 3);
}

#[test]
fn decimals_times_uuids_json_and_intervals_are_copied_as_text_and_in_binary() {
    let served = Served::new();
    let mut client = connect(&served);
    let columns = "(n INT, d DECIMAL(10, 2), w DECIMAL(30, 5), t TIME, u UUID, j JSON, i INTERVAL)";
    client.batch_execute(&format!("CREATE TABLE a {columns}; CREATE TABLE b {columns}")).unwrap();
    let types = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'a'::regclass \
                 AND attnum > 0 ORDER BY attnum";
    let types: Vec<String> = client.query(types, &[]).unwrap().iter().map(|row| row.get(0)).collect();
    let expected = ["integer", "numeric(10,2)", "numeric(30,5)", "time without time zone", "uuid", "json", "interval"];
    assert_eq!(types, expected);
    let nulls = "2\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n";
    let text = "1\t1.005\t-12345678901234567890.12345\t4:05 PM\tA0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11\t{\"a\": [1]}\t\
                P1M2DT-1.5S\n";
    let mut writer = client.copy_in("COPY a FROM STDIN").unwrap();
    writer.write_all(format!("{text}{nulls}").as_bytes()).unwrap();
    assert_eq!(writer.finish().unwrap(), 2);
    let mut binary = Vec::new();
    client.copy_out("COPY a TO STDOUT BINARY").unwrap().read_to_end(&mut binary).unwrap();
    let mut writer = client.copy_in("COPY b FROM STDIN BINARY").unwrap();
    writer.write_all(&binary).unwrap();
    assert_eq!(writer.finish().unwrap(), 2);
    let mut copied = String::new();
    client.copy_out("COPY b TO STDOUT").unwrap().read_to_string(&mut copied).unwrap();
    let text = "1\t1.01\t-12345678901234567890.12345\t16:05:00\ta0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\t{\"a\": [1]}\t\
                1 mon 2 days -00:00:01.5\n";
    assert_eq!(copied, format!("{text}{nulls}"));
    for (column, wrong, code) in [
        ("d", "100000000", "22003"),
        ("d", "x", "22P02"),
        ("t", "24:00", "22008"),
        ("u", "7", "22P02"),
        ("j", "{a}", "22P02"),
    ] {
        let mut writer = client.copy_in(&format!("COPY a ({column}) FROM STDIN")).unwrap();
        writer.write_all(format!("{wrong}\n").as_bytes()).unwrap();
        assert_eq!(writer.finish().unwrap_err().code().map(|code| code.code()), Some(code), "{wrong}");
    }
}

#[test]
fn arrays_are_parameters_and_columns() {
    let served = Served::new();
    let mut client = connect(&served);
    client.batch_execute("CREATE TABLE a (n INT, i INT[], t TEXT[], d DOUBLE PRECISION[], b BOOLEAN[])").unwrap();
    let insert = client.prepare("INSERT INTO a VALUES ($1, $2, $3, $4, $5)").unwrap();
    let types = [Type::INT4, Type::INT4_ARRAY, Type::TEXT_ARRAY, Type::FLOAT8_ARRAY, Type::BOOL_ARRAY];
    assert_eq!(insert.params(), types);
    let (numbers, texts) = (vec![Some(1), None, Some(-7)], vec![Some("a b"), Some(""), None]);
    let rows = client.execute(&insert, &[&1, &numbers, &texts, &vec![0.5, f64::NAN], &Vec::<bool>::new()]).unwrap();
    assert_eq!(rows, 1);
    client.execute(&insert, &[&2, &None::<Vec<i32>>, &Vec::<&str>::new(), &vec![1.0], &vec![true]]).unwrap();
    let rows = client.query("SELECT i, t, d, b FROM a ORDER BY n", &[]).unwrap();
    assert_eq!(rows[0].columns().iter().map(|column| column.type_().clone()).collect::<Vec<_>>(), types[1..]);
    assert_eq!(rows[0].get::<_, Vec<Option<i32>>>(0), numbers);
    assert_eq!(rows[0].get::<_, Vec<Option<&str>>>(1), texts);
    let floats = rows[0].get::<_, Vec<f64>>(2);
    assert!(floats.len() == 2 && floats[0] == 0.5 && floats[1].is_nan(), "{floats:?}");
    assert_eq!((rows[0].get::<_, Vec<bool>>(3), rows[1].get::<_, Option<Vec<i32>>>(0)), (vec![], None));
    let found = "SELECT n FROM a WHERE i @> $1 AND $2 = ANY (t)";
    assert_eq!(client.query_one(found, &[&vec![-7], &"a b"]).unwrap().get::<_, i32>(0), 1);
    let equal = client.query_one("SELECT n FROM a WHERE i = $1", &[&numbers]).unwrap();
    assert_eq!(equal.get::<_, i32>(0), 1);
    let shown = "SELECT format_type(atttypid, atttypmod), attndims FROM pg_attribute WHERE attrelid = 'a'::regclass \
                 AND attnum = 3";
    let shown = client.query_one(shown, &[]).unwrap();
    assert_eq!((shown.get::<_, &str>(0), shown.get::<_, i32>(1)), ("text[]", 1));
    let standard =
        "SELECT data_type, udt_name FROM information_schema.columns WHERE table_name = 'a' AND column_name = 't'";
    let standard = client.query_one(standard, &[]).unwrap();
    assert_eq!((standard.get::<_, &str>(0), standard.get::<_, &str>(1)), ("ARRAY", "_text"));
}

#[test]
fn arrays_of_other_elements_are_not_copied_in_binary() {
    let served = Served::new();
    let mut client = connect(&served);
    client.batch_execute("CREATE TABLE a (n BIGINT[])").unwrap();
    let mut copy = |element: Type, value: &(dyn postgres::types::ToSql + Sync)| {
        let writer = client.copy_in("COPY a FROM STDIN BINARY").unwrap();
        let mut writer = BinaryCopyInWriter::new(writer, &[element]);
        writer.write(&[value]).unwrap();
        writer.finish().map_err(|error| error.as_db_error().unwrap().to_string())
    };
    let error = copy(Type::FLOAT8_ARRAY, &vec![0.5]).unwrap_err();
    assert!(error.contains("binary data has array element type 701"), "{error}");
    assert_eq!(copy(Type::INT8_ARRAY, &vec![Some(7_i64), None]).unwrap(), 1);
    assert_eq!(served.count("a"), 1);
}

#[test]
fn rows_are_copied_in_binary() {
    let served = Served::with_tables();
    let mut client = connect(&served);
    let writer = client.copy_in("COPY readings (time, sensor, value, count) FROM STDIN BINARY").unwrap();
    let mut writer = BinaryCopyInWriter::new(writer, &[Type::TIMESTAMPTZ, Type::TEXT, Type::FLOAT8, Type::INT8]);
    for row in 0..200_000_i64 {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + row as u64);
        let sensor = format!("s{}", row % 100);
        writer.write(&[&time, &sensor, &(row as f64), &Some(row).filter(|row| row % 2 == 0)]).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 200_000);
    assert_eq!(served.count("readings"), 200_003);
    let sums = served.rows("SELECT sum(value) AS v, count(count) AS c, count(DISTINCT sensor) AS s FROM readings WHERE time < '2024-01-01'");
    assert!(sums.contains("| 19999900000.0 | 100000 | 100 |"), "{sums}");
    // A COPY that the client abandons stores nothing.
    let mut given_up = client.copy_in("COPY sensors FROM STDIN").unwrap();
    given_up.write_all(b"50\tx\t1\n").unwrap();
    drop(given_up);
    assert_eq!(served.count("sensors"), 2);
    let mut out = Vec::new();
    std::io::Read::read_to_end(&mut client.copy_out("COPY sensors TO STDOUT").unwrap(), &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "1\ts1\t1.5\n2\ts2\t\\N\n");
}

#[test]
fn a_statement_is_cancelled_and_the_connection_goes_on() {
    let served = Served::with_tables();
    let mut client = connect(&served);
    let long =
        "SELECT sum(a.x * b.x) FROM generate_series(1, 1000000) a(x) CROSS JOIN generate_series(1, 1000000) b(x)";
    let long = if client.prepare(long).is_ok() { long.to_owned() } else { endless(&served) };
    let token = client.cancel_token();
    let (ended, has_ended) = channel::<()>();
    let stopper = std::thread::spawn(move || {
        // A request that comes before the statement runs cancels nothing, so another follows.
        let mut pause = Duration::from_millis(300);
        while has_ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            token.cancel_query(NoTls).unwrap();
            pause = Duration::from_secs(10);
        }
    });
    let error = client.simple_query(&long).unwrap_err();
    assert_eq!(error.code().map(|code| code.code().to_owned()), Some("57014".to_owned()), "{error}");
    drop(ended);
    stopper.join().unwrap();
    client.batch_execute("SET statement_timeout = 200").unwrap();
    let error = client.simple_query(&long).unwrap_err();
    assert!(error.as_db_error().unwrap().message().contains("statement timeout"), "{error}");
    client.batch_execute("SET statement_timeout = 0").unwrap();
    assert_eq!(client.query_one("SELECT 1::BIGINT", &[]).unwrap().get::<_, i64>(0), 1);
}

/// Returns a query that takes for ever: a table joined with itself.
fn endless(served: &Served) -> String {
    served.database.sql("CREATE TABLE many (x BIGINT)").unwrap();
    let values: Vec<String> = (0..30_000).map(|x| format!("({x})")).collect();
    served.database.sql(&format!("INSERT INTO many VALUES {}", values.join(", "))).unwrap();
    "SELECT sum(a.x * b.x + c.x) FROM many a, many b, many c WHERE a.x + b.x <> c.x".to_owned()
}

#[test]
fn an_error_between_syncs_takes_everything_back() {
    let served = Served::with_tables();
    let mut client = connect(&served);
    let error = client.execute("INSERT INTO sensors VALUES ($1, $2, NULL)", &[&1_i32, &"again"]).unwrap_err();
    assert_eq!(error.code().unwrap().code(), "23505");
    let error = client.prepare("SELECT 1; SELECT 2").unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42601");
    assert_eq!(client.query("SELECT id FROM sensors", &[]).unwrap().len(), 2);
}
