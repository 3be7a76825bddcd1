//! Separators, quotes, headers, compression, JSON, Parquet.

use crate::support::{KeptRows, csv, refused, run, text, with};
use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, IntervalDayTimeArray, IntervalYearMonthArray, StringArray, StructArray,
    TimestampMillisecondArray, UInt64Array,
};
use arrow::datatypes::{Field, IntervalDayTime, IntervalMonthDayNano, IntervalMonthDayNanoType};
use arrow::record_batch::RecordBatch;
use atsdb_import::{Encoding, Options, Progress, import};
use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType, Int64Type as ParquetInt64};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;

#[test]
fn comma_semicolon_tab_and_bar_are_distinguished() {
    for separator in [",", ";", "\t", "|"] {
        let content =
            ["time,a,b", "2024-01-01 00:00:00,1,x y", "2024-01-01 00:01:00,2,z"].join("\n").replace(',', separator);
        assert_eq!(csv(content).columns(), ["*time timestamp_us", "a int64", "b text"], "{separator:?}");
    }
}

#[test]
fn commas_in_the_text_do_not_win_over_the_semicolons_between() {
    let imported = csv("a;b;c\n1;x, y;2\n3;y, z;4\n");
    assert_eq!(imported.columns(), ["a int64", "b text", "c int64"]);
}

#[test]
fn decimal_commas_do_not_win_over_the_semicolons_of_the_header() {
    let imported = csv("time;v\r\n2024-02-01 10:00;1,5\r\n2024-02-01 11:00;2,5\r\n");
    assert_eq!(imported.columns(), ["*time timestamp_us", "v float64"]);
    assert_eq!(imported.texts("v"), ["1.5", "2.5"]);
}

#[test]
fn quoted_fields_hold_line_ends_and_quotes() {
    let imported = csv("a,b\r\n\"x,\r\n\"\"y\"\"\",1\r\n\"\",2\r\n");
    assert_eq!(imported.texts("a"), ["x,\r\n\"y\"", ""]);
    assert_eq!(imported.texts("b"), ["1", "2"]);
}

