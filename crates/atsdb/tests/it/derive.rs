//! Tables of structs, from the declaration to the rows that come back.

use crate::support::open_quiet;
use atsdb::{
    BatchId, ColumnType, CommitOutcome, Database, ErrorKind, MapWidth, Record, SliceWidth, TableOptions, TimeUnit,
    TypedTable,
};
use std::fmt::Debug;

#[derive(Record, Debug, Clone, PartialEq, Default)]
struct Everything {
    truth: bool,
    tiny: i8,
    small: i16,
    medium: i32,
    large: i64,
    tiny_unsigned: u8,
    small_unsigned: u16,
    medium_unsigned: u32,
    large_unsigned: u64,
    single: f32,
    double: f64,
    text: String,
    bytes: Vec<u8>,
    #[atsdb(map = "u8")]
    state: String,
    #[atsdb(map = "u16")]
    kind: String,
    #[atsdb(map = "u32")]
    sensor: String,
}

#[derive(Record, Debug, Clone, PartialEq, Default)]
struct Perhaps {
    truth: Option<bool>,
    tiny: Option<i8>,
    large: Option<i64>,
    large_unsigned: Option<u64>,
    single: Option<f32>,
    double: Option<f64>,
    text: Option<String>,
    bytes: Option<Vec<u8>>,
    #[atsdb(map = "u8")]
    state: Option<String>,
}

