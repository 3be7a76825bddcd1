//! Groups, compared with a model that works row by row.

use crate::support::{append, engines, readings, row};
use arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, RecordBatch, UInt8Array, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, UInt8Type, UInt32Type};
use atsdb_core::{ErrorKind, TimeRange};
use atsdb_engine::{
    Comparison, GroupKey, Groups, KeyBounds, Measure, MeasureKind, Measured, Predicate, ScanRequest, Value,
};
use atsdb_testkit::sample::Random;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sensor, status, time, count, total, value.
type Row = (u32, Option<u8>, i64, Option<i32>, i64, Option<f64>);
type Key = (u32, Option<u8>, i64);

const HOUR: i64 = 3_600;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("sensor", DataType::UInt32, false),
        Field::new("status", DataType::UInt8, true),
        Field::new("time", DataType::Int64, false),
        Field::new("count", DataType::Int32, true),
        Field::new("total", DataType::Int64, false),
        Field::new("value", DataType::Float64, true),
    ]))
}

fn batch(rows: &[Row]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| Some(row.0)).collect::<UInt32Array>()),
        Arc::new(rows.iter().map(|row| row.1).collect::<UInt8Array>()),
        Arc::new(rows.iter().map(|row| Some(row.2)).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.3).collect::<Int32Array>()),
        Arc::new(rows.iter().map(|row| Some(row.4)).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.5).collect::<Float64Array>()),
    ];
    RecordBatch::try_new(schema(), columns).unwrap()
}

fn hour_of(time: i64) -> Option<(i64, i64)> {
    let start = time.checked_sub(time.rem_euclid(HOUR))?;
    Some((start, start.saturating_add(HOUR - 1)))
}

fn keys() -> Vec<GroupKey> {
    vec![
        GroupKey::Values { column: 0 },
        GroupKey::Values { column: 1 },
        GroupKey::Bucket { column: 2, bucket_of: Arc::new(hour_of) },
    ]
}

fn measures() -> Vec<Measure> {
    let of = |kind, column| Measure { kind, column };
    let mut measures = vec![of(MeasureKind::CountRows, 0), of(MeasureKind::Count, 3)];
    for column in [3, 4, 5] {
        measures.extend([MeasureKind::Sum, MeasureKind::Min, MeasureKind::Max].map(|kind| of(kind, column)));
    }
    measures
}

/// Returns what a model computes for each measure: a number as text, or `-` if there is none.
fn expected(rows: &[Row]) -> BTreeMap<Key, Vec<String>> {
    let mut groups: BTreeMap<Key, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        groups.entry((row.0, row.1, hour_of(row.2).unwrap().0)).or_default().push(row);
    }
    let text = |number: Option<i128>| number.map_or("-".to_owned(), |number| number.to_string());
    let float = |number: Option<f64>| number.map_or("-".to_owned(), show);
    let measured = |rows: Vec<&Row>| {
        let counts: Vec<i128> = rows.iter().filter_map(|row| row.3).map(i128::from).collect();
        let totals: Vec<i128> = rows.iter().map(|row| row.4.into()).collect();
        let values: Vec<f64> = rows.iter().filter_map(|row| row.5).collect();
        let mut texts = vec![rows.len().to_string(), counts.len().to_string()];
        for numbers in [&counts, &totals] {
            let sum = (!numbers.is_empty()).then(|| numbers.iter().sum());
            texts.extend([sum, numbers.iter().min().copied(), numbers.iter().max().copied()].map(text));
        }
        let sum = (!values.is_empty()).then(|| values.iter().sum());
        let (min, max) = (values.iter().copied().min_by(f64::total_cmp), values.iter().copied().max_by(f64::total_cmp));
        texts.push(sum.map_or("-".to_owned(), show_sum));
        texts.extend([min, max].map(float));
        texts
    };
    groups.into_iter().map(|(key, rows)| (key, measured(rows))).collect()
}

fn show(number: f64) -> String {
    match number.is_nan() {
        true => format!("{}NaN", if number.is_sign_negative() { "-" } else { "" }),
        false => number.to_string(),
    }
}

