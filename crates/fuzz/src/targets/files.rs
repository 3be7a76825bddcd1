//! Files to import: separated values, JSON, Parquet, and files of one column, split into lines.

use super::corpus::{committed, without_checksum};
use crate::target::Target;
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use atsdb_core::{Column, ColumnId, ColumnType, Result, TableDefinition};
use atsdb_import::{Format, Input, Options, SingleColumn, Sink, import};
use std::io::Cursor;
use std::sync::Arc;

pub(super) fn all() -> Vec<Target> {
    vec![
        Target { name: "csv", test_count: 1_500, corpus: csv, reseal: without_checksum, read: read_csv },
        Target { name: "json", test_count: 1_500, corpus: json, reseal: without_checksum, read: read_json },
        Target { name: "parquet", test_count: 1_500, corpus: parquet, reseal: without_checksum, read: read_parquet },
        Target {
            name: "workbook",
            test_count: 1_500,
            corpus: workbooks,
            reseal: without_checksum,
            read: read_workbook,
        },
        Target { name: "lines", test_count: 1_500, corpus: lines, reseal: without_checksum, read: read_lines },
    ]
}

/// Counts the rows after the last call of `begin`.
#[derive(Default)]
struct CountingSink {
    definition: Option<TableDefinition>,
    row_count: u64,
}

impl Sink for CountingSink {
    fn begin(&mut self, definition: &TableDefinition) -> Result<()> {
        (self.definition, self.row_count) = (Some(definition.clone()), 0);
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        self.row_count += batch.num_rows() as u64;
        Ok(())
    }
}

/// Imports a file, once strictly and once skipping bad records. An error must name the file, and a report must count
/// the rows.
fn read(name: &str, format: Option<Format>, bytes: &[u8]) {
    for skip_bad in [false, true] {
        let input = Input::Reader(name.to_owned(), Box::new(Cursor::new(bytes.to_vec())));
        let options = Options { format, skip_bad, ..Options::default() };
        let mut sink = CountingSink::default();
        match import("t", vec![input], &options, None, &mut sink, &|_| ()) {
            Ok(report) => {
                assert_eq!(report.row_count, sink.row_count);
                assert_eq!(Some(&report.definition), sink.definition.as_ref());
                report.definition.check().expect("a definition that a store takes");
            }
            Err(error) => {
                assert_ne!(error.kind(), atsdb_core::ErrorKind::Internal, "{error}");
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

fn csv() -> Vec<Vec<u8>> {
    committed("csv")
}

fn read_csv(bytes: &[u8]) {
    read("a.csv", None, bytes);
    read("a.csv", Some(Format::Csv), bytes);
}

fn json() -> Vec<Vec<u8>> {
    committed("json")
}

fn read_json(bytes: &[u8]) {
    read("a.json", None, bytes);
    read("a.json", Some(Format::Json), bytes);
}

fn parquet() -> Vec<Vec<u8>> {
    let columns: [(&str, ArrayRef); 3] = [
        ("n", Arc::new(Int64Array::from_iter_values((0..60).map(|row| 1_700_000_000 + row * 60)))),
        ("s", Arc::new(StringArray::from_iter((0..60).map(|row| (row % 9 > 0).then(|| format!("s{}", row % 7)))))),
        ("x", Arc::new(Float64Array::from_iter_values((0..60).map(|row| f64::from(row) / 8.0)))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)));
    let batch = batch.expect("a batch");
    let write = |take: &[usize]| {
        let batch = batch.project(take).expect("columns");
        let mut bytes = Vec::new();
        let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).expect("a writer");
        writer.write(&batch).expect("rows");
        writer.close().expect("a file");
        bytes
    };
    vec![write(&[0, 1, 2]), write(&[0]), write(&[1])]
}

fn read_parquet(bytes: &[u8]) {
    read("a.parquet", Some(Format::Parquet), bytes);
}

/// The workbooks of the importer's tests.
fn workbooks() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/workbooks");
    let names = ["types.xlsx", "several.xlsx", "small.xlsb", "types.xls", "types.ods"];
    names.iter().map(|name| std::fs::read(folder.join(name)).expect("a workbook")).collect()
}

fn read_workbook(bytes: &[u8]) {
    read("a.xlsx", None, bytes);
}

fn lines() -> Vec<Vec<u8>> {
    vec![
        b"1\n2\n-3\n444444444444444444\n0\n".to_vec(),
        b"abc\nde f\nn\xc3\xa4mlich\n\"quoted\"\nNA\n".to_vec(),
        b"7\r\n8\r\n9".to_vec(),
    ]
}

/// Checks that there are as many rows as lines, unless the file is left to the importer.
fn read_lines(bytes: &[u8]) {
    use std::io::Write;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("the file");
    for column_type in [ColumnType::Int64, ColumnType::Int8, ColumnType::Text] {
        let column = Column::new(ColumnId(0), "c", column_type);
        let single = SingleColumn { column: &column, delimiter: b',', null: &[], bytes_max: 1 << 20 };
        if let Ok(Some(batches)) = single.read(file.path()) {
            let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
            let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(count, ends + usize::from(!bytes.is_empty() && !bytes.ends_with(b"\n")));
        }
    }
}
