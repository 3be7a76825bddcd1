//! CHECK constraints: without a layer that knows conditions rows are refused, and with one all rows are tested.

use crate::support::{batch_of, engines, readings};
use arrow::array::{ArrayRef, AsArray, StringArray};
use atsdb_core::{Check, ErrorKind, Result, TableDefinition};
use atsdb_engine::{ConditionCompiler, Engine, ReadSnapshot, Rewrite, RowCondition, ScanRequest};
use std::sync::Arc;

/// Knows one condition: the texts differ from the one that the constraint names.
struct Differs;

struct DiffersFrom(String);

impl ConditionCompiler for Differs {
    fn compile(&self, _: &TableDefinition, check: &Check, _: &ReadSnapshot) -> Result<Arc<dyn RowCondition>> {
        Ok(Arc::new(DiffersFrom(check.condition.clone())))
    }
}

impl RowCondition for DiffersFrom {
    fn first_violation(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<usize>> {
        let texts = columns[0].as_string::<i32>();
        assert_eq!((columns.len(), texts.iter().count()), (1, row_count));
        Ok(texts.iter().position(|text| text == Some(self.0.as_str())))
    }
}

fn checked() -> TableDefinition {
    let mut definition = readings();
    let columns = vec![definition.columns[2].id];
    definition.checks.push(Check {
        name: "status".to_owned(),
        condition: "broken".to_owned(),
        columns,
        not_valid: false,
    });
    definition
}

fn row(time: i64, status: Option<&str>) -> (i64, Option<String>, Option<String>, Option<i32>) {
    (time, Some("a".to_owned()), status.map(str::to_owned), Some(1))
}

fn row_count(engine: &Engine) -> usize {
    let snapshot = engine.snapshot().unwrap();
    let table = snapshot.table("readings").unwrap();
    let scan = snapshot.scan(table, &ScanRequest::all(table)).unwrap();
    (0..scan.chunks().len()).filter_map(|at| scan.read(at).unwrap()).map(|rows| rows.num_rows()).sum()
}

#[test]
fn rows_are_refused_where_nobody_knows_the_condition() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&checked()).unwrap();
        let mut batch = engine.batch(None);
        let refused = batch.append(&table, &batch_of(&[row(1, Some("ok"))])).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Usage);
        batch.commit().unwrap();
        assert_eq!(row_count(&engine), 0);
    }
}

#[test]
fn rows_are_tested_as_they_come_and_as_they_change() {
    let (_folder, engines) = engines();
    for engine in engines {
        engine.set_condition_compiler(Arc::new(Differs));
        let table = engine.create_table(&checked()).unwrap();
        let mut batch = engine.batch(None);
        batch.append(&table, &batch_of(&[row(1, Some("ok")), row(2, None)])).unwrap();
        let refused = batch.append(&table, &batch_of(&[row(3, Some("ok")), row(4, Some("broken"))])).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::CheckViolation);
        batch.commit().unwrap();
        assert_eq!(row_count(&engine), 2);
        for (status, is_taken) in [("fine", true), ("broken", false)] {
            let mut batch = engine.batch(None);
            let texts: ArrayRef = Arc::new(StringArray::from(vec![status, status]));
            let values = batch.stored(&table, 2, &texts).unwrap();
            let snapshot = batch.snapshot().unwrap();
            let scan = snapshot.scan(&table, &ScanRequest::all(&table)).unwrap();
            let rewritten = scan.rewrite(0, &Rewrite { keep: None, set: vec![(2, values)] });
            match is_taken {
                true => assert!(rewritten.unwrap().is_some()),
                false => assert_eq!(rewritten.unwrap_err().kind(), ErrorKind::CheckViolation),
            }
        }
    }
}

#[test]
fn a_constraint_is_added_only_if_all_rows_satisfy_it() {
    let (_folder, engines) = engines();
    for engine in engines {
        engine.set_condition_compiler(Arc::new(Differs));
        let table = engine.create_table(&readings()).unwrap();
        let mut batch = engine.batch(None);
        batch.append(&table, &batch_of(&[row(1, Some("ok")), row(2, Some("broken"))])).unwrap();
        batch.commit().unwrap();
        let refused = engine.batch(None).redefine(&table, checked()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::CheckViolation);
        let mut other = checked();
        other.checks[0].condition = "missing".to_owned();
        let mut batch = engine.batch(None);
        batch.redefine(&table, other).unwrap();
        batch.commit().unwrap();
    }
}

#[test]
fn rows_that_another_writer_adds_before_the_constraint_are_noticed() {
    let (_folder, engines) = engines();
    for engine in engines {
        engine.set_condition_compiler(Arc::new(Differs));
        let table = engine.create_table(&readings()).unwrap();
        let mut batch = engine.batch(None);
        batch.redefine(&table, checked()).unwrap();
        let mut other = engine.batch(None);
        other.append(&table, &batch_of(&[row(1, Some("broken"))])).unwrap();
        other.commit().unwrap();
        assert_eq!(batch.commit().unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(row_count(&engine), 1);
    }
}

#[test]
fn a_batch_whose_table_another_writer_drops_is_refused_and_nothing_is_called_damaged() {
    let (_folder, engines) = engines();
    for engine in engines {
        engine.set_condition_compiler(Arc::new(Differs));
        let table = engine.create_table(&checked()).unwrap();
        let mut batch = engine.batch(None);
        batch.append(&table, &batch_of(&[row(1, Some("ok"))])).unwrap();
        engine.drop_table(&table).unwrap();
        // The batch knows the strings' indices, and its constraint is tested with strings that may be gone.
        let added = batch.append(&table, &batch_of(&[row(2, Some("ok"))]));
        let refused = added.and_then(|()| batch.commit()).unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::NotFound | ErrorKind::Conflict), "{refused}");
    }
}