/// A sum of nothing but -0.0 is shown as zero of either sign, and every NaN alike, because its bits depend on the
/// processor.
fn show_sum(sum: f64) -> String {
    if sum.is_nan() { "NaN".to_owned() } else { show(sum + 0.0) }
}

fn found(groups: &Groups) -> BTreeMap<Key, Vec<String>> {
    let all = 0..groups.len();
    let keys = groups.keys(all.clone()).unwrap();
    let (sensors, status) = (keys[0].as_primitive::<UInt32Type>(), keys[1].as_primitive::<UInt8Type>());
    let hours = keys[2].as_primitive::<Int64Type>();
    let measured = |measure: usize, group: usize| match groups.measured(measure, all.clone()) {
        Measured::Counts(counts) => counts[group].to_string(),
        Measured::Integers(_, counts) | Measured::Floats(_, counts) if counts[group] == 0 => "-".to_owned(),
        Measured::Integers(values, _) => values[group].to_string(),
        Measured::Floats(values, _) if measures()[measure].kind == MeasureKind::Sum => show_sum(values[group]),
        Measured::Floats(values, _) => show(values[group]),
        Measured::Moments(..) | Measured::Values(_) => unreachable!("they have tests of their own"),
    };
    let texts = |group| (0..measures().len()).map(|measure| measured(measure, group)).collect();
    let key = |group| (sensors.value(group), status.is_valid(group).then(|| status.value(group)), hours.value(group));
    all.clone().map(|group| (key(group), texts(group))).collect()
}

/// Rows with and without runs of equal keys, as in sealed and fresh chunks.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let sensor = prop_oneof![0_u32..4, Just(u32::MAX), any::<u32>().prop_map(|sensor| sensor | 1 << 21)];
    let value =
        prop_oneof![(-9..9_i32).prop_map(f64::from), Just(f64::INFINITY), Just(f64::NAN), Just(-f64::NAN), Just(-0.0),];
    let time = prop_oneof![-5 * HOUR..5 * HOUR, Just(i64::MAX)];
    let total = prop_oneof![any::<i64>(), Just(i64::MAX), Just(i64::MIN)];
    let row = (sensor, option::of(0_u8..3), time, option::of(any::<i32>()), total, option::of(value));
    vec((row, 1_usize..90), 0..12)
        .prop_map(|runs| runs.into_iter().flat_map(|(row, length)| std::iter::repeat_n(row, length)).collect())
}

