//! Texts of columns with a declared length, without SQL: spaces beyond it are cut, and longer texts are refused in
//! every way in which rows come into a table.

use crate::support::{Row, append, batch_of, engine, engines, read_all, readings, redefine, row};
use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use atsdb_core::{ColumnType, ErrorKind, InMemory, Result, Table, TableDefinition, TextLength};
use atsdb_engine::{ColumnSpec, Engine, Field, Record, RowReader, RowWriter, SystemEnvironment};
use atsdb_memory::MemoryStore;
use std::sync::Arc;

const VARCHAR: TextLength = TextLength { characters: 3, is_char: false };
const CHAR: TextLength = TextLength { characters: 3, is_char: true };

/// Readings whose sensor is a plain text of one length, and whose status is a mapped text of another.
fn with_lengths(sensor: Option<TextLength>, status: Option<TextLength>) -> TableDefinition {
    let mut definition = readings();
    definition.columns[1].map = None;
    (definition.columns[1].length, definition.columns[2].length) = (sensor, status);
    definition
}

/// A row without its time.
struct Reading(&'static str, &'static str, i32);

impl Record for Reading {
    fn columns() -> Vec<ColumnSpec> {
        Vec::new()
    }

    fn write(&self, row: &mut RowWriter<'_>) {
        row.put_text(0, self.0);
        row.put_text(1, self.1);
        self.2.write(row, 2);
    }

    fn read(row: &RowReader<'_>) -> Result<Self> {
        Ok(Self("", "", Field::read(row, 2)?))
    }
}

fn append_rows(engine: &Engine, table: &Table, rows: &[Row]) -> Result<()> {
    let mut batch = engine.batch(None);
    batch.append(table, &batch_of(rows))?;
    batch.commit().map(drop)
}

fn assert_too_long<T: std::fmt::Debug>(done: Result<T>, part: &str) {
    let error = done.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
    assert!(error.message().contains(part), "{error}");
}

#[test]
fn rows_of_batches_are_cut_or_refused() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&with_lengths(Some(VARCHAR), Some(CHAR))).unwrap();
        append_rows(&engine, &table, &[row(1, "abc", "abc", 1), row(2, "äö    ", "ü    ", 2)]).unwrap();
        let long = append_rows(&engine, &table, &[row(3, "a", "b", 3), row(4, "abcd", "b", 4)]);
        assert_too_long(long, "column sensor: row 2: value too long for type character varying(3)");
        let long = append_rows(&engine, &table, &[row(3, "a", "bcde", 3)]);
        assert_too_long(long, "column status: row 1: value too long for type character(3)");
        let expected = [row(1, "abc", "abc", 1), row(2, "äö ", "ü", 2)];
        assert_eq!(read_all(&engine, &table).unwrap(), expected);
        engine.recompress(None).unwrap();
        assert_eq!(read_all(&engine, &table).unwrap(), expected);
    }
}

#[test]
fn rows_pushed_one_by_one_are_cut_or_refused() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&with_lengths(Some(VARCHAR), Some(CHAR))).unwrap();
        let mut appender = engine.appender(&table);
        appender.push(1, &Reading("abc  ", "b  ", 1)).unwrap();
        let refused = "value too long for type character";
        assert_too_long(appender.push(2, &Reading("abcd", "b", 2)), refused);
        assert_too_long(appender.push(3, &Reading("a", "bcde", 3)), refused);
        appender.push(4, &Reading("a", "b", 4)).unwrap();
        appender.flush().unwrap();
        assert_eq!(read_all(&engine, &table).unwrap(), [row(1, "abc", "b", 1), row(4, "a", "b", 4)]);
    }
}

