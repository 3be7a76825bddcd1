//! The rows of `series`: the same everywhere and in both forms, with the stated entropy.

use atsdb_lab::RowDigest;
use atsdb_lab::generator::series::{SENSORS, STATUSES, SeriesGenerator, entropy_bytes_per_row};
use std::collections::HashMap;

fn digest(seed: u64, chunks: &[usize], wide: bool) -> RowDigest {
    let mut generator = SeriesGenerator::new(seed);
    let mut digest = RowDigest::default();
    for rows in chunks {
        let chunk = generator.chunk(*rows);
        digest.add_batch(&generator.batch(&chunk, wide)).expect("a digest");
    }
    digest
}

#[test]
fn the_rows_of_a_seed_never_change() {
    assert_eq!(digest(1, &[20_000], false), RowDigest { rows: 20_000, sum: NARROW });
    assert_eq!(digest(1, &[20_000], true), RowDigest { rows: 20_000, sum: WIDE });
    assert_ne!(digest(2, &[20_000], true).sum, WIDE);
}

const NARROW: u64 = 11_983_539_803_653_412_401;
const WIDE: u64 = 17_818_354_828_446_913_576;

#[test]
fn rows_do_not_depend_on_the_chunks_they_are_made_in() {
    assert_eq!(digest(7, &[1, 4_999, 7_000], true), digest(7, &[12_000], true));
}

#[test]
fn structs_and_batches_hold_the_same_rows() {
    let mut generator = SeriesGenerator::new(3);
    let chunk = generator.chunk(6_000);
    let (rows, wide) = (generator.readings(&chunk), generator.counter_readings(&chunk));
    for position in 0..chunk.times.len() {
        let (narrow, wide) = (&rows[position], &wide[position]);
        let name = format!("sensor-{:04}", chunk.sensors[position]);
        assert_eq!((narrow.time, &narrow.record.sensor), (chunk.times[position], &name));
        assert_eq!((wide.time, &wide.record.sensor), (narrow.time, &name));
        assert_eq!(narrow.record.status, STATUSES[usize::from(chunk.statuses[position])]);
        assert_eq!(
            (wide.record.count1, wide.record.count6),
            (chunk.counters[0][position], chunk.counters[5][position])
        );
    }
}

#[test]
fn the_entropy_is_that_of_the_rows() {
    let minutes = 200;
    let mut generator = SeriesGenerator::new(5);
    let chunk = generator.chunk(SENSORS * minutes);
    let (mut jitters, mut statuses, mut steps) = (HashMap::new(), HashMap::new(), HashMap::new());
    let place = |sensor: usize| {
        let seconds = (sensor..chunk.times.len()).step_by(SENSORS).map(|row| chunk.times[row].rem_euclid(60));
        seconds.fold((i64::MAX, i64::MIN), |(low, high), second| (low.min(second), high.max(second)))
    };
    for position in 0..SENSORS {
        let (low, high) = place(position);
        assert_eq!(high - low, 2, "a second early, on time, a second late");
        for row in (position..chunk.times.len()).step_by(SENSORS) {
            *jitters.entry(chunk.times[row].rem_euclid(60) - low).or_insert(0) += 1;
            *statuses.entry(i64::from(chunk.statuses[row])).or_insert(0) += 1;
            if row >= SENSORS {
                assert_eq!(chunk.sensors[row], chunk.sensors[row - SENSORS]);
                let step = chunk.counters[0][row] - chunk.counters[0][row - SENSORS];
                *steps.entry(i64::from(step)).or_insert(0) += 1;
            }
        }
    }
    let rows = 1_u64 << 40;
    let narrow = (observed_bits(&jitters) + observed_bits(&statuses)) / 8.0;
    let wide = narrow + 6.0 * observed_bits(&steps) / 8.0;
    assert!((narrow / entropy_bytes_per_row(rows, false) - 1.0).abs() < 0.01, "{narrow}");
    assert!((wide / entropy_bytes_per_row(rows, true) - 1.0).abs() < 0.01, "{wide}");
    assert_eq!(format!("{:.3}", entropy_bytes_per_row(rows, false)), "0.205");
    assert_eq!(format!("{:.3}", entropy_bytes_per_row(rows, true)), "2.582");
}

/// Returns the entropy of the observed values, in bits.
fn observed_bits(counts: &HashMap<i64, u32>) -> f64 {
    let all = counts.values().sum::<u32>();
    let share = |count: &u32| f64::from(*count) / f64::from(all);
    counts.values().map(|count| -share(count) * share(count).log2()).sum()
}