#[test]
fn lines_may_end_with_a_carriage_return_alone() {
    for content in ["time,v\r2024-01-01,1\r2024-01-02,\"x, y\"\r", "\u{feff}time,v\r2024-01-01,1\r2024-01-02,\"x, y\""]
    {
        let imported = csv(content);
        assert_eq!(imported.columns(), ["*time date", "v text"], "{content:?}");
        assert_eq!(imported.texts("v"), ["1", "x, y"], "{content:?}");
    }
    let error = refused("time,v\r2024-01-01,1\rnever,2\r2024-01-03,x\r");
    assert!(error.message().starts_with("a.csv, line 3, column time: "), "{error}");
    let options = Options { encoding: Some(Encoding::parse("utf-16le").unwrap()), ..Options::default() };
    let content: Vec<u8> = "time,v\r2024-01-01,1\r".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(with(content, &options).texts("v"), ["1"]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_name() {
    assert_eq!(csv("\u{feff}a,b\n1,2\n").columns(), ["a int64", "b int64"]);
}

#[test]
fn padded_headers_are_trimmed_and_so_are_their_texts() {
    let imported = csv(" a , b \n 1 , x \n 2 , y \n");
    assert_eq!(imported.columns(), ["a int64", "b text"]);
    assert_eq!(imported.texts("b"), ["x", "y"]);
    assert_eq!(csv("a,b\n1, x\n2,y\n").texts("b"), [" x", "y"]);
}

#[test]
fn an_unnamed_row_number_comes_first() {
    let imported = csv("\"date\",\"v\"\n\"1\",\"2015-02-02 14:19:00\",2.5\n\"2\",\"2015-02-02 14:19:59\",3\n");
    assert_eq!(imported.columns(), ["row int64", "*date timestamp_us", "v float64"]);
}

#[test]
fn a_separator_at_the_end_of_every_record_is_no_column() {
    assert_eq!(csv("a,b\n1,2,\n3,4,\n").columns(), ["a int64", "b int64"]);
}

#[test]
fn names_that_come_twice_are_numbered() {
    assert_eq!(csv("a,A,,a\n1,2,3,4\n").columns(), ["a int64", "A_2 int64", "column3 int64", "a_3 int64"]);
}

#[test]
fn without_a_header_columns_are_numbered() {
    let imported = csv("2024-01-01 00:00:00,1\n2024-01-01 00:01:00,2\n");
    assert_eq!(imported.columns(), ["*column1 timestamp_us", "column2 int64"]);
    assert_eq!(imported.report.row_count, 2);
    let named = with("x,y\nz,w\n", &Options { header: Some(false), ..Options::default() });
    assert_eq!(named.texts("column1"), ["x", "z"]);
}

#[test]
fn the_last_line_needs_no_line_end() {
    assert_eq!(csv("a,b\n1,2\n3,4").texts("b"), ["2", "4"]);
}

#[test]
fn gzip_and_zstd_are_known_by_their_content() {
    let content = b"a,b\n1,2\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(content).unwrap();
    let zstd = zstd::encode_all(&content[..], 1).unwrap();
    for compressed in [gzip.finish().unwrap(), zstd] {
        assert_eq!(csv(compressed).texts("b"), ["2"]);
    }
}

#[test]
fn a_cut_off_gzip_file_is_an_error() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all("a,b\n1,2\n".repeat(100_000).as_bytes()).unwrap();
    let mut bytes = gzip.finish().unwrap();
    bytes.truncate(bytes.len() / 2);
    assert!(refused(bytes).message().contains("a.csv: the compressed data is damaged or cut off"));
}

#[test]
fn json_lines_objects_and_arrays_are_the_same() {
    let objects = [
        r#"{"time":"2024-01-01T00:00:00Z","v":1,"at":{"x":"µ","y":[1,2]}}"#,
        r#"{"time":"2024-01-01T00:01:00Z","v":2.5,"at":{"x":null},"more":true}"#,
    ];
    for content in [objects.join("\n"), objects.join(" "), format!("[\n{}\n]", objects.join(",\n"))] {
        let imported = run(vec![text("a.json", content)], &Options::default(), None).unwrap();
        assert_eq!(imported.columns(), ["*time timestamp_us", "v float64", "at.x text", "at.y text", "more bool"]);
        assert_eq!(imported.texts("at.x"), ["µ", "∅"]);
        assert_eq!(imported.texts("at.y"), ["[1,2]", "∅"]);
        assert_eq!(imported.texts("more"), ["∅", "true"]);
    }
}

#[test]
fn json_strings_are_times_or_text_never_numbers() {
    let imported =
        run(vec![text("a.jsonl", "{\"a\":\"1\",\"b\":\"NA\"}\n{\"a\":\"2\",\"b\":\"x\"}")], &Options::default(), None);
    let imported = imported.unwrap();
    assert_eq!(imported.columns(), ["a text", "b text"]);
    assert_eq!(imported.texts("b"), ["NA", "x"]);
}

#[test]
fn floats_that_json_has_no_number_for_are_floats_beside_numbers() {
    let content = "{\"v\":1,\"w\":\"NaN\"}\n{\"v\":\"NaN\",\"w\":\"x\"}\n{\"v\":\"-inf\",\"w\":\"inf\"}\n";
    let imported = run(vec![text("a.jsonl", content)], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["v float64", "w text"]);
    assert_eq!(
        (imported.texts("v").join(" "), imported.texts("w").join(" ")),
        ("1.0 NaN -inf".into(), "NaN x inf".into())
    );
}

#[test]
fn a_json_name_that_comes_late_is_a_column() {
    let mut content = "{\"a\":1}\n".repeat(700_000);
    content.push_str("{\"a\":2,\"late\":3}\n");
    let imported = run(vec![text("a.jsonl", content)], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["a int64", "late int64"]);
    assert_eq!(imported.null_count("late"), 700_000);
}

#[test]
fn parquet_keeps_its_types() {
    let batch = RecordBatch::try_from_iter([
        ("ts", Arc::new(TimestampMillisecondArray::from(vec![1_700_000_000_000, 1_700_000_060_000])) as _),
        ("sensor", Arc::new(StringArray::from(vec!["a", "b"])) as _),
        ("n", Arc::new(Int64Array::from(vec![Some(1), None])) as _),
    ])
    .unwrap();
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let imported = run(vec![text("a.parquet", bytes)], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["*ts timestamp_ms", "sensor text", "n int64"]);
    assert_eq!(imported.texts("ts"), ["2023-11-14T22:13:20Z", "2023-11-14T22:14:20Z"]);
    assert_eq!(imported.texts("n"), ["1", "∅"]);
}

#[test]
fn parquet_may_hold_every_unsigned_number() {
    let batch = RecordBatch::try_from_iter([("n", Arc::new(UInt64Array::from(vec![0, u64::MAX])) as _)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let imported = run(vec![text("a.parquet", bytes)], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["n uint64"]);
    assert_eq!(imported.texts("n"), ["0", "18446744073709551615"]);
}

fn parquet_of(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn the_parts_of_a_time_in_parquet_stay_columns() {
    let number = |value: i64| Arc::new(Int64Array::from(vec![value])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("year", number(2024)), ("month", number(1)), ("day", number(2))]).unwrap();
    let imported = run(vec![text("a.parquet", parquet_of(&batch))], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["year int64", "month int64", "day int64"]);
    let notes = imported.report.notes.join("\n");
    assert!(notes.contains("a plain table") && notes.contains("make_timestamp"), "{notes}");
}

#[test]
fn the_progress_within_a_file_of_parquet_is_known() {
    let numbers = Arc::new(Int64Array::from_iter_values(0..100_000)) as ArrayRef;
    let bytes = parquet_of(&RecordBatch::try_from_iter([("n", numbers)]).unwrap());
    let seen = RefCell::new(Vec::new());
    let note =
        |now: Progress| seen.borrow_mut().extend((now.row_count > 0).then_some((now.bytes_read, now.bytes_total)));
    let mut kept = KeptRows::default();
    import("t", vec![text("a.parquet", bytes)], &Options::default(), None, &mut kept, &note).unwrap();
    let seen = seen.into_inner();
    assert!(seen.len() > 2 && seen.is_sorted_by(|a, b| a.0 < b.0), "{seen:?}");
    assert!(seen[0].0 > 0 && seen.last().is_some_and(|(read, total)| read == total), "{seen:?}");
}

#[test]
fn the_intervals_of_arrow_in_parquet_keep_their_signs() {
    let days = IntervalDayTimeArray::from(vec![Some(IntervalDayTime::new(-2, 1_500)), None]);
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef, true),
        ("years", Arc::new(IntervalYearMonthArray::from(vec![None, Some(-14)])) as _, true),
        ("days", Arc::new(days) as _, true),
    ]);
    let imported = run(vec![text("a.parquet", parquet_of(&batch.unwrap()))], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["n int64", "years interval", "days interval"]);
    let intervals = |name: &str| {
        let column = imported.column(name);
        column.as_primitive::<IntervalMonthDayNanoType>().iter().collect::<Vec<_>>()
    };
    assert_eq!(intervals("years"), [None, Some(IntervalMonthDayNano::new(-14, 0, 0))]);
    assert_eq!(intervals("days"), [Some(IntervalMonthDayNano::new(0, -2, 1_500_000_000)), None]);
}

