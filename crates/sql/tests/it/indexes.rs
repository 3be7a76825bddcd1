//! Indexes are shown by EXPLAIN and change no answer.

use crate::render::ask;
use crate::stores::{STORES, session};
use atsdb_core::{ColumnId, ColumnType, Index, TableDefinition, TimeUnit};

#[test]
fn explain_shows_how_many_chunks_an_index_skipped() {
    for store in STORES {
        let (session, _directory) = session(store);
        let mut definition = TableDefinition::new("t")
            .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
            .with_column("number", ColumnType::Int32, None)
            .with_column("code", ColumnType::Text, None)
            .with_time("time", TimeUnit::Second)
            .unwrap();
        let index = |number: u16, name: &str, columns: &[u16]| Index {
            id: ColumnId(0x8000 + number),
            name: name.to_owned(),
            columns: columns.iter().map(|id| ColumnId(*id)).collect(),
        };
        definition.indexes = vec![index(0, "by_code", &[2]), index(1, "by_both", &[1, 2])];
        definition.indexes_given = 2;
        session.engine().create_table(&definition).unwrap();
        ask(
            &session,
            "INSERT INTO t SELECT to_timestamp_seconds((value % 10) * 86400 + value), value * 7 % 1000, \
             concat('c', value * 7 % 1000) FROM generate_series(0, 999) AS s(value)",
        );
        for sealed in [false, true] {
            if sealed {
                session.engine().recompress(None).unwrap();
            }
            let plan = ask(&session, "EXPLAIN SELECT number FROM t WHERE code = 'c77'").join("\n");
            assert!(plan.contains("chunks=1 of 10") && plan.contains("skipped by index by_code: 9"), "{plan}");
            assert_eq!(ask(&session, "SELECT number FROM t WHERE code = 'c77'"), ["77"]);
            let both = "FROM t WHERE number IN (77, 84) AND code = 'c84'";
            let plan = ask(&session, &format!("EXPLAIN SELECT number {both}")).join("\n");
            assert!(plan.contains("by_code") && plan.contains("by_both"), "{plan}");
            assert_eq!(ask(&session, &format!("SELECT count(*) {both}")), ["1"]);
            let plan = ask(&session, "EXPLAIN SELECT number FROM t WHERE code > 'c77'").join("\n");
            assert!(!plan.contains("skipped by index"), "{plan}");
            assert_eq!(ask(&session, "SELECT count(*) FROM t WHERE code = 'nowhere'"), ["0"]);
        }
    }
}
