//! The part of `series` that is limited by time, like the published comparison: insert for a minute, then measure how
//! many rows were inserted, how fast they are read back, and how many bytes an entry takes beyond its own.
//!
//! An entry's own bytes are 9 (a time and a sensor of 4 bytes, a status of 1) and, with what the publication counted
//! for six counters, 35. Sixty seconds correspond to 12 million rows of the workload; with fewer rows it runs for fewer
//! seconds.

use crate::contestant::Contestant;
use crate::data::digest::RowDigest;
use crate::data::rows::RowSet;
use crate::failure::Failure;
use crate::generator::series::SeriesGenerator;
use crate::measure::{Figure, clock};
use crate::workload::{Bench, per_second};
use atsdb::TableDefinition;
use std::time::Duration;

/// Rows of the workload for each second of inserting.
pub(super) const ROWS_A_SECOND: u64 = 200_000;
const TIME_MAX: Duration = Duration::from_secs(60);
/// Rows are passed in runs of this many. The clock is checked between runs.
const RUN_ROWS: usize = 5_000;
/// Rows of a commit, at most.
const COMMIT_ROWS: u64 = 100_000;

/// Inserts for the time, and reads back. Measures are named by `suffix`.
pub(super) fn minute(
    contestant: &dyn Contestant,
    bench: &mut Bench<'_>,
    table: &TableDefinition,
    suffix: &str,
) -> Result<(), Failure> {
    let time_max = Duration::from_secs_f64(bench.rows as f64 / ROWS_A_SECOND as f64).min(TIME_MAX);
    bench.progress(format!("inserting for {:.1} s, {suffix}", time_max.as_secs_f64()))?;
    let (workspace, seed) = (bench.workspace(&format!("minute-{suffix}"))?, bench.seed);
    let inserted = bench.attempt(&format!("minute_insert_{suffix}"), || {
        let mut session = contestant.open(&workspace)?;
        session.create_table(table)?;
        let mut generator = SeriesGenerator::new(seed);
        let wide = table.columns.len() > 3;
        let (mut time, mut digest) = (Duration::ZERO, RowDigest::default());
        while time < time_max {
            let (begin, committed) = (clock::now(), digest.rows);
            let mut loader = session.loader(table)?;
            time += begin.elapsed();
            // There is at least one run, because beginning may have taken all of the time.
            loop {
                let chunk = generator.chunk(RUN_ROWS);
                digest.add_batch(&generator.batch(&chunk, wide))?;
                let rows = match wide {
                    true => RowSet::CounterReadings(generator.counter_readings(&chunk)),
                    false => RowSet::Readings(generator.readings(&chunk)),
                };
                let begin = clock::now();
                loader.rows(&rows)?;
                time += begin.elapsed();
                if time >= time_max || digest.rows - committed >= COMMIT_ROWS {
                    break;
                }
            }
            let begin = clock::now();
            loader.finish()?;
            time += begin.elapsed();
        }
        Ok((Figure::of(per_second(digest.rows, time)), digest))
    })?;
    let Some(expected) = inserted else { return Ok(()) };
    let rows = expected.rows.max(1) as f64;
    bench.attempt(&format!("minute_read_{suffix}"), || {
        let mut session = contestant.open(&workspace)?;
        let begin = clock::now();
        let digest = session.read_all(table)?;
        let time = begin.elapsed();
        match digest == expected {
            true => Ok((Figure::of(per_second(digest.rows, time)), ())),
            false => Err(Failure::wrong(format!("read {} rows back that are not those inserted", digest.rows))),
        }
    })?;
    bench.attempt(&format!("minute_bytes_{suffix}"), || {
        Ok((Figure::of(contestant.bytes(&workspace)? as f64 / rows), ()))
    })?;
    Ok(())
}