/// A file as other programs write it: without the schema of Arrow, and with all three parts of intervals.
fn foreign_intervals() -> Vec<u8> {
    let schema =
        parse_message_type("message m { required int64 n; optional fixed_len_byte_array(12) gap (INTERVAL); }");
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema.unwrap()), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut numbers = group.next_column().unwrap().unwrap();
    numbers.typed::<ParquetInt64>().write_batch(&[1, 2, 3], None, None).unwrap();
    numbers.close().unwrap();
    let whole = |parts: [u32; 3]| FixedLenByteArray::from(parts.map(u32::to_le_bytes).concat());
    let mut gaps = group.next_column().unwrap().unwrap();
    let values = [whole([3, 4, 5_000]), whole([0, 0, 3_000_000_000])];
    gaps.typed::<FixedLenByteArrayType>().write_batch(&values, Some(&[1, 0, 1]), None).unwrap();
    gaps.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn the_intervals_of_parquet_keep_their_months() {
    let imported = run(vec![text("a.parquet", foreign_intervals())], &Options::default(), None).unwrap();
    assert_eq!(imported.columns(), ["n int64", "gap interval"]);
    let gaps = imported.column("gap");
    let gaps: Vec<_> = gaps.as_primitive::<IntervalMonthDayNanoType>().iter().collect();
    let first = IntervalMonthDayNano::new(3, 4, 5_000_000_000);
    assert_eq!(gaps, [Some(first), None, Some(IntervalMonthDayNano::new(0, 0, 3_000_000_000_000_000))]);
}

