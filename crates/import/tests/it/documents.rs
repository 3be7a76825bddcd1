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

/// The answer of a service of weather.
const HOURLY: &str = "{\"latitude\":52.5,\"hourly_units\":{\"temp\":\"°C\"},\n\"hourly\":{\"time\":[\"2024-01-01T00:00\",\
                      \"2024-01-01T01:00\",\n\"2024-01-01T02:00\"],\"te\\u006dp\":[1.5, null,2.5]}}";

#[test]
fn objects_in_lists_of_a_list_are_records() {
    let history = json("[[{\"id\":\"a\",\"v\":1},{\"v\":2}],\n [{\"id\":\"b\",\"v\":3}]]\n").unwrap();
    assert_eq!(history.columns(), ["id text", "v int64"]);
    assert_eq!((history.texts("v"), history.null_count("id")), (vec!["1".into(), "2".into(), "3".into()], 1));
    // Some lists may have none.
    let pages = json("[[],\n[{\"v\":1}], [ ]]").unwrap();
    assert_eq!((pages.columns(), pages.texts("v")), (vec!["v int64".into()], vec!["1".into()]));
    // A list of other values makes all of them arrays.
    let mixed = json("[[{\"v\":1}],[5,{\"v\":2}]]").unwrap();
    assert_eq!(mixed.columns(), ["column1 text", "column2 text"]);
    assert_eq!(mixed.texts("column2"), ["∅", "{\"v\":2}"]);
    // Beside other values, the objects are fields of arrays.
    let arrays = json("[[{\"v\":1},5],[{\"v\":2},6]]").unwrap();
    assert_eq!(arrays.columns(), ["column1 text", "column2 int64"]);
}

#[test]
fn lists_of_equal_length_are_columns() {
    let hourly = at(HOURLY, "hourly").unwrap();
    assert_eq!(hourly.columns(), ["*time timestamp_us", "temp float64"]);
    assert_eq!(hourly.texts("temp"), ["1.5", "∅", "2.5"]);
    assert_eq!(hourly.texts("time")[2], "2024-01-01T02:00:00Z");
    assert_eq!(hourly.report.bytes_read, HOURLY.len() as u64);
    let whole = json(HOURLY).unwrap();
    assert_eq!(
        (whole.texts("latitude"), whole.texts("hourly.temp")),
        (vec!["52.5".into()], vec!["[1.5, null,2.5]".into()])
    );
    let notes = whole.report.notes.join("\n");
    assert!(notes.contains("becomes one row") && notes.contains("--path hourly reads the lists of hourly"), "{notes}");
    let top = json("{\"value\":[\"x, \\\"y\\\"]\",\"z\"],\"flag\":[true,false]}").unwrap();
    let notes = top.report.notes.join("\n");
    assert!(notes.contains("the lists of the object are the columns of the table"), "{notes}");
    assert_eq!((top.columns(), top.report.row_count), (vec!["value text".into(), "flag bool".into()], 2));
    assert_eq!(top.texts("value"), ["x, \"y\"]", "z"]);
    let large: Vec<String> = (0..300_000).map(|row| row.to_string()).collect();
    let large = json(&format!("{{\"a\":[{0}],\"b\":[{0}]}}", large.join(", "))).unwrap();
    assert_eq!((large.report.row_count, large.texts("b")[299_999].as_str()), (300_000, "299999"));
    assert_eq!(json("{\"a\":[],\"b\":[]}").unwrap().report.row_count, 0);
    // A name that is a number, and one that another list has in other letters.
    let names = json("{\"2024\":[1,2],\"a\":[3,4],\"A\":[5,6]}").unwrap();
    assert_eq!(names.columns(), ["2024 int64", "a int64", "A_2 int64"]);
}

