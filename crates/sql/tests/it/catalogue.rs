//! Keys, indexes, defaults and views in the catalogue, whichever way they were declared.

use crate::scripts::answer;
use crate::stores::session;
use atsdb_core::limits::INDEX_ID_MIN;
use atsdb_core::{ColumnId, ColumnType, ConflictPolicy, Index, MapWidth, TableDefinition, TimeUnit, Unique, Value};
use atsdb_sql::Session;

fn found(session: &Session, sql: &str) -> Vec<String> {
    answer(session, sql).unwrap_or_else(|error| panic!("{error}: {sql}"))[1..].to_vec()
}

fn readings() -> TableDefinition {
    let mut definition = TableDefinition::new("Readings")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Nanosecond), None)
        .with_column("Sensor", ColumnType::Text, Some(MapWidth::U16))
        .with_column("value", ColumnType::Float64, None)
        .with_time("time", TimeUnit::Nanosecond)
        .unwrap();
    definition.columns[1].nullable = false;
    definition.columns[1].default = Some(Value::Text("it's".to_owned()));
    definition.columns[2].default = Some(Value::Float(0.5));
    definition.unique = vec![
        Unique { primary: true, ..Unique::new(vec![ColumnId(1), ColumnId(0)]) },
        Unique { name: Some("by_value".to_owned()), ..Unique::new(vec![ColumnId(2)]) },
    ];
    definition.on_conflict = ConflictPolicy::Keep;
    definition.indexes = vec![Index {
        id: ColumnId(INDEX_ID_MIN),
        name: "Of_Value".to_owned(),
        columns: vec![ColumnId(2), ColumnId(1)],
    }];
    definition.indexes_given = 1;
    definition
}

#[test]
fn keys_indexes_and_defaults_are_listed() {
    let (session, _directory) = session("sqlite");
    session.engine().create_table(&readings()).unwrap();
    assert_eq!(
        found(&session, "SELECT constraint_name, constraint_type FROM information_schema.table_constraints ORDER BY 1"),
        ["Readings_pkey | PRIMARY KEY", "by_value | UNIQUE"]
    );
    let usage = "SELECT constraint_name, column_name, ordinal_position FROM information_schema.key_column_usage \
                 WHERE table_name = 'Readings' ORDER BY constraint_name, ordinal_position";
    assert_eq!(
        found(&session, usage),
        ["Readings_pkey | Sensor | 1", "Readings_pkey | time | 2", "by_value | value | 1"]
    );
    assert_eq!(
        found(&session, "SELECT table_name, index_name, columns, chunks, bytes FROM atsdb.indexes"),
        ["Readings | Of_Value | value, Sensor | 0 | 0"]
    );
    assert_eq!(
        found(&session, "SELECT column_name, default_value FROM atsdb.columns ORDER BY position"),
        ["time | NULL", "Sensor | 'it''s'", "value | 0.5"]
    );
    assert_eq!(found(&session, "SELECT on_conflict FROM atsdb.tables"), ["keep"]);
}

#[test]
fn a_view_has_its_querys_columns_and_no_rows_of_its_own() {
    let (session, _directory) = session("memory");
    session.engine().create_table(&readings()).unwrap();
    let query = "SELECT SENSOR, avg(value) AS Mean FROM readings GROUP BY sensor";
    session.engine().create_table(&TableDefinition::new_view("means", query)).unwrap();
    session.engine().create_table(&TableDefinition::new_view("broken", "SELECT * FROM gone")).unwrap();
    assert_eq!(
        found(&session, "SELECT column_name, type FROM atsdb.columns WHERE table_name IN ('means', 'broken')"),
        ["Sensor | TEXT", "Mean | DOUBLE"]
    );
    assert_eq!(
        found(&session, "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'means'"),
        ["Sensor | TEXT", "Mean | DOUBLE"]
    );
    assert_eq!(
        found(&session, "SELECT kind, rows, sql FROM atsdb.tables WHERE name = 'means'"),
        [format!("view | NULL | CREATE VIEW means AS {query}")]
    );
    assert_eq!(
        found(&session, "SELECT table_name, view_definition FROM information_schema.views ORDER BY 1 LIMIT 1"),
        ["broken | SELECT * FROM gone"]
    );
}

#[test]
fn a_time_of_nanoseconds_is_not_before_its_row() {
    let (session, _directory) = session("memory");
    session
        .engine()
        .create_table(&TableDefinition { unique: vec![], on_conflict: ConflictPolicy::Error, ..readings() })
        .unwrap();
    answer(&session, "INSERT INTO readings VALUES ('2024-01-01 00:00:00.000000001', 'a', 1)").unwrap();
    assert_eq!(
        found(&session, "SELECT time_min, time_max FROM atsdb.tables"),
        ["2024-01-01T00:00:00Z | 2024-01-01T00:00:00.000001Z"]
    );
}
