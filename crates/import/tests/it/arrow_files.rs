//! Arrow IPC: files and streams are read as Parquet is.

use crate::support::{run, text};
use arrow::array::{
    Array, ArrayRef, FixedSizeBinaryArray, Int64Array, IntervalDayTimeArray, ListArray, StringArray,
    TimestampMillisecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Int8Type, Int32Type, IntervalDayTime, Schema, UInt32Type};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use arrow::record_batch::RecordBatch;
use atsdb_core::{ColumnType, TableDefinition, TimeUnit};
use atsdb_import::Options;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;
use std::sync::Arc;

const ROWS: i64 = 40_000;

fn batch() -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("time", Arc::new(TimestampMillisecondArray::from_iter_values((0..ROWS).map(|row| row * 1_000)))),
        ("sensor", Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("s{}", row % 7))))),
        ("v", Arc::new(Int64Array::from_iter((0..ROWS).map(|row| (row % 9 > 0).then_some(row))))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

fn file() -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch().schema()).unwrap();
    writer.write(&batch()).unwrap();
    writer.write(&batch().slice(0, 10)).unwrap();
    writer.into_inner().unwrap()
}

fn stream() -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch().schema()).unwrap();
    writer.write(&batch()).unwrap();
    writer.write(&batch().slice(0, 10)).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn files_and_streams_come_in_with_their_types() {
    for (name, bytes) in [("a.arrow", file()), ("a.bin", stream())] {
        let imported = run(vec![text(name, bytes)], &Options::default(), None).unwrap();
        assert_eq!(imported.columns()[0], "*time timestamp_ms", "{name}");
        assert!(imported.columns()[1].starts_with("sensor text"), "{name}: {:?}", imported.columns());
        assert_eq!(imported.report.row_count, ROWS as u64 + 10, "{name}");
    }
}

/// Two lists: some numbers and a NULL, and none.
fn lists<T: ArrowPrimitiveType>(numbers: &[T::Native]) -> ArrayRef {
    let first: Vec<Option<T::Native>> = numbers.iter().copied().map(Some).chain([None]).collect();
    Arc::new(ListArray::from_iter_primitive::<T, _, _>([Some(first), Some(Vec::new())]))
}

#[test]
fn lists_become_the_arrays_or_the_json_of_a_table() {
    let columns: [(&str, ArrayRef); 4] = [
        ("time", Arc::new(TimestampMillisecondArray::from_iter_values([1_000, 2_000]))),
        ("document", lists::<Int32Type>(&[1, -2])),
        ("small", lists::<Int8Type>(&[1, -128])),
        ("large", lists::<UInt32Type>(&[1, u32::MAX])),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let bytes = writer.into_inner().unwrap();
    let table = TableDefinition::new("t")
        .with_column("time", ColumnType::Timestamp(TimeUnit::Millisecond), None)
        .with_column("document", ColumnType::Json, None)
        .with_column("small", ColumnType::array(ColumnType::Int16).unwrap(), None)
        .with_column("large", ColumnType::array(ColumnType::Int64).unwrap(), None)
        .with_time("time", TimeUnit::Millisecond)
        .unwrap();
    let existing = run(vec![text("a.arrow", bytes.clone())], &Options::default(), Some(&table)).unwrap();
    assert_eq!(existing.texts("document"), ["[1,-2,null]", "[]"]);
    let created = run(vec![text("a.arrow", bytes)], &Options::default(), None).unwrap();
    for imported in [&existing, &created] {
        assert_eq!(imported.texts("small"), ["[1, -128, ∅]", "[]"]);
        assert_eq!(imported.texts("large"), ["[1, 4294967295, ∅]", "[]"]);
    }
    assert_eq!(created.texts("document"), ["[1, -2, ∅]", "[]"]);
}

#[test]
fn the_extension_type_of_uuids_becomes_uuids() {
    let bytes = |digit: u8| Some([digit; 16]);
    let ids = FixedSizeBinaryArray::try_from_sparse_iter_with_size([bytes(0xa1), None].into_iter(), 16).unwrap();
    let times = TimestampMillisecondArray::from_iter_values([1_000, 2_000]);
    let plain = Field::new("plain", DataType::FixedSizeBinary(16), true);
    let extension = [("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())];
    let id = Field::new("id", DataType::FixedSizeBinary(16), true).with_metadata(extension.into());
    let time = Field::new("time", times.data_type().clone(), true);
    let columns: Vec<ArrayRef> = vec![Arc::new(times), Arc::new(ids.clone()), Arc::new(ids)];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![time, id, plain])), columns).unwrap();
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let imported = run(vec![text("a.arrow", writer.into_inner().unwrap())], &Options::default(), None).unwrap();
    assert_eq!(imported.columns()[1..], ["id uuid", "plain binary"]);
    // The bytes are as in the file: the table takes them as UUIDs.
    assert_eq!(imported.texts("id"), ["a1".repeat(16), "∅".into()]);
}

