//! JSON documents, and Parquet columns of types that atsdb does not have.

use crate::support::{Imported, run, text};
use arrow::array::{
    ArrayRef, Decimal128Array, Float64Array, Int64Array, ListArray, StructArray, Time64MicrosecondArray,
};
use arrow::datatypes::{DataType, Field, UInt64Type};
use arrow::record_batch::RecordBatch;
use atsdb_core::Result;
use atsdb_import::Options;
use std::sync::Arc;

fn json(content: &str) -> Result<Imported> {
    run(vec![text("a.json", content)], &Options::default(), None)
}

fn at(content: &str, path: &str) -> Result<Imported> {
    let options = Options { path: Some(path.to_owned()), ..Options::default() };
    run(vec![text("a.json", content)], &options, None)
}

const ANSWER: &str =
    "{\"page\":1,\n\"data\":[\n{\"id\":1,\"pos\":{\"x\":{\"y\":2.5}}},\n{\"id\":2,\"tags\":[1,2]}],\"more\":[1,2]}";

#[test]
fn a_document_of_columns_is_one_row_and_noted() {
    let columns = json("{\"hourly\":{\"time\":[\"2024-01-01\",\"2024-01-02\"],\"temp\":[1.5,2.5]}}").unwrap();
    assert_eq!(columns.texts("hourly.temp"), ["[1.5,2.5]"]);
    let notes = columns.report.notes.join("\n");
    assert!(notes.contains("becomes one row") && notes.contains("hourly.time, hourly.temp"), "{notes}");
    for records in ["{\"a\":[1,2],\"b\":3}", "{\"a\":[1],\"b\":[2]}\n{\"a\":[3],\"b\":[4]}"] {
        assert!(!json(records).unwrap().report.notes.join("\n").contains("becomes one row"), "{records}");
    }
}

#[test]
fn records_inside_a_document_are_found_or_named() {
    let imported = json(ANSWER).unwrap();
    assert_eq!(imported.columns(), ["id int64", "pos.x.y float64", "tags text"]);
    assert_eq!(imported.texts("tags"), ["∅", "[1,2]"]);
    assert!(imported.report.notes.join("\n").contains("of the list data"), "{:?}", imported.report.notes);
    let whole = at(ANSWER, "").unwrap();
    assert_eq!(whole.columns()[0], "page int64");
    let two = "{\"a\":[{\"x\":1}],\"b\":{\"c\":[{\"y\":1},{\"y\":2}]}}";
    let error = json(two).map(|i| i.columns()).unwrap_err();
    assert!(error.message().ends_with("one object with several lists: a, b.c"), "{error}");
    assert_eq!(at(two, "b.c").unwrap().texts("y"), ["1", "2"]);
    let error = at(two, "b.d").map(|i| i.columns()).unwrap_err();
    assert_eq!((error.message(), error.hint()), ("a.json: no list named b.d", Some("did you mean b.c?")));
    let error = json("{\"data\":[\n{\"id\":1},\n{\"id\":oops}]}").map(|i| i.columns()).unwrap_err();
    assert!(error.message().starts_with("a.json, line 3: "), "{error}");
}

#[test]
fn features_become_rows_with_their_properties_and_coordinates() {
    let imported = json(
        "{\"type\":\"FeatureCollection\",\"features\":[\
         {\"type\":\"Feature\",\"properties\":{\"mag\":1.5,\"place\":\"x\"},\"geometry\":{\"type\":\"Point\",\"coordinates\":[13.5,52.25,3]},\"id\":\"a\"},\
         {\"type\":\"Feature\",\"properties\":{\"mag\":2,\"place\":\"y\"},\"geometry\":{\"type\":\"LineString\",\"coordinates\":[[1,2],[3,4]]},\"id\":\"b\"}]}",
    )
    .unwrap();
    assert_eq!(imported.texts("mag"), ["1.5", "2.0"]);
    assert_eq!(
        (imported.texts("longitude"), imported.texts("latitude")),
        (vec!["13.5".into(), "∅".into()], vec!["52.25".into(), "∅".into()])
    );
    assert_eq!(imported.texts("geometry.coordinates"), ["∅", "[[1,2],[3,4]]"]);
    assert!(imported.columns().iter().all(|column| !column.starts_with("type ")), "{:?}", imported.columns());
}