#[derive(Record, Debug, Clone, PartialEq, Default)]
struct Renamed {
    #[atsdb(rename = "pm2.5", map = "u16")]
    fine_dust: String,
    r#type: i32,
    #[atsdb(skip)]
    remark: String,
    #[atsdb(rename = "größe")]
    size: Option<f64>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Station {
    name: String,
    height: Option<f32>,
}

fn store() -> Database {
    open_quiet(std::path::Path::new("memory:")).unwrap()
}

fn everything() -> Vec<Everything> {
    let least = Everything {
        tiny: i8::MIN,
        small: i16::MIN,
        medium: i32::MIN,
        large: i64::MIN,
        single: -0.0,
        double: f64::NEG_INFINITY,
        ..Default::default()
    };
    let most = Everything {
        truth: true,
        tiny: i8::MAX,
        small: i16::MAX,
        medium: i32::MAX,
        large: i64::MAX,
        tiny_unsigned: u8::MAX,
        small_unsigned: u16::MAX,
        medium_unsigned: u32::MAX,
        large_unsigned: u64::MAX,
        single: f32::MIN_POSITIVE,
        double: f64::MAX,
        text: "a\0b, 'quoted' \"twice\"\n表".into(),
        bytes: vec![0, 255, 0],
        state: "ok".into(),
        kind: "k\0".into(),
        sensor: "s1".into(),
    };
    vec![least, Everything::default(), most]
}

/// Appends rows, seals half of them on the way, and returns what a stream reads, ordered by time.
fn there_and_back<R: Record + Clone + Debug + PartialEq>(db: &Database, table: &TypedTable<R>, rows: &[R]) -> Vec<R> {
    let mut appender = table.appender().unwrap();
    for (time, row) in rows.iter().enumerate() {
        appender.push(time as i64, row).unwrap();
        if time == rows.len() / 2 {
            appender.flush().unwrap();
            db.engine().recompress(None).unwrap();
        }
    }
    appender.flush().unwrap();
    let mut read: Vec<(i64, R)> = table.stream(..).unwrap().map(Result::unwrap).collect();
    read.sort_by_key(|(time, _)| *time);
    read.into_iter().map(|(_, row)| row).collect()
}

#[test]
fn every_type_of_field_comes_back_as_it_was() {
    let db = store();
    let table = db.table::<Everything>("everything").unwrap();
    let rows = everything();
    let read = there_and_back(&db, &table, &rows);
    assert_eq!(read, rows);
    assert_eq!(read[0].single.to_bits(), (-0.0_f32).to_bits());
    let columns = &table.table().definition.columns;
    assert_eq!(columns[0].column_type, ColumnType::Timestamp(TimeUnit::Microsecond));
    assert_eq!(columns[5].column_type, ColumnType::Int64);
    assert_eq!(columns[16].map, Some(MapWidth::U32));
    assert!(columns.iter().all(|column| !column.nullable));
}

#[test]
fn bits_of_nan_come_back() {
    let db = store();
    let table = db.table::<Everything>("everything").unwrap();
    let double = f64::from_bits(0x7ff8_dead_beef_0001);
    let single = f32::from_bits(0xffc0_1234);
    let row = Everything { double, single, ..Default::default() };
    let mut appender = table.appender().unwrap();
    appender.push(0, &row).unwrap();
    appender.flush().unwrap();
    for _ in 0..2 {
        let (_, read) = table.stream(..).unwrap().next().unwrap().unwrap();
        assert_eq!((read.double.to_bits(), read.single.to_bits()), (double.to_bits(), single.to_bits()));
        db.engine().recompress(None).unwrap();
    }
}

#[test]
fn options_are_null_and_come_back_as_none() {
    let db = store();
    let table = db.table::<Perhaps>("perhaps").unwrap();
    let full = Perhaps {
        truth: Some(false),
        tiny: Some(0),
        large: Some(i64::MIN),
        large_unsigned: Some(u64::MAX),
        single: Some(f32::INFINITY),
        double: Some(0.1),
        text: Some(String::new()),
        bytes: Some(Vec::new()),
        state: Some(String::new()),
    };
    let rows = [Perhaps::default(), full.clone(), Perhaps::default(), Perhaps { text: None, ..full }];
    assert_eq!(there_and_back(&db, &table, &rows), rows);
    assert!(table.table().definition.columns[1..].iter().all(|column| column.nullable));
}

#[test]
fn renamed_fields_are_columns_of_that_name_and_skipped_ones_are_not_columns() {
    let db = store();
    let table = db.table::<Renamed>("renamed").unwrap();
    let names: Vec<&str> = table.table().definition.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["time", "pm2.5", "type", "größe"]);
    let row = Renamed { fine_dust: "12".into(), r#type: 3, remark: "not stored".into(), size: Some(1.5) };
    let mut appender = table.appender().unwrap();
    appender.push(5, &row).unwrap();
    appender.flush().unwrap();
    let (time, read) = table.stream(..).unwrap().next().unwrap().unwrap();
    assert_eq!((time, read), (5, Renamed { remark: String::new(), ..row }));
}

#[test]
fn a_stream_gives_the_rows_of_its_range_also_far_and_negative_ones() {
    let db = store();
    let table = db.table::<Renamed>("t").unwrap();
    let times = [i64::MIN, -86_400_000_001, -1, 0, 1, 86_400_000_000, 1_700_000_000_000_000, i64::MAX];
    let mut appender = table.appender().unwrap();
    for (number, time) in times.iter().enumerate().rev() {
        appender.push(*time, &Renamed { r#type: number as i32, ..Default::default() }).unwrap();
    }
    appender.flush().unwrap();
    for seal in [false, true] {
        if seal {
            db.engine().recompress(None).unwrap();
        }
        let read = |range: atsdb::TimeRange| {
            let mut times: Vec<(i64, i32)> =
                table.stream(range).unwrap().map(|row| row.map(|(time, row)| (time, row.r#type)).unwrap()).collect();
            times.sort();
            times
        };
        let expected = |range: std::ops::Range<usize>| -> Vec<(i64, i32)> {
            range.map(|number| (times[number], number as i32)).collect()
        };
        assert_eq!(read((..).into()), expected(0..8));
        assert_eq!(read((-1..86_400_000_000).into()), expected(2..5));
        assert_eq!(read((0..).into()), expected(3..8));
        assert_eq!(read((..0).into()), expected(0..3));
        assert_eq!(read((2..3).into()), []);
        let rows: usize = table.batches(0..).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 5);
    }
}

#[test]
fn a_plain_table_keeps_its_rows_in_order_and_takes_no_times() {
    let db = store();
    let options = TableOptions { time: None, ..Default::default() };
    let table = db.table_with::<Station>("stations", &options).unwrap();
    let rows = [Station { name: "z".into(), height: None }, Station { name: "a".into(), height: Some(3.5) }];
    let mut appender = table.appender().unwrap();
    rows.iter().for_each(|row| appender.push_plain(row).unwrap());
    let error = appender.push(1, &rows[0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("stations is a plain table"), "{error}");
    appender.flush().unwrap();
    let read: Vec<(i64, Station)> = table.stream(..).unwrap().map(Result::unwrap).collect();
    assert_eq!(read, rows.map(|row| (0, row)));
    let series = db.table::<Station>("series").unwrap();
    let error = series.appender().unwrap().push_plain(&read[0].1).unwrap_err();
    assert!(error.to_string().contains("series is a series table"), "{error}");
}

#[test]
fn a_table_that_is_not_the_records_is_refused_with_the_difference() {
    let db = store();
    db.table::<Station>("stations").unwrap();
    fn refusal<R: Record>(db: &Database, options: &TableOptions) -> String {
        let Err(error) = db.table_with::<R>("STATIONS", options) else { panic!("it must be refused") };
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.hint().is_some());
        error.to_string()
    }
    #[derive(Record)]
    struct OtherType {
        _name: String,
    }
    #[derive(Record)]
    #[allow(dead_code, reason = "only its columns are looked at")]
    struct OtherName {
        title: String,
        height: Option<f32>,
    }
    #[derive(Record)]
    #[allow(dead_code, reason = "only its columns are looked at")]
    struct NoNull {
        name: String,
        height: f32,
    }
    let usual = TableOptions::default();
    let text = refusal::<OtherType>(&db, &usual);
    assert!(text.contains("table stations") && text.contains("it has 3, the record 2"), "{text}");
    let text = refusal::<OtherName>(&db, &usual);
    assert!(text.contains("name text where the record has title text"), "{text}");
    let text = refusal::<NoNull>(&db, &usual);
    assert!(text.contains("height float32, nullable where the record has height float32"), "{text}");
    let seconds = TableOptions { unit: TimeUnit::Second, ..TableOptions::default() };
    let text = refusal::<Station>(&db, &seconds);
    assert!(text.contains("timestamp_us where the record has time timestamp_s"), "{text}");
    // The table itself is accepted, under any case of its name, also with options that would create it differently.
    db.table_with::<Station>("Stations", &TableOptions { slice: SliceWidth::Year, ..TableOptions::default() }).unwrap();
}

#[test]
fn a_flush_with_an_id_counts_once_and_the_appender_goes_on() {
    let db = store();
    let table = db.table::<Station>("stations").unwrap();
    let mut appender = table.appender().unwrap();
    let station = |name: &str| Station { name: name.into(), height: None };
    let id = |id: &str| BatchId::new(id).unwrap();
    let mut send = |names: &[&str], as_id: &str| {
        names.iter().enumerate().for_each(|(time, name)| appender.push(time as i64, &station(name)).unwrap());
        appender.flush_as(id(as_id)).unwrap()
    };
    assert_eq!(send(&["a", "b"], "1"), CommitOutcome::Committed);
    assert_eq!(send(&["a", "b"], "1"), CommitOutcome::Duplicate);
    assert_eq!(send(&["c"], "2"), CommitOutcome::Committed);
    assert_eq!(send(&["d"], "1"), CommitOutcome::Duplicate);
    assert_eq!(send(&[], "3"), CommitOutcome::Committed);
    assert_eq!(send(&["e"], "3"), CommitOutcome::Duplicate);
    let mut names: Vec<String> = table.stream(..).unwrap().map(|row| row.unwrap().1.name).collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(BatchId::new("").is_err());
}

#[test]
fn rows_not_flushed_are_lost_and_a_refused_row_leaves_the_others() {
    let db = store();
    let table =
        db.table_with::<Station>("t", &TableOptions { slice: SliceWidth::Month, ..Default::default() }).unwrap();
    let mut appender = table.appender().unwrap();
    appender.push(1, &Station { name: "lost".into(), height: None }).unwrap();
    drop(appender);
    let mut appender = table.appender().unwrap();
    appender.push(1, &Station { name: "kept".into(), height: None }).unwrap();
    let long = Station { name: "x".repeat(atsdb::limits::VALUE_BYTES_MAX + 1), height: None };
    assert_eq!(appender.push(2, &long).unwrap_err().kind(), ErrorKind::Limit);
    appender.push(3, &Station { name: "also".into(), height: Some(1.0) }).unwrap();
    appender.flush().unwrap();
    let read: Vec<(i64, String)> =
        table.stream(..).unwrap().map(|row| row.map(|(t, row)| (t, row.name)).unwrap()).collect();
    assert_eq!(read, [(1, "kept".into()), (3, "also".into())]);
}
