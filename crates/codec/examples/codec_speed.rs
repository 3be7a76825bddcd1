//! Prints how fast pages are written and read, and how many bytes a value takes, on data of several shapes.
//!
//! `cargo run --release -p atsdb-codec --example codec_speed [SHAPE]`: one core, the best of several runs.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![allow(clippy::print_stdout)] // What this program is for.

use arrow::array::{ArrayRef, Float32Array, Float64Array, Int32Array, StringArray, TimestampMicrosecondArray};
use arrow::array::{BooleanArray, Int64Array, UInt8Array, UInt32Array};
use atsdb_codec::{Effort, decode_page, encode_page, encoding_name};
use atsdb_core::{ChunkUid, Column, ColumnId, ColumnType, MapWidth, TimeUnit};
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 131_072;
const SENSORS: usize = 5_000;
const RUNS: usize = 7;
const UID: ChunkUid = ChunkUid([7; 16]);

/// xorshift64*: the same numbers every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % bound
    }

    fn step(&mut self) -> i64 {
        self.below(9) as i64 - 4
    }
}

type Shape = (&'static str, ColumnType, Option<MapWidth>, ArrayRef);

fn shapes() -> Vec<Shape> {
    let mut random = Random(88_172_645_463_325_252);
    let microseconds = ColumnType::Timestamp(TimeUnit::Microsecond);
    let mut counter = 1_000;
    let walk = Int32Array::from_iter_values((0..ROWS).map(|_| {
        counter += random.step() as i32;
        counter
    }));
    let mut counters = vec![1_000; SENSORS];
    let walks = Int32Array::from_iter_values((0..ROWS).map(|row| {
        counters[row % SENSORS] += random.step() as i32;
        counters[row % SENSORS]
    }));
    let times = |random: &mut Random, unit: i64, bound| {
        let start = 1_700_000_000_000_000;
        TimestampMicrosecondArray::from_iter_values(
            (0..ROWS as i64).map(|row| (start + row * 12_000) / unit * unit + random.below(bound) as i64 * unit),
        )
        .with_timezone("UTC")
    };
    let (jittered, seconds) = (times(&mut random, 1, 2_000), times(&mut random, 1_000_000, 2));
    let by_sensor = TimestampMicrosecondArray::from_iter_values(
        (0..ROWS as i64).map(|row| 1_700_000_000_000_000 + row % 1_440 * 60_000_000 + random.below(2_000_000) as i64),
    )
    .with_timezone("UTC");
    // Sensors one after another, for 400 to 1,440 minutes each, each at its own second of the minute.
    let (mut row, mut until, mut second) = (0, 0, 0);
    let by_sensor_seconds = TimestampMicrosecondArray::from_iter_values((0..ROWS).map(|_| {
        if row == until {
            (row, until, second) = (0, 400 + random.below(1_041) as i64, random.below(60) as i64);
        }
        row += 1;
        (1_700_000_000 + row * 60 + second + random.below(3) as i64 - 1) * 1_000_000
    }))
    .with_timezone("UTC");
    let (mut left, mut counter) = (0, 0);
    let walks_by_sensor = Int64Array::from_iter_values((0..ROWS).map(|_| {
        if left == 0 {
            (left, counter) = (400 + random.below(1_041), random.below(1_000_000) as i64);
        }
        left -= 1;
        counter += random.step();
        counter
    }));
    let ids: Vec<u32> = (0..ROWS).map(|_| random.below(SENSORS as u64) as u32).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    let status = UInt8Array::from_iter_values((0..ROWS).map(|_| match random.below(200) {
        0 => random.below(5) as u8,
        _ => 0,
    }));
    let mut tenths = 123;
    let temperatures: Vec<f64> = (0..ROWS)
        .map(|_| {
            tenths += random.step();
            tenths as f64 / 10.0
        })
        .collect();
    let noise = (0..ROWS).map(|_| f64::from_bits(random.below(1 << 52) | 0x3ff0 << 48)).collect::<Vec<_>>();
    let smooth = (0..ROWS).map(|row| (row as f64 / 500.0).sin() * 20.0).collect::<Vec<_>>();
    let names = StringArray::from_iter_values(ids.iter().map(|id| format!("sensor-{id:05}")));
    let notes =
        StringArray::from_iter_values((0..ROWS).map(|row| format!("event {row} took {} ms", random.below(9_999))));
    let flags = BooleanArray::from_iter((0..ROWS).map(|_| Some(random.below(50) == 0)));
    vec![
        ("walking counter", ColumnType::Int32, None, Arc::new(walk)),
        ("5,000 walking counters", ColumnType::Int32, None, Arc::new(walks)),
        ("jittered times", microseconds, None, Arc::new(jittered)),
        ("times in whole seconds", microseconds, None, Arc::new(seconds)),
        ("times sorted by sensor", microseconds, None, Arc::new(by_sensor)),
        ("times sorted by sensor, whole seconds, jitter +-1", microseconds, None, Arc::new(by_sensor_seconds)),
        ("counters sorted by sensor", ColumnType::Int64, None, Arc::new(walks_by_sensor)),
        ("random sensor ids", ColumnType::Text, Some(MapWidth::U32), Arc::new(UInt32Array::from(ids))),
        ("sorted sensor ids", ColumnType::Text, Some(MapWidth::U32), Arc::new(UInt32Array::from(sorted))),
        ("status, rarely not 0", ColumnType::Text, Some(MapWidth::U8), Arc::new(status)),
        ("float64, 1 decimal", ColumnType::Float64, None, Arc::new(Float64Array::from(temperatures.clone()))),
        (
            "float32, 1 decimal",
            ColumnType::Float32,
            None,
            Arc::new(Float32Array::from_iter_values(temperatures.iter().map(|value| *value as f32))),
        ),
        ("float64, random", ColumnType::Float64, None, Arc::new(Float64Array::from(noise))),
        ("float64, sine", ColumnType::Float64, None, Arc::new(Float64Array::from(smooth))),
        ("booleans, 1 in 50", ColumnType::Bool, None, Arc::new(flags)),
        ("text, 5,000 distinct", ColumnType::Text, None, Arc::new(names)),
        ("text, all distinct", ColumnType::Text, None, Arc::new(notes)),
    ]
}

fn rate(mut work: impl FnMut()) -> f64 {
    let best = (0..RUNS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    ROWS as f64 / 1e6 / best.fold(f64::MAX, f64::min)
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!(
        "{:<50} {:<7} {:<12} {:>11} {:>13} {:>13}",
        "", "effort", "encoding", "bytes/value", "M encoded/s", "M decoded/s"
    );
    for (name, column_type, map, array) in shapes().into_iter().filter(|shape| shape.0.contains(&wanted)) {
        let column = Column { map, ..Column::new(ColumnId(1), name, column_type) };
        for effort in [Effort::Fresh, Effort::Sealed] {
            let encode = || encode_page(UID, &column, &array, effort).expect("it can be encoded");
            let page = encode();
            let decode = || decode_page(UID, &column, ROWS, &page.bytes).expect("it can be decoded");
            assert_eq!(&decode(), &array, "{name}");
            println!(
                "{name:<50} {:<7} {:<12} {:>11.3} {:>13.1} {:>13.1}",
                format!("{effort:?}"),
                encoding_name(page.descriptor.encoding),
                page.bytes.len() as f64 / ROWS as f64,
                rate(|| drop(encode())),
                rate(|| drop(decode())),
            );
        }
    }
}