#[test]
fn arrays_are_records_whose_first_may_be_the_header() {
    let named = json("[[\"time\",\"v\"],[\"2024-01-01\",1],[\"2024-01-02\",2.5]]").unwrap();
    assert_eq!(named.columns(), ["*time date", "v float64"]);
    assert_eq!(named.texts("v"), ["1.0", "2.5"]);
    let bare = json("[1,\"x\"]\n[2,\"y\",true]\n").unwrap();
    assert_eq!(bare.columns(), ["column1 int64", "column2 text", "column3 bool"]);
    assert_eq!(bare.texts("column3"), ["∅", "true"]);
    let rows: Vec<String> = (0..200_000).map(|row| format!("[{row},\"{}\"]", row % 7)).collect();
    let large = json(&format!("[{}]", rows.join(",\n"))).unwrap();
    assert_eq!((large.report.row_count, large.columns()[0].as_str()), (200_000, "column1 int64"));
    // More than what is looked at to find a header.
    let rows: Vec<String> = (0..100_000).map(|row| format!("[{row},\"{}\"]", "y".repeat(50))).collect();
    let later = format!("[\"column3\",\"x\"],{},[1,\"z\",5]", rows.join(",\n"));
    let longer = json(&format!("[{later}]")).unwrap();
    assert_eq!(longer.columns(), ["column3 int64", "x text~u8", "column3_2 int64"]);
    assert_eq!(longer.texts("column3_2").last().map(String::as_str), Some("5"));
}

#[test]
fn parquet_columns_keep_decimals_and_times_and_nested_ones_become_text() {
    let list = ListArray::from_iter_primitive::<UInt64Type, _, _>([Some(vec![Some(1), None]), None]);
    let structure = StructArray::from(vec![(
        Arc::new(Field::new("a", DataType::Float64, true)),
        Arc::new(Float64Array::from(vec![1.5, 2.0])) as ArrayRef,
    )]);
    let price = Decimal128Array::from(vec![Some(1_234_567), None]).with_precision_and_scale(15, 3).unwrap();
    let exact = Decimal128Array::from(vec![10_i128.pow(25) + 1, -5]).with_precision_and_scale(38, 2).unwrap();
    let count = Decimal128Array::from(vec![7, 8]).with_precision_and_scale(18, 0).unwrap();
    let clock = Time64MicrosecondArray::from(vec![3_600_000_000, 45_000_000]);
    let columns: [(&str, ArrayRef); 7] = [
        ("n", Arc::new(Int64Array::from(vec![1, 2]))),
        ("price", Arc::new(price)),
        ("exact", Arc::new(exact)),
        ("count", Arc::new(count)),
        ("clock", Arc::new(clock)),
        ("list", Arc::new(list)),
        ("pair", Arc::new(structure)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let imported = run(vec![text("a.parquet", bytes.clone())], &Options::default(), None).unwrap();
    assert_eq!(
        imported.columns(),
        [
            "n int64",
            "price decimal(15,3)",
            "exact decimal(38,2)",
            "count decimal(18,0)",
            "clock time",
            "list text",
            "pair text"
        ]
    );
    let cells = |name: &str| imported.texts(name);
    assert_eq!((cells("price"), cells("count")), (vec!["1234.567".into(), "∅".into()], vec!["7".into(), "8".into()]));
    assert_eq!(cells("exact"), ["100000000000000000000000.01", "-0.05"]);
    assert_eq!(cells("clock"), ["01:00:00", "00:00:45"]);
    assert_eq!(
        (cells("list"), cells("pair")),
        (vec!["[1,null]".into(), "∅".into()], vec!["{\"a\":1.5}".into(), "{\"a\":2.0}".into()])
    );
    let notes = imported.report.notes.join("\n");
    assert!(notes.contains("column list, a list or structure, is read as text, as JSON; --omit list"), "{notes}");
    let options = Options { omit: vec!["list".into(), "pair".into()], ..Options::default() };
    let less = run(vec![text("a.parquet", bytes)], &options, None).unwrap();
    assert!(less.columns().len() == 5 && !less.report.notes.join("\n").contains("column list"));
}