#[test]
fn null_in_the_place_of_an_object_is_no_column() {
    let objects = "{\"a\":1,\"n\":null}\n{\"a\":2,\"n\":{\"x\":3,\"y\":null}}\n{\"a\":4,\"n\":{\"y\":{\"z\":5}}}\n";
    let imported = json(objects).unwrap();
    assert_eq!(imported.columns(), ["a int64", "n.x int64", "n.y.z int64"]);
    assert_eq!((imported.texts("n.x"), imported.null_count("n.y.z")), (vec!["∅".into(), "3".into(), "∅".into()], 2));
    // The object is in another file, or comes late, or so does the null.
    let files = vec![text("a.json", "{\"a\":1,\"n\":null}\n"), text("b.json", "{\"a\":2,\"n\":{\"x\":3}}\n")];
    assert_eq!(run(files, &Options::default(), None).unwrap().columns(), ["a int64", "n.x int64"]);
    let (null, object) = ("{\"a\":1,\"n\":null}\n", "{\"a\":1,\"n\":{\"x\":3}}\n");
    for late in [format!("{}{object}", null.repeat(300_000)), format!("{}{null}", object.repeat(300_000))] {
        let imported = json(&late).unwrap();
        assert_eq!(
            (imported.columns().join(", ").as_str(), imported.report.row_count),
            ("a int64, n.x int64", 300_001)
        );
    }
    // A value of its own is never lost, and a column of nothing but nulls stays one.
    let both = json(&format!("{}{{\"a\":1,\"n\":7}}\n", object.repeat(300_000))).unwrap();
    assert_eq!(both.texts("n").last().map(String::as_str), Some("7"));
    assert_eq!(json("{\"a\":1,\"n\":null}").unwrap().columns(), ["a int64", "n text"]);
    let table = imported.report.definition;
    let only = run(vec![text("c.json", "{\"a\":9,\"n\":null}\n")], &Options::default(), Some(&table)).unwrap();
    assert_eq!((only.texts("a"), only.texts("n.x")), (vec!["9".into()], vec!["∅".into()]));
}

#[test]
fn members_of_an_object_are_records_if_the_path_says_so() {
    let days = "{\"2024-01-01\":{\"v\":1},\"2024-01-02\":{\"v\":2},\"2024-01-03\":{\"v\":3}}";
    let top = json(days).unwrap();
    let notes = top.report.notes.join("\n");
    assert!(notes.contains("becomes one row; if its 3 objects are records, --path '*' reads them as rows"), "{notes}");
    assert_eq!((top.report.row_count, top.texts("2024-01-02.v")), (1, vec!["2".into()]));
    let inside = json(&format!("{{\"meta\":{{\"unit\":\"m\"}},\"a day's\":{days}}}")).unwrap();
    let notes = inside.report.notes.join("\n");
    assert!(notes.contains("its 3 objects of a day's are records"), "{notes}");
    assert!(notes.contains(r"--path 'a day'\''s.*' reads them"), "{notes}");
    assert!(!json("{\"a\":{\"v\":1},\"b\":2}").unwrap().report.notes.join("\n").contains("--path"));
    let nested = format!("{{\"n\":1,\"a.b\":{{\"c\":{days}}}}}");
    for (content, path) in [(days, "*"), (nested.as_str(), "a.b.c.*")] {
        let rows = at(content, path).unwrap();
        assert_eq!(rows.columns(), ["*key date", "v int64"], "{path}");
        assert_eq!((rows.texts("key")[2].as_str(), rows.texts("v").join(",").as_str()), ("2024-01-03", "1,2,3"));
    }
    for (content, path, message) in [
        ("{\"a\":{\"v\":1},\"b\":2}", "*", "a.json: the member b is not an object"),
        ("{\"a\":{\"v\":1},\"b\":2}", "c.*", "a.json: there is no object c"),
        ("[{\"a\":{\"v\":1}},{\"b\":{\"v\":2}}]", "*", "a.json is not an object"),
        (
            "{\"a\":{\"v\":1},b:{\"v\":2}}",
            "*",
            "a.json is not JSON: member 2 of the object has no name in double quotes",
        ),
        ("{\"a\":{\"key\":1}}", "*", "a.json: a has a member key, and key is the column of the names"),
    ] {
        assert_eq!(at(content, path).map(|imported| imported.columns()).unwrap_err().message(), message);
    }
}