#[test]
fn intervals_within_structures_of_parquet_are_refused_unless_left_out() {
    let days = Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(2, 0)])) as ArrayRef;
    let field = Arc::new(Field::new("d", days.data_type().clone(), true));
    let columns: [(&str, ArrayRef); 2] =
        [("n", Arc::new(Int64Array::from(vec![1]))), ("s", Arc::new(StructArray::from(vec![(field, days)])))];
    let bytes = parquet_of(&RecordBatch::try_from_iter(columns).unwrap());
    let read = |options: &Options| run(vec![text("a.parquet", bytes.clone())], options, None);
    let error = read(&Options::default()).map(|imported| imported.columns()).unwrap_err();
    assert_eq!(error.message(), "a.parquet, column s: intervals within lists or structures are not read");
    assert_eq!(error.hint(), Some("--omit s leaves the column out"));
    let without = read(&Options { omit: vec!["s".to_owned()], ..Options::default() }).unwrap();
    assert_eq!(without.columns(), ["n int64"]);
}

#[test]
fn files_of_one_import_are_one_table_and_their_names_a_column() {
    let inputs = || {
        vec![text("11.csv.gz", "time,v\n2024-01-01 00:00:00,1\n"), text("12.csv", "v,time\n2.5,2024-01-02 00:00:00\n")]
    };
    let options = Options { file_column: Some("probe".to_owned()), ..Options::default() };
    let imported = run(inputs(), &options, None).unwrap();
    assert_eq!(imported.columns(), ["*time timestamp_us", "v float64", "probe text~u8"]);
    assert_eq!(imported.texts("probe"), ["11", "12"]);
    assert_eq!(imported.texts("v"), ["1.0", "2.5"]);
}

#[test]
fn a_column_that_one_file_lacks_is_null_there_and_reported() {
    let inputs =
        vec![text("a.csv", "time,x\n2024-01-01 00:00:00,1\n"), text("b.csv", "time,y\n2024-01-01 00:00:00,2\n")];
    let imported = run(inputs, &Options::default(), None).unwrap();
    assert_eq!(
        (imported.texts("x"), imported.texts("y")),
        (vec!["1".into(), "∅".into()], vec!["∅".into(), "2".into()])
    );
    assert!(imported.report.notes[0].starts_with("x, y are not in every file"), "{:?}", imported.report.notes);
}

#[test]
fn an_empty_file_among_others_is_noted() {
    let files = || vec![text("a.csv", "time,x\n2024-01-01 00:00:00,1\n"), text("b.csv", ""), text("c.jsonl", "")];
    let imported = run(files(), &Options::default(), None).unwrap();
    assert_eq!((imported.report.row_count, imported.texts("x")), (1, vec!["1".to_owned()]));
    assert_eq!(imported.report.notes, ["there is nothing in b.csv, c.jsonl"]);
}

#[test]
fn texts_of_other_encodings_are_read() {
    let table = "time;ort;v\n2024-01-01;Köln 😀;1\n2024-01-02;Łódź;2\n";
    let utf16: Vec<u8> = ["\u{feff}", table].concat().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let imported = run(vec![text("a.csv", utf16.clone())], &Options::default(), None).unwrap();
    assert_eq!(imported.texts("ort"), ["Köln 😀", "Łódź"]);
    assert_eq!(imported.columns(), ["*time date", "ort text", "v int64"]);
    let named = |name: &str| Options { encoding: Some(Encoding::parse(name).unwrap()), ..Options::default() };
    let latin = || text("a.csv", b"time,name\n2024-01-01,caf\xe9\n".to_vec());
    assert_eq!(run(vec![latin()], &named("latin1"), None).unwrap().texts("name"), ["café"]);
    let bare = || text("a.csv", utf16[2..].to_vec());
    assert_eq!(run(vec![bare()], &named("utf-16le"), None).unwrap().texts("v"), ["1", "2"]);
    let json: Vec<u8> = "{\"a\": [{\"b\": \"é\"}]}".encode_utf16().flat_map(u16::to_be_bytes).collect();
    let json = [&b"\xfe\xff"[..], &json].concat();
    assert_eq!(run(vec![text("a.json", json)], &Options::default(), None).unwrap().texts("b"), ["é"]);
}
