//! The rows of the `series` workload: a plant of 5,000 sensors, each read once a minute.
//!
//! Time counts seconds. A sensor has a fixed second in the minute, drawn once (1 to 58); each reading is a second
//! early, on time, or a second late, with equal probability. Rows come in the order of the sensors' seconds, minute
//! after minute, as a collector would see them. The status is `ok` except for one reading in 200, which has one of four
//! others with equal probability. Six counters start at 0 to 999 and walk by -4 to 4 from reading to reading, each step
//! equally likely.
//!
//! The narrow table is (time, sensor, status), the wide one has the six counters as well; both hold the same
//! readings.
//!
//! # Entropy
//!
//! A store must keep the set of rows: the order is given by sorting by sensor and time, where a sensor's
//! readings cannot change places. A reading is then three kinds of independent draws: jitter log2(3) = 1.585 bits,
//! status 0.055 bits, and for the wide table six steps of log2(9) = 3.170 bits. That is 0.205 and 2.583 bytes a
//! row. To it come, once for each sensor, its place in the minute (log2(58) bits) and the counters' start
//! (6 x log2(1000) bits). The names of sensors and statuses, and how many there are, are taken as known.

use crate::data::rows::{CounterReading, Reading, Timed};
use crate::generator::entropy;
use crate::generator::random::Random;
use arrow::array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, TimestampSecondArray};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit, UInt8Type, UInt32Type};
use std::sync::Arc;

/// The number of sensors.
pub const SENSORS: usize = 5_000;
/// The number of counters in the wide table.
pub const COUNTERS: usize = 6;
/// The possible statuses; the first is the usual one.
pub const STATUSES: [&str; 5] = ["ok", "late", "out of range", "calibrating", "offline"];
/// The first minute: 2024-01-01T00:00:00Z, in seconds since the epoch.
pub const START_SECONDS: i64 = 1_704_067_200;

const UNUSUAL: (u64, u64) = (1, 200);
const PLACE: (i64, i64) = (1, 58);
const JITTER: (i64, i64) = (-1, 1);
const STEP: (i64, i64) = (-4, 4);
const COUNTER_STARTS: u64 = 1_000;

/// The name of a sensor.
pub fn sensor_name(sensor: usize) -> String {
    format!("sensor-{sensor:04}")
}

/// The minimum average size of a row in bytes, with `rows` rows of the narrow or the wide table.
pub fn entropy_bytes_per_row(rows: u64, wide: bool) -> f64 {
    let outcomes = |(first, last): (i64, i64)| (last - first + 1) as f64;
    let (unusual, of) = (UNUSUAL.0 as f64, UNUSUAL.1 as f64);
    let mut statuses = [unusual / of / (STATUSES.len() - 1) as f64; STATUSES.len()];
    statuses[0] = 1.0 - unusual / of;

    let counters = if wide { COUNTERS as f64 } else { 0.0 };
    let reading = entropy::of_uniform(outcomes(JITTER))
        + entropy::of_weights(&statuses)
        + counters * entropy::of_uniform(outcomes(STEP));
    let sensor = entropy::of_uniform(outcomes(PLACE)) + counters * entropy::of_uniform(COUNTER_STARTS as f64);
    let sensors = rows.min(SENSORS as u64) as f64;
    (reading + sensor * sensors / rows.max(1) as f64) / 8.0
}

/// A run of readings, column by column.
#[derive(Debug, Clone, Default)]
pub struct SeriesChunk {
    /// Seconds since the epoch.
    pub times: Vec<i64>,
    /// Positions of the sensors' names.
    pub sensors: Vec<u32>,
    /// Positions in [`STATUSES`].
    pub statuses: Vec<u8>,
    /// The counters, each a column.
    pub counters: [Vec<i32>; COUNTERS],
}

/// Makes readings, in the order of arrival.
#[derive(Debug, Clone)]
pub struct SeriesGenerator {
    readings: Random,
    steps: Random,
    /// Each sensor's second in the minute.
    places: Vec<i64>,
    /// The sensors in the order of their places.
    order: Vec<u32>,
    counters: Vec<[i32; COUNTERS]>,
    names: Arc<StringArray>,
    status_names: Arc<StringArray>,
    minute: i64,
    next: usize,
}