#[test]
fn changed_values_are_cut_or_refused() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&with_lengths(Some(VARCHAR), Some(CHAR))).unwrap();
        append(&engine, &table, &[row(1, "a", "b", 1)]);
        let mut batch = engine.batch(None);
        let texts = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
        let stored = batch.stored(&table, 1, &texts("xyz   ")).unwrap();
        assert_eq!(stored.as_string::<i32>().value(0), "xyz");
        let completed = batch.completed(&table, 2, &texts("x  ")).unwrap();
        assert_eq!(completed.as_string::<i32>().value(0), "x");
        for position in [1, 2] {
            assert_too_long(batch.stored(&table, position, &texts("long")), "value too long for type character");
        }
    }
}

#[test]
fn a_length_is_declared_only_if_all_rows_have_it() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&with_lengths(None, None)).unwrap();
        append(&engine, &table, &[row(1, "abc", "abcd", 1), row(2, "äöü", "b", 2), row(3, "a  ", "b", 3)]);
        let long = redefine(&engine, &table, with_lengths(None, Some(VARCHAR)));
        assert_too_long(long, "column status: value too long for type character varying(3)");
        let cut = redefine(&engine, &table, with_lengths(Some(CHAR), None));
        assert_too_long(cut, "column sensor: a text has spaces at its end, which CHAR(3) would cut");
        redefine(&engine, &table, with_lengths(Some(VARCHAR), None)).unwrap();
        let table = engine.table("readings").unwrap();
        assert_too_long(append_rows(&engine, &table, &[row(4, "abcd", "b", 4)]), "value too long");
        redefine(&engine, &table, with_lengths(None, None)).unwrap();
        append(&engine, &engine.table("readings").unwrap(), &[row(4, "abcd", "b", 4)]);
    }
}

#[test]
fn rows_that_were_made_before_a_length_are_tested_before_they_are_stored() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&with_lengths(None, None)).unwrap();
        let (mut pushed, mut appended) = (engine.appender(&table), engine.batch(None));
        pushed.push(1, &Reading("a", "long", 1)).unwrap();
        appended.append(&table, &batch_of(&[row(2, "long", "b", 2)])).unwrap();
        redefine(&engine, &table, with_lengths(Some(VARCHAR), Some(VARCHAR))).unwrap();
        engine.table("readings").unwrap();
        assert_too_long(pushed.flush(), "column status: value too long for type character varying(3)");
        assert_eq!(appended.commit().unwrap_err().kind(), ErrorKind::Conflict);
        pushed.push(3, &Reading("a", "b", 3)).unwrap();
        pushed.flush().unwrap();
        assert_eq!(read_all(&engine, &engine.table("readings").unwrap()).unwrap(), [row(3, "a", "b", 3)]);
    }
}

#[test]
fn tables_in_memory_have_lengths_too() {
    let engine = engine(Arc::new(MemoryStore::new([7; 16])), SystemEnvironment);
    let mut definition = TableDefinition::new("names").with_column("name", ColumnType::Text, None);
    definition.memory = Some(InMemory::default());
    definition.columns[0].length = Some(VARCHAR);
    let table = engine.create_table(&definition).unwrap();
    let add = |table: &Table, name: &str| -> Result<()> {
        let mut batch = engine.batch(None);
        let rows = [("name", Arc::new(StringArray::from(vec![name])) as ArrayRef)];
        batch.append(table, &RecordBatch::try_from_iter(rows).unwrap())?;
        batch.commit().map(drop)
    };
    add(&table, "abc  ").unwrap();
    assert_too_long(add(&table, "abcd"), "value too long for type character varying(3)");
    let state = engine.snapshot().unwrap().resident(&table).unwrap();
    let (part, rows) = state.row_ranges(9).remove(0);
    let (columns, _) = state.read(part, rows, &[0]).unwrap();
    assert_eq!(columns[0].as_string::<i32>().iter().collect::<Vec<_>>(), [Some("abc")]);
    let mut shorter = definition.clone();
    shorter.columns[0].length = Some(TextLength { characters: 2, ..VARCHAR });
    assert_too_long(redefine(&engine, &table, shorter), "value too long for type character varying(2)");
}
