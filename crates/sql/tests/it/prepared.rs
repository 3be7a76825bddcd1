//! Prepared statements: types of parameters and answers are known before execution, and values have types.

use crate::render::{ask, lines};
use crate::stores::session;
use arrow::array::{Int32Array, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, IntervalUnit, SchemaRef, TimeUnit};
use atsdb_core::{Error, ErrorKind};
use atsdb_sql::{Answer, ParameterValue, Prepared, Session};
use std::cell::Cell;

const TIME: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

fn run(session: &Session, prepared: &Prepared, values: &[ParameterValue]) -> Result<Vec<String>, Error> {
    match session.execute_prepared(prepared, values)? {
        Answer::Rows(rows) => {
            let mut found = Vec::new();
            for batch in rows {
                found.extend(lines(&batch?));
            }
            Ok(found)
        }
        Answer::Done { row_count, .. } => Ok(row_count.iter().map(|count| format!("{count} rows")).collect()),
    }
}

fn once(session: &Session, sql: &str, values: &[ParameterValue]) -> Vec<String> {
    let prepared = session.prepare(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    run(session, &prepared, values).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Returns the types of the parameters, as Arrow names them, and the columns of the answer.
fn described(session: &Session, sql: &str, declared: &[Option<DataType>]) -> (Vec<String>, Option<Vec<String>>) {
    let prepared = session.prepare(sql, declared).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let plain = |data_type: &DataType| match data_type {
        DataType::Timestamp(TimeUnit::Microsecond, _) => "time".to_owned(),
        DataType::Dictionary(..) | DataType::Utf8 => "text".to_owned(),
        other => other.to_string().to_lowercase(),
    };
    let columns = prepared.schema().map(|schema| {
        schema.fields().iter().map(|field| format!("{} {}", field.name(), plain(field.data_type()))).collect()
    });
    (prepared.parameter_types().iter().map(plain).collect(), columns)
}

fn filled() -> (Session, tempfile::TempDir) {
    let (session, directory) = session("sqlite");
    ask(&session, "CREATE TABLE t (time TIMESTAMP, sensor TEXT, n INT, x DOUBLE, b BLOB) WITH (map = 'sensor:u8')");
    ask(&session, "INSERT INTO t VALUES ('2024-01-01', 'a', 1, 0.5, X'00'), ('2024-01-02', '12', 2, 1.5, NULL)");
    ask(&session, "CREATE TABLE k (id BIGINT PRIMARY KEY, s TEXT, hits INT)");
    (session, directory)
}

#[test]
fn a_parameter_gets_its_type_from_its_place() {
    let (session, _directory) = filled();
    for (sql, types, columns) in [
        ("SELECT n, sensor AS s FROM t WHERE time >= $1 AND sensor = $2", "time text", Some("n int32, s text")),
        ("SELECT x + $1 FROM t WHERE n IN ($2, $3)", "float64 int32 int32", Some("x + $1 float64")),
        ("SELECT 1 AS one FROM t WHERE n BETWEEN $2 AND $1", "int32 int32", Some("one int32")),
        ("SELECT n FROM t WHERE sensor LIKE $1 ORDER BY time LIMIT $2 OFFSET $3", "text int64 int64", Some("n int32")),
        ("SELECT $1::INT + 1 AS y, CAST($2 AS DATE) AS d", "int32 date32", Some("y int32, d date32")),
        ("SELECT coalesce($1, n) AS m FROM t WHERE nullif(time, $2) IS NULL", "int32 time", Some("m int32")),
        ("SELECT n FROM t WHERE ARRAY[n] && $1 AND $2 @> ARRAY[x]", "list(int32) list(float64)", Some("n int32")),
        ("SELECT n FROM t WHERE ARRAY[n] || $1 = $2 || ARRAY[n]", "list(int32) list(int32)", Some("n int32")),
        ("SELECT $1 AS v", "text", Some("v text")),
        ("SELECT $1 || $2 AS v, NULL || $3 AS w", "text text text", Some("v text, w text")),
        ("SELECT count(*) FROM generate_series(1, $1)", "int32", Some("count(*) int64")),
        ("SELECT time + INTERVAL '1 day' * $1 AS later FROM t", "float64", Some("later time")),
        ("SELECT lag(n, $1, $2) OVER (ORDER BY n) AS l FROM t", "int32 int32", Some("l int32")),
        ("SELECT nth_value(x, $1) OVER (ORDER BY n) AS v FROM t", "int32", Some("v float64")),
        ("INSERT INTO t (n, time, b) VALUES ($1, $2, $3)", "int32 time binary", None),
        (
            "MERGE INTO k USING t ON k.id = t.n WHEN MATCHED THEN UPDATE SET hits = $1
             WHEN NOT MATCHED AND t.x > $2 THEN INSERT (id, s) VALUES ($3, $4)",
            "int32 float64 int64 text",
            None,
        ),
        (
            "INSERT INTO t (time, n, sensor) SELECT time, $1, $2 FROM t UNION ALL SELECT time, n, $3 FROM t",
            "int32 text text",
            None,
        ),
        ("UPDATE t SET x = $1, sensor = $3 WHERE n = $2", "float64 int32 text", None),
        ("DELETE FROM t WHERE time < $1", "time", None),
        ("DELETE FROM t WHERE n = $1 RETURNING n, x * 2 AS y", "int32", Some("n int32, y float64")),
        ("INSERT INTO k VALUES ($1, $2, 1) RETURNING id + $3 AS next", "int64 text int64", Some("next int64")),
        (
            "INSERT INTO k VALUES (1, $1, 1) ON CONFLICT (id) DO UPDATE SET hits = $2, s = k.s || $3",
            "text int32 text",
            None,
        ),
        ("EXPLAIN SELECT n FROM t WHERE n = $1", "int32", Some("plan_type text, plan text")),
        ("SHOW TABLES", "", Some("table text")),
        ("CREATE TABLE u (a INT)", "", None),
        ("BEGIN", "", None),
    ] {
        let types: Vec<String> = types.split_whitespace().map(str::to_owned).collect();
        let columns: Option<Vec<String>> = columns.map(|columns| columns.split(", ").map(str::to_owned).collect());
        assert_eq!(described(&session, sql, &[]), (types, columns), "{sql}");
    }
    assert_eq!(ask(&session, "SHOW TABLES"), ["k", "t"], "nothing was executed");
    assert_eq!(ask(&session, "SELECT count(*) FROM t"), ["2"]);
    let declared = [Some(DataType::Int64), None, Some(DataType::Float32)];
    let (types, columns) = described(&session, "SELECT $1 AS a, $2 AS b FROM t WHERE n = $1", &declared);
    assert_eq!(types, ["int64", "text", "float32"]);
    assert_eq!(columns.unwrap(), ["a int64", "b text"]);
}

#[test]
fn values_keep_their_types() {
    let (session, _directory) = filled();
    assert_eq!(once(&session, "SELECT n FROM t WHERE sensor = $1", &["12".into()]), ["2"]);
    assert_eq!(once(&session, "SELECT sensor FROM t WHERE n = $1", &[2.into()]), ["12"]);
    let typed = session.prepare("SELECT $1, $2, $3 IS NULL", &[Some(DataType::Int32), None, None]).unwrap();
    assert_eq!(run(&session, &typed, &[7.into(), "7".into(), ParameterValue::null()]).unwrap(), ["7 | 7 | true"]);
    let Answer::Rows(rows) = session.execute_prepared(&typed, &[7.into(), "7".into(), "x".into()]).unwrap() else {
        panic!()
    };
    let types: Vec<DataType> = rows.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(types, [DataType::Int32, DataType::Utf8, DataType::Boolean]);
    let by_time = "SELECT n FROM t WHERE time > $1 ORDER BY time";
    let times = TimestampMicrosecondArray::from(vec![1_704_067_200_000_000]);
    assert_eq!(once(&session, by_time, &[ParameterValue::from_array(&times, 0).unwrap()]), ["2"]);
    assert_eq!(once(&session, by_time, &["2023-12-31 12:00:00".into()]), ["1", "2"]);
    assert_eq!(once(&session, "SELECT n FROM t ORDER BY n LIMIT $1 OFFSET $2", &[1_i64.into(), 1_i64.into()]), ["2"]);
    assert_eq!(once(&session, "SELECT n FROM t WHERE n IN ($1, $2, 9) ORDER BY n", &[1.into(), 2.into()]), ["1", "2"]);
    assert_eq!(once(&session, "SELECT n FROM t WHERE n = $1", &[ParameterValue::null()]), [""; 0]);
    assert_eq!(once(&session, "SELECT count(*) FROM generate_series(1, $1)", &[5_i64.into()]), ["5"]);
    let sums = "SELECT sum(v) OVER (ORDER BY v ROWS BETWEEN $1 PRECEDING AND CURRENT ROW) \
                FROM generate_series(1, 3) g(v) ORDER BY v";
    assert_eq!(session.prepare(sums, &[]).unwrap().parameter_types(), [DataType::Int64]);
    assert_eq!(once(&session, sums, &[1_i64.into()]), ["1", "3", "5"]);
    assert_eq!(once(&session, sums, &[2_i64.into()]), ["1", "3", "6"]);
    let prepared = session.prepare(sums, &[]).unwrap();
    for (value, expected) in [(ParameterValue::null(), "must not be null"), ((-1_i64).into(), "must not be negative")] {
        let error = run(&session, &prepared, &[value]).unwrap_err();
        assert!(error.message().contains(expected), "{error}");
    }
    let days = "SELECT count(*) OVER (ORDER BY time RANGE BETWEEN $1 PRECEDING AND CURRENT ROW) FROM t ORDER BY time";
    assert_eq!(once(&session, days, &["1 day".into()]), ["1", "2"]);
    assert_eq!(once(&session, days, &["12 hours".into()]), ["1", "1"]);
    let declared = session.prepare(days, &[Some(DataType::Interval(IntervalUnit::MonthDayNano))]).unwrap();
    assert_eq!(run(&session, &declared, &["1 day".into()]).unwrap(), ["1", "2"]);
    let large = session.prepare(sums, &[Some(DataType::UInt64)]).unwrap();
    let error = run(&session, &large, &["18446744073709551615".into()]).unwrap_err();
    assert!(error.message().contains("argument of ROWS must be type bigint"), "{error}");
    let quoted = "'); DROP TABLE t; --";
    assert_eq!(once(&session, "SELECT $1 AS v", &[quoted.into()]), [quoted]);
    let joined = "SELECT $1 || $2, $1 || $2 || $1, $2 || upper($1 || $2)";
    assert_eq!(once(&session, joined, &["a".into(), "1".into()]), ["a1 | a1a | 1A1"]);
    assert!(ParameterValue::from_array(&Int32Array::from(vec![1]), 1).is_err());
    let appended = "SELECT CAST(ARRAY['a'] || $1 AS TEXT) AS v";
    assert_eq!(once(&session, appended, &["{b,c}".into()]), ["{a,b,c}"]);
    let declared = session.prepare(appended, &[Some(DataType::Utf8)]).unwrap();
    assert_eq!(run(&session, &declared, &["{b,c}".into()]).unwrap(), [r#"{a,"{b,c}"}"#]);
}

#[test]
fn rows_change_by_prepared_statements() {
    let (session, _directory) = filled();
    let insert = session.prepare("INSERT INTO t VALUES ($1, $2, $3, $4, $5)", &[Some(TIME)]).unwrap();
    let row = |sensor: &str, n: i32| -> [ParameterValue; 5] {
        ["2024-02-01".into(), sensor.into(), n.into(), f64::from(n).into(), vec![7_u8].into()]
    };
    for transaction in [false, true] {
        if transaction {
            ask(&session, "BEGIN");
        }
        assert_eq!(run(&session, &insert, &row("007", 3)).unwrap(), ["1 rows"]);
        assert_eq!(run(&session, &insert, &row("1e3", 4)).unwrap(), ["1 rows"]);
        if transaction {
            ask(&session, "COMMIT");
        }
    }
    let found = "SELECT sensor, n, x, b FROM t WHERE n > 2 ORDER BY n";
    let (first, second) = ("007 | 3 | 3.0 | 07", "1e3 | 4 | 4.0 | 07");
    assert_eq!(ask(&session, found), [first, first, second, second]);
    let selected = "INSERT INTO t (sensor, n, time) SELECT $1, n + $2, time FROM t WHERE n = 1";
    assert_eq!(once(&session, selected, &["10".into(), 9_i64.into()]), ["1 rows"]);
    assert_eq!(once(&session, "UPDATE t SET sensor = $1 WHERE n = $2", &["11".into(), 10.into()]), ["1 rows"]);
    assert_eq!(ask(&session, "SELECT n, x FROM t WHERE sensor = '11'"), ["10 | NULL"]);
    assert_eq!(once(&session, "DELETE FROM t WHERE n >= $1 RETURNING n + $2", &[10.into(), 1_i64.into()]), ["11"]);
    let upsert = "INSERT INTO k VALUES ($1, $2, 1) ON CONFLICT (id) DO UPDATE SET hits = k.hits + $3, s = $2";
    for expected in ["1 rows", "1 rows"] {
        assert_eq!(once(&session, upsert, &[1_i64.into(), "5".into(), 4_i64.into()]), [expected]);
    }
    assert_eq!(ask(&session, "SELECT id, s, hits FROM k"), ["1 | 5 | 5"]);
    let created = session.prepare("CREATE TABLE copy AS SELECT n FROM t WHERE n = $1", &[Some(DataType::Int32)]);
    run(&session, &created.unwrap(), &[1.into()]).unwrap();
    assert_eq!(ask(&session, "SELECT n FROM copy"), ["1"]);
}

#[test]
fn errors_of_a_parameter_name_it_and_its_type() {
    let (session, _directory) = filled();
    let prepare = |sql: &str| session.prepare(sql, &[]);
    let by_n = prepare("SELECT x FROM t WHERE n = $1").unwrap();
    for (values, kind, message) in [
        (vec![], ErrorKind::Sql, "0 values are given, the statement has 1 parameters"),
        (vec![true.into()], ErrorKind::Sql, "parameter $1 is INT, its value is BOOLEAN"),
        (vec!["one".into()], ErrorKind::InvalidValue, "'one' is not a valid INT (parameter $1)"),
        (vec![5_000_000_000_i64.into()], ErrorKind::InvalidValue, "parameter $1 is INT: 5000000000 does not fit"),
    ] {
        let values: Vec<ParameterValue> = values;
        let error = run(&session, &by_n, &values).unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, message));
    }
    for (sql, wanted) in [
        ("SELECT $name", "the parameter $name"),
        ("SELECT $0", "the parameter $0"),
        ("SELECT 1; SELECT 2", "several statements"),
        ("-- nothing", "no statement"),
        ("SELECT x FROM missing WHERE a = $1", "missing"),
        ("SELECT oops FROM t", "oops"),
        ("INSERT INTO t (time, n) VALUES ($1, $2, $3)", ""),
    ] {
        let Err(error) = prepare(sql) else { continue };
        assert_eq!(error.kind(), ErrorKind::Sql, "{error}");
        assert!(error.to_string().contains(wanted), "{sql}: {error}");
    }
    assert!(prepare("SELECT $name").is_err() && prepare("SELECT 1; SELECT 2").is_err() && prepare("").is_err());
}

#[test]
fn a_statement_sees_the_definitions_of_when_it_is_executed() {
    let (session, _directory) = filled();
    let other = session.sharing();
    let all = session.prepare("SELECT * FROM t WHERE n = $1", &[]).unwrap();
    let view = "CREATE OR REPLACE VIEW v AS SELECT n FROM t WHERE n";
    ask(&session, &format!("{view} = 1"));
    let of_view = session.prepare("SELECT n FROM v WHERE n < $1 ORDER BY n", &[]).unwrap();
    let (three, ten) = ([2.into()], [10.into()]);
    for _ in 0..3 {
        assert_eq!(run(&session, &all, &three).unwrap(), ["2024-01-02T00:00:00Z | 12 | 2 | 1.5 | NULL"]);
        assert_eq!(run(&session, &of_view, &ten).unwrap(), ["1"]);
    }
    ask(&other, "ALTER TABLE t DROP COLUMN b");
    ask(&other, &format!("{view} >= 1"));
    assert_eq!(run(&session, &all, &three).unwrap(), ["2024-01-02T00:00:00Z | 12 | 2 | 1.5"]);
    assert_eq!(run(&session, &of_view, &ten).unwrap(), ["1", "2"]);
    ask(&other, "ALTER TABLE t RENAME COLUMN x TO n2");
    ask(&other, "CREATE INDEX ON t (n)");
    assert_eq!(run(&session, &all, &three).unwrap(), ["2024-01-02T00:00:00Z | 12 | 2 | 1.5"]);
    ask(&other, "ALTER TABLE t ALTER COLUMN n TYPE BIGINT");
    assert_eq!(run(&session, &all, &three).unwrap(), ["2024-01-02T00:00:00Z | 12 | 2 | 1.5"]);
    ask(&other, "DROP VIEW v");
    assert_eq!(run(&session, &of_view, &ten).unwrap_err().kind(), ErrorKind::Sql);
    ask(&other, "CREATE TABLE v (n INT)");
    assert_eq!(run(&session, &of_view, &ten).unwrap(), [""; 0]);
    ask(&other, "DROP TABLE t");
    assert_eq!(run(&session, &all, &three).unwrap_err().kind(), ErrorKind::Sql);
    ask(&other, "CREATE TABLE t (n INT)");
    ask(&other, "INSERT INTO t VALUES (2)");
    assert_eq!(run(&session, &all, &three).unwrap(), ["2"]);
}

/// Statements that change rows of [`changing`]'s table and return all its columns.
const RETURNING_ALL: [&str; 5] = [
    "INSERT INTO c (id, s) VALUES (9, 'mine') RETURNING *",
    "UPDATE c SET s = 'mine' RETURNING *",
    "DELETE FROM c RETURNING *",
    "WITH gone AS (DELETE FROM c RETURNING *) SELECT * FROM gone",
    "WITH gone AS (DELETE FROM c RETURNING id) INSERT INTO c (id, s) SELECT id + 9, 'mine' FROM gone RETURNING *",
];

/// A table with one row, and a statement that was prepared before its definition changes.
fn changing(store: &str, sql: &str) -> (Session, Prepared, tempfile::TempDir) {
    let (session, directory) = session(store);
    ask(&session, "CREATE TABLE c (id INT, s TEXT) WITH (time = 'none')");
    ask(&session, "INSERT INTO c VALUES (1, 'first')");
    let prepared = session.prepare(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    (session, prepared, directory)
}

/// Accepts only columns with the names that were described.
fn check_names(prepared: &Prepared, found: &SchemaRef) -> Result<(), Error> {
    let names =
        |schema: &SchemaRef| -> Vec<String> { schema.fields().iter().map(|field| field.name().clone()).collect() };
    match prepared.schema().map(names) == Some(names(found)) {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Sql, "other columns")),
    }
}

#[test]
fn nothing_is_stored_if_the_columns_are_refused() {
    for (store, sql) in ["memory", "sqlite"].into_iter().flat_map(|store| RETURNING_ALL.map(|sql| (store, sql))) {
        let (session, prepared, _directory) = changing(store, sql);
        let check = |found: &SchemaRef| check_names(&prepared, found);
        let execute = || session.execute_prepared_checked(&prepared, &[], &check);
        ask(&session.sharing(), "ALTER TABLE c ADD COLUMN late INT");
        assert_eq!(execute().unwrap_err().message(), "other columns", "{store}: {sql}");
        assert_eq!(ask(&session, "SELECT * FROM c"), ["1 | first | NULL"], "{store}: {sql}");
        ask(&session, "BEGIN");
        assert_eq!(execute().unwrap_err().message(), "other columns", "{store}: {sql}");
        ask(&session, "ROLLBACK");
        assert_eq!(ask(&session, "SELECT * FROM c"), ["1 | first | NULL"], "{store}: {sql}");
        ask(&session, "ALTER TABLE c DROP COLUMN late");
        assert!(matches!(execute().unwrap(), Answer::Rows(_)), "{store}: {sql}");
        assert_ne!(ask(&session, "SELECT * FROM c"), ["1 | first"], "{store}: {sql}");
    }
}

#[test]
fn a_change_that_is_retried_checks_its_columns_again() {
    for (store, sql) in ["memory", "sqlite"].into_iter().flat_map(|store| RETURNING_ALL.map(|sql| (store, sql))) {
        let (session, prepared, _directory) = changing(store, sql);
        let (other, check_count) = (session.sharing(), Cell::new(0));
        let check = |found: &SchemaRef| {
            check_count.set(check_count.get() + 1);
            check_names(&prepared, found)?;
            // The columns were accepted, but the commit comes too late.
            ask(&other, "ALTER TABLE c ADD COLUMN late INT");
            Ok(())
        };
        let error = session.execute_prepared_checked(&prepared, &[], &check).unwrap_err();
        assert_eq!((error.message(), check_count.get()), ("other columns", 2), "{store}: {sql}");
        assert_eq!(ask(&session, "SELECT * FROM c"), ["1 | first | NULL"], "{store}: {sql}");
    }
}

#[test]
fn parts_of_a_with_that_changes_rows_determine_types_together() {
    let (session, _directory) = filled();
    ask(&session, "INSERT INTO k VALUES (1, 'one', 0), (2, 'two', 0)");
    let sql = "WITH gone AS (DELETE FROM k WHERE id = $1 RETURNING id, s), more AS (SELECT id + $2 AS id FROM gone) \
               INSERT INTO k SELECT more.id, $3, gone.id FROM gone, more RETURNING *";
    let (types, columns) = described(&session, sql, &[]);
    assert_eq!(types, ["int64", "int64", "text"]);
    assert_eq!(columns.unwrap().join(", "), "id int64, s text, hits int32");
    let values = [ParameterValue::from(1_i64), ParameterValue::from(10_i64), ParameterValue::from("new")];
    assert_eq!(once(&session, sql, &values), ["11 | new | 1"]);
    assert_eq!(described(&session, "WITH gone AS (DELETE FROM k WHERE s = $1) SELECT 1 AS x", &[]).0, ["text"]);
    assert_eq!(ask(&session, "SELECT id FROM k ORDER BY id"), ["2", "11"]);
}

#[test]
fn more_digits_than_a_column_has_are_compared_exactly_and_rounded_when_they_are_stored() {
    let (session, _directory) = session("memory");
    ask(&session, "CREATE TABLE d (k INT PRIMARY KEY, t TIMESTAMP(0), n NUMERIC(6, 2)) WITH (time = 'none')");
    ask(&session, "INSERT INTO d VALUES (1, '2024-01-01 00:00:01', 1.01)");
    let (time, number) = ("2024-01-01 00:00:00.6", "1.005");
    for (column, value) in [("t", time), ("n", number)] {
        for (condition, expected) in
            [("= $1", "0"), ("> $1", "1"), ("< $1", "0"), ("BETWEEN $1 AND $1", "0"), ("IN ($1)", "0")]
        {
            let sql = format!("SELECT count(*) FROM d WHERE {column} {condition}");
            assert_eq!(once(&session, &sql, &[value.into()]), [expected], "{sql}");
        }
        let any = format!("SELECT count(*) FROM d WHERE {column} = ANY ($1)");
        assert_eq!(once(&session, &any, &[format!("{{\"{value}\"}}").into()]), ["0"]);
    }
    assert_eq!(once(&session, "SELECT count(*) FROM d WHERE n < $1", &["123456789.5".into()]), ["1"]);
    assert_eq!(
        once(&session, "INSERT INTO d VALUES ($1, $2, $3)", &[2.into(), time.into(), number.into()]),
        ["1 rows"]
    );
    assert_eq!(once(&session, "UPDATE d SET t = $1, n = $2 WHERE k = 1", &[time.into(), number.into()]), ["1 rows"]);
    assert_eq!(ask(&session, "SELECT count(*) FROM d WHERE t = '2024-01-01 00:00:01' AND n = 1.01"), ["2"]);
    let insert = session.prepare("INSERT INTO d (k, n) VALUES ($1, $2)", &[]).unwrap();
    assert!(run(&session, &insert, &[3.into(), "123456789.5".into()]).is_err());
}

#[test]
fn arguments_of_ranges_buckets_and_series_have_postgresqls_types() {
    use DataType::{Date32, Float64, Int32, Int64, Utf8};
    let (session, _directory) = filled();
    let (numeric, interval) = (DataType::Decimal128(38, 0), DataType::Interval(IntervalUnit::MonthDayNano));
    let instant = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let floats = || DataType::new_list(Float64, true);
    for (sql, types) in [
        ("SELECT int4range($1, $2), int8range($3, $4, $5)", vec![Int32, Int32, Int64, Int64, Utf8]),
        ("SELECT n FROM t WHERE n <@ int4range($1, $2)", vec![Int32, Int32]),
        ("SELECT numrange($1, $2), numrange(1.5, $3)", vec![numeric.clone(); 3]),
        ("SELECT daterange($1, $2), tsrange($3, $4)", vec![Date32, Date32, TIME, TIME]),
        ("SELECT tstzrange($1, $2)", vec![instant.clone(), instant.clone()]),
        ("SELECT width_bucket($1, $2, $3, $4)", vec![Float64, Float64, Float64, Int32]),
        ("SELECT width_bucket(x, 1.5, $1, $2) FROM t", vec![Float64, Int32]),
        ("SELECT width_bucket(1.5, $1, $2, $3)", vec![numeric.clone(), numeric.clone(), Int32]),
        ("SELECT width_bucket(x, $1), width_bucket($2, ARRAY[x]) FROM t", vec![floats(), Float64]),
        ("SELECT ntile($1) OVER (ORDER BY n) FROM t", vec![Int32]),
        ("SELECT generate_series(1, $1)", vec![Int32]),
        ("SELECT generate_series(n, $1, $2) FROM t", vec![Int32, Int32]),
        ("SELECT generate_series(10000000000, $1)", vec![Int64]),
        ("SELECT generate_series($1, $2)", vec![Int64, Int64]),
        ("SELECT generate_series(1.5, $1, 0.5)", vec![numeric.clone()]),
        ("SELECT generate_series(time, $1, $2) FROM t", vec![instant, interval.clone()]),
        ("SELECT count(*) FROM t, generate_series(t.n, $1)", vec![Int32]),
        ("SELECT count(*) FROM generate_series(-1, $1)", vec![Int32]),
        ("SELECT count(*) FROM generate_series(10000000000, $1)", vec![Int64]),
        ("SELECT count(*) FROM generate_series(1.5, $1, 0.5)", vec![numeric]),
        ("SELECT count(*) FROM generate_series($1::INT, $2, $3)", vec![Int32, Int32, Int32]),
        ("SELECT count(*) FROM generate_series(TIMESTAMP '2024-01-01', $1, $2)", vec![TIME, interval]),
    ] {
        let prepared = session.prepare(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(prepared.parameter_types(), types, "{sql}");
    }
    assert_eq!(once(&session, "SELECT int4range($1, $2)", &[1.into(), 5.into()]), ["[1,5)"]);
    assert_eq!(once(&session, "SELECT numrange($1, $2)", &["1.50".into(), "2.5".into()]), ["[1.50,2.5)"]);
    let bucket = "SELECT width_bucket($1, $2, $3, $4)";
    assert_eq!(once(&session, bucket, &[5.35.into(), 0.024.into(), 10.06.into(), 5.into()]), ["3"]);
    assert_eq!(once(&session, "SELECT ntile($1) OVER (ORDER BY n) AS p FROM t ORDER BY p", &[2.into()]), ["1", "2"]);
    assert_eq!(once(&session, "SELECT generate_series(2, $1) AS v", &[3.into()]), ["2", "3"]);
    assert_eq!(once(&session, "SELECT generate_series(1.5, $1, 0.5) AS v", &[2.into()]), ["1.5", "2.0"]);
}

#[test]
fn the_distance_to_another_row_may_be_a_parameter() {
    let (session, _directory) = filled();
    for (function, wanted) in [("lag", ["1", "9"]), ("lead", ["2", "9"])] {
        let sql = format!("SELECT {function}(n, $1, $2) OVER (ORDER BY n) AS other FROM t ORDER BY other");
        assert_eq!(once(&session, &sql, &[1.into(), 9.into()]), wanted, "{function}");
    }
}

#[test]
fn a_number_of_rows_that_is_null_is_no_limit() {
    let (session, _directory) = filled();
    ask(&session, "INSERT INTO t (time, n) VALUES ('2024-01-03', 2), ('2024-01-04', 3)");
    for (limit, counts) in [
        ("LIMIT $1", ["4", "2", "0"]),
        ("FETCH FIRST $1 ROWS ONLY", ["4", "2", "0"]),
        ("FETCH FIRST $1 ROWS WITH TIES", ["4", "3", "0"]),
        ("FETCH FIRST ($1) ROWS WITH TIES", ["4", "3", "0"]),
        ("OFFSET 1 ROW FETCH NEXT $1 ROWS WITH TIES", ["3", "2", "0"]),
    ] {
        let sql = format!("SELECT count(*) FROM (SELECT n FROM t ORDER BY n {limit}) AS found");
        assert_eq!(described(&session, &sql, &[]).0, ["int64"], "{limit}");
        for (value, count) in [ParameterValue::null(), 2_i64.into(), 0_i64.into()].into_iter().zip(counts) {
            assert_eq!(once(&session, &sql, &[value]), [count], "{limit}");
        }
        let error = run(&session, &session.prepare(&sql, &[]).unwrap(), &[(-1_i64).into()]).unwrap_err();
        assert!(error.message().contains("LIMIT must not be negative"), "{limit}: {error}");
    }
}

#[test]
fn the_factor_of_an_interval_may_be_a_parameter() {
    let (session, _directory) = filled();
    for product in ["INTERVAL '1 day' * $1", "$1 * INTERVAL '1 day'", "INTERVAL '3 days' / $1"] {
        let sql = format!("SELECT n FROM t WHERE time > TIMESTAMP '2024-01-03 06:00:00' - {product} ORDER BY n");
        let factor = if product.contains('/') { 2.0 } else { 1.5 };
        assert_eq!(once(&session, &sql, &[factor.into()]), ["2"], "{product}");
    }
}

#[test]
fn the_fraction_of_a_percentile_may_be_a_parameter() {
    let (session, _directory) = filled();
    for function in ["percentile_cont", "percentile_disc"] {
        let sql = format!("SELECT {function}($1) WITHIN GROUP (ORDER BY x) AS p FROM t WHERE n < $2");
        let (types, columns) = (vec!["float64".to_owned(), "int32".to_owned()], Some(vec!["p float64".to_owned()]));
        assert_eq!(described(&session, &sql, &[]), (types, columns));
        let prepared = session.prepare(&sql, &[]).unwrap();
        let middle = if function == "percentile_cont" { "1.0" } else { "0.5" };
        for (fraction, wanted) in [(0.0, "0.5"), (0.5, middle), (1.0, "1.5")] {
            assert_eq!(run(&session, &prepared, &[fraction.into(), 3.into()]).unwrap(), [wanted], "{fraction}");
        }
        assert!(run(&session, &prepared, &[2.0.into(), 3.into()]).is_err());
    }
}

#[test]
fn spaces_at_the_end_of_a_value_mean_nothing_beside_a_char() {
    let (session, _directory) = session("sqlite");
    ask(&session, "CREATE TABLE c (time TIMESTAMP, plain CHAR(4), mapped CHAR(4)) WITH (map = 'mapped:u8')");
    ask(&session, "INSERT INTO c VALUES ('2024-01-01', 'ab', 'ab'), ('2024-01-02', 'cd ', 'cd ')");
    for column in ["plain", "mapped"] {
        for condition in ["= $1", "IN ($1, 'y')", "BETWEEN $1 AND $1", "IS NOT DISTINCT FROM $1"] {
            let sql = format!("SELECT count(*) FROM c WHERE {column} {condition}");
            let prepared = session.prepare(&sql, &[]).unwrap();
            for (value, expected) in [("ab", "1"), ("ab  ", "1"), ("cd ", "1"), ("x ", "0")] {
                assert_eq!(run(&session, &prepared, &[value.into()]).unwrap(), [expected], "{sql}, '{value}'");
            }
        }
    }
}