impl SeriesGenerator {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, 0);
        let places: Vec<i64> = (0..SENSORS).map(|_| random.between(PLACE.0, PLACE.1)).collect();
        let counters =
            (0..SENSORS).map(|_| std::array::from_fn(|_| random.below(COUNTER_STARTS) as i32)).collect::<Vec<_>>();
        let mut order: Vec<u32> = (0..SENSORS as u32).collect();
        order.sort_by_key(|sensor| places[*sensor as usize]);
        Self {
            readings: Random::new(seed, 1),
            steps: Random::new(seed, 2),
            places,
            order,
            counters,
            names: Arc::new(StringArray::from_iter_values((0..SENSORS).map(sensor_name))),
            status_names: Arc::new(StringArray::from_iter_values(STATUSES)),
            minute: 0,
            next: 0,
        }
    }

    /// The next `rows` readings.
    pub fn chunk(&mut self, rows: usize) -> SeriesChunk {
        let mut chunk = SeriesChunk {
            times: Vec::with_capacity(rows),
            sensors: Vec::with_capacity(rows),
            statuses: Vec::with_capacity(rows),
            counters: std::array::from_fn(|_| Vec::with_capacity(rows)),
        };
        for _ in 0..rows {
            let sensor = self.order[self.next];
            let place = self.places[sensor as usize];
            let jitter = self.readings.between(JITTER.0, JITTER.1);
            chunk.times.push(START_SECONDS + self.minute * 60 + place + jitter);
            chunk.sensors.push(sensor);
            chunk.statuses.push(self.status());
            for (counter, column) in self.counters[sensor as usize].iter_mut().zip(&mut chunk.counters) {
                *counter += self.steps.between(STEP.0, STEP.1) as i32;
                column.push(*counter);
            }
            self.next += 1;
            if self.next == SENSORS {
                (self.next, self.minute) = (0, self.minute + 1);
            }
        }
        chunk
    }

    /// A chunk as rows of the narrow table.
    pub fn readings(&self, chunk: &SeriesChunk) -> Vec<Timed<Reading>> {
        (0..chunk.times.len())
            .map(|row| Timed {
                time: chunk.times[row],
                record: Reading {
                    sensor: self.names.value(chunk.sensors[row] as usize).to_owned(),
                    status: STATUSES[usize::from(chunk.statuses[row])].to_owned(),
                },
            })
            .collect()
    }

    /// A chunk as rows of the wide table.
    pub fn counter_readings(&self, chunk: &SeriesChunk) -> Vec<Timed<CounterReading>> {
        let counter = |position: usize, row: usize| chunk.counters[position][row];
        (self.readings(chunk).into_iter().enumerate())
            .map(|(row, Timed { time, record: Reading { sensor, status } })| Timed {
                time,
                record: CounterReading {
                    sensor,
                    status,
                    count1: counter(0, row),
                    count2: counter(1, row),
                    count3: counter(2, row),
                    count4: counter(3, row),
                    count5: counter(4, row),
                    count6: counter(5, row),
                },
            })
            .collect()
    }

    /// A chunk as a batch of the narrow or the wide table. Strings are dictionary arrays, as a program that has
    /// few distinct ones keeps them.
    pub fn batch(&self, chunk: &SeriesChunk, wide: bool) -> RecordBatch {
        let text = |key: DataType| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
        let mut fields = vec![
            Field::new("time", DataType::Timestamp(TimeUnit::Second, Some("UTC".into())), false),
            Field::new("sensor", text(DataType::UInt32), true),
            Field::new("status", text(DataType::UInt8), true),
        ];
        let sensors = chunk.sensors.iter().copied().collect();
        let statuses = chunk.statuses.iter().copied().collect();
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(TimestampSecondArray::from(chunk.times.clone()).with_timezone("UTC")),
            Arc::new(DictionaryArray::<UInt32Type>::new(sensors, Arc::clone(&self.names) as ArrayRef)),
            Arc::new(DictionaryArray::<UInt8Type>::new(statuses, Arc::clone(&self.status_names) as ArrayRef)),
        ];
        if wide {
            for (position, counter) in chunk.counters.iter().enumerate() {
                fields.push(Field::new(format!("count{}", position + 1), DataType::Int32, true));
                columns.push(Arc::new(Int32Array::from(counter.clone())));
            }
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("columns of the schema, of one length")
    }

    fn status(&mut self) -> u8 {
        match self.readings.chance(UNUSUAL.0, UNUSUAL.1) {
            true => 1 + self.readings.below(STATUSES.len() as u64 - 1) as u8,
            false => 0,
        }
    }
}