/// Returns the bounds of the keys in these rows.
fn bounds_of(rows: &[Row], column: usize) -> KeyBounds {
    let key = |row: &Row| match column {
        0 => Some(i64::from(row.0)),
        1 => row.1.map(i64::from),
        _ => Some(row.2),
    };
    let values = || rows.iter().filter_map(key);
    let bits = |value: Option<i64>| value.unwrap_or_default().cast_unsigned();
    let has_nulls = rows.iter().any(|row| key(row).is_none());
    KeyBounds { min: bits(values().min()), max: bits(values().max()), has_nulls }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn moments_and_values_are_those_of_a_model(
        parts in vec(vec((0_u32..3, option::of(-99..99_i32), option::of(-99..99_i32), 1_usize..9), 0..60), 1..4),
    ) {
        let row = |(sensor, count, value, length): &(u32, Option<i32>, Option<i32>, usize)| {
            std::iter::repeat_n((*sensor, None, 0, *count, 0, value.map(f64::from)), *length)
        };
        let parts: Vec<Vec<Row>> = parts.iter().map(|runs| runs.iter().flat_map(row).collect()).collect();
        let keys = [GroupKey::Values { column: 0 }];
        let moments = |with| Measure { kind: MeasureKind::Moments { with }, column: 3 };
        let measures = [moments(None), moments(Some(5)), Measure { kind: MeasureKind::Values, column: 3 }];
        let mut all = Groups::new(&schema(), &keys, &measures, |_| None).unwrap();
        for part in &parts {
            let mut groups = Groups::new(&schema(), &keys, &measures, |_| None).unwrap();
            groups.add(&batch(part)).unwrap();
            all.merge(&groups).unwrap();
        }
        let sensors = all.keys(0..all.len()).unwrap();
        for (group, sensor) in sensors[0].as_primitive::<UInt32Type>().values().iter().enumerate() {
            let rows = parts.iter().flatten().filter(|row| row.0 == *sensor);
            let Measured::Values(values) = all.measured(2, group..group + 1) else { panic!() };
            let expected: Vec<f64> = rows.clone().filter_map(|row| row.3.map(f64::from)).collect();
            prop_assert_eq!(&values[0], &expected);
            let singles: Vec<(f64, f64)> = rows.clone().filter_map(|row| Some((row.3?.into(), 0.0))).collect();
            let pairs: Vec<(f64, f64)> = rows.filter_map(|row| Some((row.3?.into(), row.5?))).collect();
            for (measure, pairs) in [singles, pairs].into_iter().enumerate() {
                let Measured::Moments(moments, counts) = all.measured(measure, group..group + 1) else { panic!() };
                prop_assert_eq!(counts[0], pairs.len() as u64);
                let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len().max(1) as f64;
                let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
                let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
                let found = &moments[0];
                let expected = [x, y, sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y)];
                let found = [found.mean_x, found.mean_y, found.sum_xx, found.sum_yy, found.sum_xy];
                for (found, expected) in found.into_iter().zip(expected) {
                    prop_assert!((found - expected).abs() < 1e-6, "{} {}", found, expected);
                }
            }
        }
    }

    #[test]
    fn groups_are_those_of_a_model(parts in vec(rows(), 1..5), has_bounds: bool) {
        let all: Vec<Row> = parts.concat();
        let bounds = |column| has_bounds.then(|| bounds_of(&all, column));
        let without_rows = Groups::new(&schema(), &keys(), &measures(), bounds).unwrap();
        let mut merged = without_rows.clone();
        for part in &parts {
            // The values of a sliced array do not begin where its buffers do.
            let mut groups = without_rows.clone();
            let whole = batch(part);
            for start in (0..part.len()).step_by(100) {
                groups.add(&whole.slice(start, 100.min(part.len() - start))).unwrap();
            }
            merged.merge(&groups).unwrap();
        }
        prop_assert_eq!(found(&merged), expected(&all));
    }
}

/// If neighbouring rows belong to different groups, each row is looked up separately: by position if there are few
/// groups, by hash otherwise, also with keys of more than 64 bits.
#[test]
fn rows_in_no_order_are_grouped_as_those_of_a_model() {
    for sensor_count in [3, 1 << 15, 1 << 31] {
        let mut random = Random::new(sensor_count);
        let mut row = || {
            let (sensor, status) = (random.below(sensor_count) as u32, random.below(4) as u8);
            let (time, count) = (random.below(1 << 17) as i64, random.bits() as i32);
            let (total, value) = (random.bits() as i64 >> 20, random.below(1 << 20) as f64);
            (sensor, (status > 0).then_some(status), time, (count & 3 > 0).then_some(count), total, Some(value))
        };
        let rows: Vec<Row> = (0..50_000).map(|_| row()).collect();
        let expected = expected(&rows);
        for has_bounds in [true, false] {
            let bounds = |column| has_bounds.then(|| bounds_of(&rows, column));
            let mut groups = Groups::new(&schema(), &keys(), &measures(), bounds).unwrap();
            groups.add(&batch(&rows)).unwrap();
            assert!(found(&groups) == expected, "{sensor_count} sensors, bounds: {has_bounds}");
        }
    }
}