#[test]
fn uuids_of_parquet_need_no_arrow_schema() {
    let ids = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([0xa1; 16]), None].into_iter(), 16).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let element = Arc::new(Field::new("element", DataType::FixedSizeBinary(16), true));
    let lists = ListArray::new(element, OffsetBuffer::from_lengths([2, 0]), Arc::new(ids.clone()), None);
    let columns: [(&str, ArrayRef); 4] =
        [("n", numbers), ("id", Arc::new(ids.clone())), ("plain", Arc::new(ids)), ("ids", Arc::new(lists))];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let types = "message t { optional int64 n; optional fixed_len_byte_array(16) id (UUID); \
                 optional fixed_len_byte_array(16) plain; optional group ids (LIST) { repeated group list { \
                 optional fixed_len_byte_array(16) element (UUID); } } }";
    let types = SchemaDescriptor::new(Arc::new(parse_message_type(types).unwrap()));
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true).with_parquet_schema(types);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let imported = run(vec![text("a.parquet", bytes)], &Options::default(), None).unwrap();
    assert_eq!(imported.columns()[1..], ["id uuid", "plain binary", "ids uuid[]"]);
    assert_eq!(imported.texts("id"), ["a1".repeat(16), "∅".into()]);
    assert!(imported.texts("ids")[0].contains(&"a1".repeat(16)));
}

#[test]
fn enumerations_and_json_of_parquet_are_texts_and_json() {
    let moods: ArrayRef = Arc::new(StringArray::from(vec![Some("calm"), None]));
    let documents: ArrayRef = Arc::new(StringArray::from(vec![Some("{\"a\":[1]}"), Some("null")]));
    let intervals: ArrayRef = Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(1, 500); 2]));
    let columns = [("mood", moods), ("document", documents), ("length", intervals)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let types = "message t { optional binary mood (ENUM); optional binary document (JSON); \
                 optional fixed_len_byte_array(12) length (INTERVAL); }";
    let types = SchemaDescriptor::new(Arc::new(parse_message_type(types).unwrap()));
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true).with_parquet_schema(types);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let imported = run(vec![text("a.parquet", bytes)], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["mood text", "document json", "length interval"]);
    assert_eq!(imported.texts("mood"), ["calm", "∅"]);
    assert_eq!(imported.texts("document"), ["{\"a\":[1]}", "null"]);
}

#[test]
fn json_of_parquet_that_is_none_is_text_with_a_note() {
    let types = "message t { optional binary document (JSON); optional binary other (JSON); }";
    let types = SchemaDescriptor::new(Arc::new(parse_message_type(types).unwrap()));
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true).with_parquet_schema(types);
    let documents: ArrayRef = Arc::new(StringArray::from(vec![Some("{\"a\":1}"), None, Some("{a"), Some("b")]));
    let others: ArrayRef = Arc::new(StringArray::from(vec![Some("[1]"), None, Some("2"), Some("null")]));
    let columns = [("document", documents, true), ("other", others, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let imported = run(vec![text("a.parquet", bytes)], &Options::default(), None).unwrap();
    assert!(imported.columns()[0].starts_with("document text"), "{:?}", imported.columns());
    assert_eq!(imported.columns()[1], "other json");
    assert_eq!(imported.texts("document"), ["{\"a\":1}", "∅", "{a", "b"]);
    let note = "column document, JSON, is read as text: \"{a\" is not JSON";
    assert!(imported.report.notes.iter().any(|other| other == note), "{:?}", imported.report.notes);
}

#[test]
fn one_without_rows_is_an_empty_table() {
    let mut writer = FileWriter::try_new(Vec::new(), &batch().schema()).unwrap();
    writer.finish().unwrap();
    let bytes = writer.into_inner().unwrap();
    let imported = run(vec![text("a.arrow", bytes)], &Options::default(), None).unwrap();
    assert_eq!((imported.report.row_count, imported.columns().len()), (0, 3));
    assert_eq!(imported.columns()[0], "*time timestamp_ms");
}

/// Whatever a file holds, it is an error that names it, or a table.
#[test]
fn a_damaged_or_cut_file_is_an_error_and_no_panic() {
    let mut writer = FileWriter::try_new(Vec::new(), &batch().schema()).unwrap();
    writer.write(&batch().slice(0, 50)).unwrap();
    let bytes = writer.into_inner().unwrap();
    let mut refused = 0;
    for position in 8..bytes.len() - 8 {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x48;
        if let Err(error) = run(vec![text("hostile.arrow", damaged)], &Options::default(), None) {
            assert!(error.to_string().contains("hostile.arrow") || error.to_string().contains("column"), "{error}");
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
    for end in [9, 40, 200, bytes.len() / 2, file().len() - 2_000] {
        let cut = bytes[..end.min(bytes.len() - 400)].to_vec();
        let error = run(vec![text("cut.arrow", cut)], &Options::default(), None).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("cut.arrow: cannot read it as Arrow"), "{end}: {error}");
    }
}
