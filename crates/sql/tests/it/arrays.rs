//! Arrays in prepared statements and in joins.

use crate::render::{ask, lines};
use crate::stores::session;
use arrow::datatypes::DataType;
use atsdb_sql::{Answer, ParameterValue, Session};

fn filled() -> (Session, tempfile::TempDir) {
    let (session, directory) = session("sqlite");
    ask(&session, "CREATE TABLE t (i INT, s TEXT, a INT[], b TEXT[], c DOUBLE PRECISION[], d NUMERIC(6, 2), u UUID)");
    let uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    ask(&session, &format!("INSERT INTO t VALUES (1, 'x', '{{1,2}}', '{{x,y}}', '{{0,1.5}}', 1.5, '{uuid}')"));
    ask(&session, "INSERT INTO t VALUES (2, 'y', '{}', '{}', '{-0.0}', NULL, NULL)");
    (session, directory)
}

fn found(session: &Session, sql: &str, values: &[ParameterValue]) -> Vec<String> {
    let prepared = session.prepare(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let answer = session.execute_prepared(&prepared, values).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let Answer::Rows(rows) = answer else { panic!("{sql}") };
    rows.flat_map(|batch| lines(&batch.unwrap())).collect()
}

#[test]
fn a_parameter_beside_an_array_gets_its_type() {
    let (session, _directory) = filled();
    let list = |element: DataType| DataType::new_list(element, true);
    let (int, text) = (DataType::Int32, DataType::Utf8);
    for (expression, types) in [
        ("i = ANY ($1)", vec![list(int.clone())]),
        ("i <> ALL ($1)", vec![list(int.clone())]),
        ("i <= ALL ($1)", vec![list(int.clone())]),
        ("s = ANY ($1)", vec![list(text.clone())]),
        ("$1 = ANY (a)", vec![int.clone()]),
        ("$1 <> ALL (b)", vec![text.clone()]),
        ("$1 < ANY (c)", vec![DataType::Float64]),
        ("a[$1]", vec![int.clone()]),
        ("a[$1:$2]", vec![int.clone(), int.clone()]),
        ("array_append(a, $1)", vec![int.clone()]),
        ("array_prepend($1, a)", vec![int.clone()]),
        ("array_remove(a, $1)", vec![int.clone()]),
        ("array_replace(a, $1, $2)", vec![int.clone(), int.clone()]),
        ("array_position(b, $1, $2)", vec![text.clone(), int.clone()]),
        ("array_positions(c, $1)", vec![DataType::Float64]),
        ("array_cat(a, $1)", vec![list(int.clone())]),
        ("array_cat($1, b)", vec![list(text.clone())]),
        ("array_length(a, $1)", vec![int.clone()]),
        ("ARRAY[i, $1]", vec![int.clone()]),
        ("CASE WHEN i = 1 THEN a ELSE $1 END", vec![list(int.clone())]),
        ("a IS DISTINCT FROM $1", vec![list(int)]),
    ] {
        let sql = format!("SELECT {expression} AS x FROM t");
        let prepared = session.prepare(&sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(prepared.parameter_types(), types, "{sql}");
    }
    let bounded = session.prepare("SELECT i FROM t WHERE i > ANY ($1) OR i <= ALL ($2)", &[]).unwrap();
    assert_eq!(bounded.parameter_types(), [list(DataType::Int32), list(DataType::Int32)]);
    let decimals = session.prepare("SELECT i FROM t WHERE d = ANY ($1)", &[]).unwrap();
    assert_eq!(decimals.parameter_types(), [list(DataType::Decimal128(38, 10))]);
}

#[test]
fn values_of_parameters_are_found_in_arrays_and_arrays_hold_them() {
    let (session, _directory) = filled();
    let numbers = || ParameterValue::array(vec![2_i64.into(), ParameterValue::null()]).unwrap();
    for (sql, value, expected) in [
        ("SELECT i FROM t WHERE i = ANY ($1)", numbers(), vec!["2"]),
        ("SELECT i FROM t WHERE i = ANY ($1)", "{2,7}".into(), vec!["2"]),
        ("SELECT i FROM t WHERE i <> ALL ($1)", "{2,7}".into(), vec!["1"]),
        ("SELECT i FROM t WHERE d = ANY ($1)", "{1e2,1.5000}".into(), vec!["1"]),
        ("SELECT i FROM t WHERE $1 = ANY (a)", "2".into(), vec!["1"]),
        ("SELECT i FROM t WHERE $1 = ANY (c) ORDER BY i", 0.0.into(), vec!["1", "2"]),
        ("SELECT a[$1] AS x FROM t WHERE i = 1", 2_i64.into(), vec!["2"]),
        ("SELECT array_append(a, $1) AS x FROM t ORDER BY i", 5.into(), vec!["[1, 2, 5]", "[5]"]),
        ("SELECT array_cat(a, $1) AS x FROM t ORDER BY i", "{5}".into(), vec!["[1, 2, 5]", "[5]"]),
    ] {
        assert_eq!(found(&session, sql, &[value]), expected, "{sql}");
    }
    // A constant array of floats is a list, in which zeros are equal, too.
    let zeros = "SELECT i FROM t WHERE c[1] = ANY ($1) ORDER BY i";
    assert_eq!(found(&session, zeros, &["{7,8,9,10,-0}".into()]), ["1", "2"]);
    // UUIDs have one form.
    let uuid = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11";
    let uuids = ParameterValue::array(vec![uuid.into()]).unwrap();
    assert_eq!(found(&session, "SELECT i FROM t WHERE u = ANY ($1)", &[uuids]), ["1"]);
    assert_eq!(found(&session, "SELECT i FROM t WHERE u = ANY ($1)", &[format!("{{{uuid}}}").into()]), ["1"]);
}

#[test]
fn equal_arrays_are_found_by_a_hash_join() {
    let (session, _directory) = filled();
    for condition in ["x.a = y.a", "x.b = y.b", "x.c = y.c"] {
        let plan = ask(&session, &format!("EXPLAIN SELECT x.i FROM t AS x JOIN t AS y ON {condition}")).join("\n");
        assert!(plan.contains("HashJoin") && !plan.contains("NestedLoop"), "{condition}\n{plan}");
    }
    let semi = ask(&session, "EXPLAIN SELECT i FROM t WHERE EXISTS (SELECT 1 FROM t AS y WHERE y.a = t.a)").join("\n");
    assert!(semi.contains("HashJoin"), "{semi}");
}