/// The same groups are set aside several times, and by several threads, with keys of up to 64 bits and of more.
#[test]
fn groups_that_were_set_aside_are_those_of_a_model() {
    let mut random = Random::new(5);
    let mut row = |number: u32| {
        let (status, count) = ((number % 3) as u8, random.bits() as i32);
        let (sensor, time) = (number.wrapping_mul(0x9e37_79b1), i64::from(number % 5) * HOUR);
        let value = (!number.is_multiple_of(7)).then(|| f64::from(count % 64));
        (sensor, (status > 0).then_some(status), time, (count & 3 > 0).then_some(count), i64::from(number), value)
    };
    let mut rows = |numbers: std::ops::Range<u32>| numbers.map(&mut row).collect::<Vec<Row>>();
    let threads = [vec![rows(0..140_000), rows(70_000..210_000), rows(0..1_000)], vec![rows(100_000..102_000)]];
    let all: Vec<Row> = threads.iter().flatten().flatten().copied().collect();
    let expected = expected(&all);
    for has_bounds in [true, false] {
        let bounds = |column| has_bounds.then(|| bounds_of(&all, column));
        let none = Groups::new(&schema(), &keys(), &measures(), bounds).unwrap().with_held_max(100_000);
        let grouped = |batches: &Vec<Vec<Row>>| {
            let mut groups = none.clone();
            for rows in batches {
                groups.add(&batch(rows)).unwrap();
                groups.set_aside_many().unwrap();
            }
            groups
        };
        let threads: Vec<Groups> = threads.iter().map(grouped).collect();
        assert_eq!(threads.iter().map(Groups::has_set_aside).collect::<Vec<_>>(), [true, false]);
        assert!(none.clone().merge(&threads[0]).is_err(), "groups that were set aside would be lost");
        let mut merged = BTreeMap::new();
        for partition in Groups::partitions(threads) {
            let mut groups = none.clone();
            groups.merge_partition(partition).unwrap();
            groups.close();
            assert!(groups.add(&batch(&all[..1])).is_err(), "no rows are added to closed groups");
            for (key, measured) in found(&groups) {
                assert!(merged.insert(key, measured).is_none(), "{key:?} is in two partitions");
            }
        }
        assert!(merged == expected, "bounds: {has_bounds}");
    }
}

#[test]
fn values_and_moments_of_groups_that_were_set_aside_are_kept() {
    let of = |number: u32| -> Row { (number << 1, None, 0, Some(number as i32 % 50), 0, Some(0.5)) };
    let parts = [0..140_000, 0..140_000, 10..20].map(|numbers| numbers.map(of).collect::<Vec<Row>>());
    let keys = [GroupKey::Values { column: 0 }];
    let measures = [MeasureKind::Values, MeasureKind::Moments { with: None }].map(|kind| Measure { kind, column: 3 });
    let none = Groups::new(&schema(), &keys, &measures, |_| None).unwrap().with_held_max(100_000);
    let mut groups = none.clone();
    for part in &parts {
        groups.add(&batch(part)).unwrap();
        groups.set_aside_many().unwrap();
    }
    assert!(groups.has_set_aside());
    let mut group_count = 0;
    for partition in Groups::partitions(vec![groups]) {
        let mut groups = none.clone();
        groups.merge_partition(partition).unwrap();
        let sensors = groups.keys(0..groups.len()).unwrap();
        let (values, moments) = (groups.measured(0, 0..groups.len()), groups.measured(1, 0..groups.len()));
        let (Measured::Values(values), Measured::Moments(moments, counts)) = (values, moments) else { panic!() };
        for (group, sensor) in sensors[0].as_primitive::<UInt32Type>().values().iter().enumerate() {
            let number = sensor >> 1;
            let (count, value) = (if (10..20).contains(&number) { 3 } else { 2 }, f64::from(number % 50));
            assert_eq!((values[group].as_slice(), counts[group]), (vec![value; count].as_slice(), count as u64));
            assert_eq!((moments[group].mean_x, moments[group].sum_xx), (value, 0.0));
        }
        group_count += groups.len();
    }
    assert_eq!(group_count, 140_000);
}

/// Few groups and many, so that integers of 32 bits are added in 64 bits or in 128.
#[test]
fn sums_of_the_smallest_integers_in_no_order_are_exact() {
    for sensor_count in [3, 30_000] {
        let row = |n: u32| {
            let count = if n.is_multiple_of(5) { -1 } else { i32::MIN };
            (
                n * 7 % sensor_count,
                None,
                0,
                Some(count).filter(|_| n > 20_000 || !n.is_multiple_of(4)),
                i64::MIN,
                Some(-0.5),
            )
        };
        let rows: Vec<Row> = (0..60_000).map(row).collect();
        // The first NULL comes after rows without one, or before them.
        for parts in [[&rows[20_001..], &rows[..20_001]], [&rows[..20_001], &rows[20_001..]]] {
            let mut groups = Groups::new(&schema(), &keys(), &measures(), |_| None).unwrap();
            parts.iter().for_each(|part| groups.add(&batch(part)).unwrap());
            assert!(found(&groups) == expected(&rows), "{sensor_count} sensors");
        }
    }
}