#[test]
fn lists_that_are_no_columns_are_refused_or_stay_one_record() {
    let refused = |content: &str, path: Option<&str>| {
        let options = Options { path: path.map(str::to_owned), ..Options::default() };
        let error = run(vec![text("a.json", content)], &options, None).map(|imported| imported.columns()).unwrap_err();
        assert!(error.hint().is_some_and(|hint| hint.contains("--path")), "{error:?}");
        error.message().to_owned()
    };
    let unequal = "{\"n\":1,\"d\":{\"a\":[1,2],\"b\":[3]}}";
    let message = "a.json: d is not a table of columns: the list d.a has 2 items, and the list d.b has 1";
    assert_eq!(refused(unequal, Some("d")), message);
    assert_eq!(json(unequal).unwrap().texts("d.a"), ["[1,2]"]);
    let message = "a.json: the object is not a table of columns: the list a has 2 items, and the list b has 1";
    assert_eq!(refused("{\"a\":[1,2],\"b\":[3]}", None), message);
    assert_eq!(at("{\"a\":[1,2],\"b\":[3]}", "").unwrap().texts("a"), ["[1,2]"]);
    let nested = "{\"d\":{\"a\":[1,2],\"b\":[[3],[4]]}}";
    assert_eq!(refused(nested, Some("d")), "a.json: d is not a table of columns: the list d.b is nested");
    let later = "{\"a\":[1,2],\"b\":[null,{\"c\":1}]}";
    assert_eq!(refused(later, None), "a.json: item 2 of the list b is not a single value");
    let mixed = "{\"d\":{\"a\":[1,2],\"unit\":\"m\",\"b\":[3,4]}}";
    assert_eq!(refused(mixed, Some("d")), "a.json: d is not a table of columns: its member unit is not a list");
    let several = "{\"day\":{\"a\":[1],\"b\":[2]},\"hour\":{\"a\":[3],\"b\":[4]}}";
    assert_eq!(at(several, "hour").unwrap().texts("b"), ["4"]);
    let kept = json(mixed).unwrap();
    assert_eq!(kept.texts("d.a"), ["[1,2]"]);
    let notes = kept.report.notes.join("\n");
    assert!(notes.contains("becomes one row") && notes.contains("d.a, d.b"), "{notes}");
    for records in ["{\"a\":[1,2],\"b\":3}", "{\"a\":[1],\"b\":[2]}\n{\"a\":[3],\"b\":[4]}"] {
        assert!(!json(records).unwrap().report.notes.join("\n").contains("row;"), "{records}");
    }
    // A bad value is named by its position in the lists.
    for (content, place) in [
        ("{\"time\":[\"2024-01-01\",\"noon\"],\"v\":[1,2]}", "a.json, line 2, column time: "),
        ("{\"a\":[1,2,oops],\"b\":[3,4,5]}", "a.json, line 3: "),
    ] {
        let bad = json(content).map(|imported| imported.columns()).unwrap_err();
        assert!(bad.message().starts_with(place), "{bad}");
    }
}

#[test]
fn a_document_that_is_cut_off_is_refused_whatever_is_complete_in_it() {
    let records = "{\"day\":[{\"a\":1}],\"night\":[{\"a\":2},{\"a\":3}]}";
    let columns = "{\"a\":[1,2],\"b\":[3,4],\"c\":[5,6]}";
    for (document, end) in [(records, 20), (records, 42), (columns, 26), (columns, 30)] {
        let error = json(&document[..end]).map(|imported| imported.columns()).unwrap_err();
        assert!(error.message().contains("an object is opened and never closed"), "{}: {error}", &document[..end]);
    }
    // A list is cut off between two records.
    let rows: Vec<String> = (0..100_000).map(|row| format!("{{\"a\":{row}}}")).collect();
    let list = format!("\u{feff}[{}\n]\n", rows.join(",\n"));
    assert_eq!(json(&list).unwrap().report.row_count, 100_000);
    let whole = list.trim_end().strip_suffix(']').unwrap();
    for cut in [whole, whole.trim_end(), &whole[..whole.rfind('{').unwrap()]] {
        let error = json(cut).map(|imported| imported.columns()).unwrap_err();
        assert!(error.message().contains("the list of the records is never closed"), "{error}");
    }
    let error = json("[{\"a\":1},\n{\"a\":2},\n").map(|imported| imported.columns()).unwrap_err();
    assert_eq!(error.message(), "a.json, line 2: the list of the records is never closed");
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
    let error = json("{\"meta\":[{\"name\":\"a\"}],\"data\":[{\"a\":1}]}").map(|i| i.columns()).unwrap_err();
    assert!(error.hint().unwrap().contains("--path meta or --path data"), "{error}");
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
    // Names and types, as JSONCompactEachRowWithNamesAndTypes of ClickHouse has them.
    let typed = json("[\"t\",\"v\"]\n[\"DateTime\",\"UInt8\"]\n[\"2024-01-01 00:00:00\",1]\n").unwrap();
    assert_eq!(
        (typed.columns(), typed.texts("v")),
        (vec!["*t timestamp_us".into(), "v int64".into()], vec!["1".into()])
    );
    assert!(typed.report.notes.join("\n").contains("types of ClickHouse"), "{:?}", typed.report.notes);
    let named_types = "[\"t\",\"s\",\"e\"]\n[\"DateTime\",\"String\",\"Enum8('a' = 1)\"]";
    let texts = json(&format!("{named_types}\n[\"2024-01-01 00:00:00\",\"17\",\"2024-01-02\"]\n")).unwrap();
    assert_eq!((texts.texts("s"), texts.texts("e")), (vec!["17".into()], vec!["2024-01-02".into()]));
    assert!(texts.columns()[1..].iter().all(|column| column.contains(" text")), "{:?}", texts.columns());
    let words = json("[\"word\"]\n[\"Time\"]\n[\"and tide\"]\n").unwrap();
    assert_eq!(words.texts("word"), ["Time", "and tide"]);
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