#[test]
fn values_beyond_what_a_descriptor_states_are_damage() {
    let rows: Vec<Row> = (0..10).map(|n| (n, Some(1), 0, None, 0, None)).collect();
    let refused = |wrong: usize, change: fn(KeyBounds) -> KeyBounds| {
        let bounds = |column| {
            let own = bounds_of(&rows, column);
            Some(if column == wrong { change(own) } else { own })
        };
        let mut groups = Groups::new(&schema(), &keys(), &measures(), bounds).unwrap();
        groups.add(&batch(&rows)).map_err(|error| error.kind())
    };
    assert_eq!(refused(0, |own| own), Ok(()));
    assert_eq!(refused(0, |own| KeyBounds { max: own.max - 1, ..own }), Err(ErrorKind::Corrupt));
    assert_eq!(refused(0, |own| KeyBounds { min: own.min + 1, ..own }), Err(ErrorKind::Corrupt));
    assert_eq!(refused(2, |own| KeyBounds { min: 3_600, max: 3_600, ..own }), Err(ErrorKind::Corrupt));
    let with_null = [(0, None, 0, None, 0, None)];
    let bounds = |column| Some(KeyBounds { has_nulls: false, ..bounds_of(&with_null, column) });
    let mut groups = Groups::new(&schema(), &keys(), &measures(), bounds).unwrap();
    assert_eq!(groups.add(&batch(&with_null)).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn without_keys_all_rows_are_one_group_even_if_there_are_none() {
    let mut groups = Groups::new(&schema(), &[], &measures(), |_| None).unwrap();
    groups.ensure_one().unwrap();
    assert_eq!(groups.len(), 1);
    assert!(matches!(groups.measured(0, 0..1), Measured::Counts([0])));
    groups.add(&batch(&[(1, None, 0, Some(5), 7, None), (2, None, 0, Some(6), 7, None)])).unwrap();
    assert!(matches!(groups.measured(2, 0..1), Measured::Integers([11], [2])));
}

#[test]
fn keys_that_are_not_integers_are_refused() {
    let value = GroupKey::Values { column: 5 };
    assert!(Groups::new(&schema(), &[value], &[], |_| None).is_none());
    let nullable = GroupKey::Bucket { column: 3, bucket_of: Arc::new(hour_of) };
    assert!(Groups::new(&schema(), &[nullable], &[], |_| None).is_none());
    let wide = [2, 4, 2].map(|column| GroupKey::Values { column });
    assert!(Groups::new(&schema(), &wide, &[], |_| None).is_none(), "three of 64 bits do not fit 128");
}

#[test]
fn a_time_before_the_first_bucket_is_an_error() {
    let mut groups = Groups::new(&schema(), &keys(), &[], |_| None).unwrap();
    let error = groups.add(&batch(&[(1, None, i64::MIN, None, 0, None)])).unwrap_err();
    assert!(error.to_string().contains("begins before"), "{error}");
}

/// Seconds of a day.
const DAY: i64 = 86_400;

#[test]
fn a_chunk_of_one_group_is_not_read_and_counts_the_same() {
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        let day = |day: i64| (0..500).map(move |number| row(day * DAY + number * 60, "a", "ok", number as i32 * 7));
        let mut rows: Vec<_> = (0..4).flat_map(day).collect();
        // One day has a second sensor and NULLs, so it is read when the query groups by sensor.
        for (number, row) in rows[500..900].iter_mut().enumerate() {
            row.1 = Some("b".into());
            row.3 = (number % 3 > 0).then_some(-5);
        }
        append(&engine, &table, &rows);
        engine.recompress(None).unwrap();
        let snapshot = engine.snapshot().unwrap();
        let range = TimeRange::from(100..3 * DAY + 200);
        for range in [TimeRange::ALL, range] {
            let request = ScanRequest { range, ..ScanRequest::all(&table) };
            let scan = snapshot.scan(&table, &request).unwrap();
            let scan = scan.with_indices(vec![false, true, true, false]).unwrap();
            let day = |time: i64| Some((time - time.rem_euclid(DAY), time - time.rem_euclid(DAY) + DAY - 1));
            let days = GroupKey::Bucket { column: 0, bucket_of: Arc::new(day) };
            let kinds = [MeasureKind::CountRows, MeasureKind::Count, MeasureKind::Sum, MeasureKind::Min];
            let measures: Vec<Measure> =
                kinds.into_iter().chain([MeasureKind::Max]).map(|kind| Measure { kind, column: 3 }).collect();
            let cut_count = if range == TimeRange::ALL { 0 } else { 2 };
            let cases = [(vec![days.clone()], cut_count), (vec![days, GroupKey::Values { column: 1 }], cut_count + 1)];
            for (keys, read_expected) in cases {
                let empty = || scan.groups(&keys, &measures).unwrap();
                let (mut groups, mut model) = (empty(), empty());
                let mut read_count = 0;
                for position in 0..scan.chunks().len() {
                    read_count += usize::from(scan.add_to(&mut groups, position).unwrap());
                    let rows = scan.read(position).unwrap();
                    rows.iter().for_each(|rows| model.add(rows).unwrap());
                }
                assert_eq!(read_count, read_expected);
                let all = 0..model.len();
                assert_eq!(format!("{:?}", groups.keys(all.clone())), format!("{:?}", model.keys(all.clone())));
                for (measure, what) in measures.iter().enumerate() {
                    let (found, wanted) = (groups.measured(measure, all.clone()), model.measured(measure, all.clone()));
                    assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{what:?}");
                }
            }
        }
    }
}

/// Chunks of which all rows match are not read, nor are those of which none does.
#[test]
fn matching_rows_are_counted_and_added_up_as_they_are_read() {
    use Comparison::*;
    let (_folder, engines) = engines();
    for engine in engines {
        let table = engine.create_table(&readings()).unwrap();
        let count = |day: i64, number: i64| match day {
            0 => Some(0),
            1 => Some(number as i32 % 9),
            2 => Some(7),
            _ => (number % 2 > 0).then_some(7),
        };
        let day = |day: i64| (0..500).map(move |number| (day, number));
        let rows = (0..4).flat_map(day).map(|(day, number)| {
            let row = row(day * DAY + number * 60, "a", "ok", 0);
            (row.0, row.1, row.2, count(day, number))
        });
        append(&engine, &table, &rows.collect::<Vec<_>>());
        engine.recompress(None).unwrap();
        let snapshot = engine.snapshot().unwrap();
        let number = Measure { kind: MeasureKind::CountRows, column: 0 };
        let sum = Measure { kind: MeasureKind::Sum, column: 3 };
        for measures in [vec![number], vec![number, sum]] {
            for operator in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, In, IsNull, IsNotNull] {
                for value in [-1, 0, 5, 7, 8] {
                    let predicates = vec![Predicate::new(3, operator, Value::Int(value))];
                    let request = ScanRequest { predicates, ..ScanRequest::all(&table) };
                    let scan = snapshot.scan(&table, &request).unwrap();
                    let scan = scan.with_indices(vec![false, true, true, false]).unwrap();
                    let (mut groups, mut model) =
                        (scan.groups(&[], &measures).unwrap(), scan.groups(&[], &measures).unwrap());
                    let mut read_count = 0;
                    for position in 0..scan.chunks().len() {
                        read_count += usize::from(scan.add_to(&mut groups, position).unwrap());
                        let rows = scan.read(position).unwrap();
                        rows.iter().for_each(|rows| model.add(rows).unwrap());
                    }
                    groups.ensure_one().unwrap();
                    model.ensure_one().unwrap();
                    for measure in 0..measures.len() {
                        let (found, wanted) = (groups.measured(measure, 0..1), model.measured(measure, 0..1));
                        assert_eq!(format!("{found:?}"), format!("{wanted:?}"), "{measures:?} {operator:?} {value}");
                    }
                    if (operator, value) == (NotEqual, 0) {
                        assert_eq!((scan.chunks().len(), read_count), (3, 2), "the days with other values, and NULLs");
                    }
                }
            }
        }
    }
}
