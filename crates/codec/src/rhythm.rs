//! Rhythm: times of instruments that are read at regular intervals, sorted by instrument. A time is stored as a
//! residual: how early or late it is relative to the beat.
//!
//! The difference of two adjacent times contains two residuals, so differences cost more bits than residuals, and they
//! are large where one instrument ends and the next begins. Here the values are cut into runs. All runs of a page share
//! one step, which may have a fraction. A run begins where the step is broken: at the next instrument, after a gap, at
//! a repeated time. Its start is stored as a jump from where the preceding run would have continued.
//!
//! The format: the step's whole part and fraction (in 2^-32); the unit of jumps and residuals, so that whole seconds
//! are small numbers in nanoseconds too; the base of the first run; the number of further runs; as numbers, the lengths
//! of all runs except the last, and the jumps; the residuals, as numbers. All sums wrap, so that any values are
//! restored, with any step.

use crate::encoding::Effort;
use crate::number::{Number, read_number, write_number};
use crate::pcodec::greatest_common_divisor;
use crate::plain_numbers::{read_numbers, write_numbers};
use crate::wire::{DecodeResult, Reader, write_varint};
use atsdb_core::Result;

/// The minimum number of values.
const COUNT_MIN: usize = 64;

/// The minimum width of numbers in bytes: narrower ones are not times.
const WIDTH_MIN: usize = 4;

/// The minimum mean length of runs: shorter ones are not worth their lengths and jumps.
const RUN_LENGTH_MIN: usize = 4;

/// The share of sampled differences that must be within half a step of the step: 5 in 8.
const STEADY_RATIO: (usize, usize) = (5, 8);

/// The approximate number of values that are sampled to find the step.
const SAMPLE_LENGTH: usize = 4_096;

/// The number of sampled windows of the page.
const SAMPLE_WINDOWS: usize = 16;

/// A step with more digits must reduce the cost to this share of that of a rounder one.
const ROUNDER_STEP_GAIN: f64 = 0.97;

/// A jump by whole steps is chosen if it increases the sum of a run's residuals by at most this many times the spread.
const JUMP_TOLERANCE: f64 = 6.0;

/// Writes values as a rhythm if they seem to have one. Returns whether it wrote them.
pub(crate) fn encode_rhythm<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<bool> {
    if values.len() < COUNT_MIN || T::WIDTH < WIDTH_MIN || values[0].as_float().is_some() {
        return Ok(false);
    }
    let Some((beat, spread)) = beat_of_sample(values) else { return Ok(false) };
    let keys: Vec<u64> = values.iter().map(|value| value.order_key()).collect();
    let Some(runs) = runs(&keys, beat) else { return Ok(false) };
    let step = fit_step(&runs, beat);

    let mut expected = keys[0];
    let mut jumps = Vec::with_capacity(runs.len());
    let mut residuals = Vec::with_capacity(keys.len());
    for run in &runs {
        let start = residuals.len();
        residuals.extend(run.iter().zip(0..).map(|(key, row)| distance(expected.wrapping_add(step.times(row)), *key)));
        let jump = jump_to(&residuals[start..], step, spread);
        residuals[start..].iter_mut().for_each(|residual| *residual = residual.wrapping_sub(jump));
        jumps.push(jump);
        expected = expected.wrapping_add_signed(jump).wrapping_add(step.times(run.len() as u64));
    }
    let first = T::from_order_key(keys[0].wrapping_add_signed(jumps.remove(0)));
    let unit = unit_of(jumps.iter().chain(&residuals));
    jumps.iter_mut().chain(&mut residuals).for_each(|distance| *distance /= unit);
    let lengths: Vec<u32> = runs[..runs.len() - 1].iter().map(|run| run.len() as u32).collect();

    write_varint(out, step.whole);
    out.extend_from_slice(&step.fraction.to_le_bytes());
    write_varint(out, unit as u64);
    write_number(out, first);
    write_varint(out, lengths.len() as u64);
    write_numbers(out, &lengths, effort)?;
    write_numbers(out, &jumps, effort)?;
    write_numbers(out, &residuals, effort)?;
    Ok(true)
}

/// Reads `count` values.
pub(crate) fn decode_rhythm<T: Number>(reader: &mut Reader<'_>, count: usize) -> DecodeResult<Vec<T>> {
    if T::default().as_float().is_some() {
        return Err("a rhythm in a column of floating point numbers".into());
    }
    let step = BeatInterval { whole: reader.varint()?, fraction: u32::from_le_bytes(reader.array()?) };
    let unit = reader.varint()? as i64;
    let mut base = read_number::<T>(reader)?.to_bits();
    let jump_count = reader.varint_up_to(count)?;
    let lengths: Vec<u32> = read_numbers(reader, jump_count)?;
    let jumps: Vec<i64> = read_numbers(reader, jump_count)?;
    let residuals: Vec<i64> = read_numbers(reader, count)?;
    let mut values = Vec::with_capacity(count);
    let mut rest = residuals.as_slice();
    for (length, jump) in lengths.into_iter().zip(jumps) {
        let (run, after) = rest.split_at_checked(length as usize).ok_or("a run behind the last row")?;
        extend_by_run(&mut values, base, step, unit, run);
        base = base.wrapping_add(step.times(length.into())).wrapping_add_signed(jump.wrapping_mul(unit));
        rest = after;
    }
    extend_by_run(&mut values, base, step, unit, rest);
    Ok(values)
}

fn extend_by_run<T: Number>(values: &mut Vec<T>, base: u64, step: BeatInterval, unit: i64, residuals: &[i64]) {
    let on_beat = (0..).map(|row| base.wrapping_add(step.times(row)));
    let times =
        residuals.iter().zip(on_beat).map(|(residual, time)| time.wrapping_add_signed(residual.wrapping_mul(unit)));
    values.extend(times.map(T::from_bits));
}

/// Returns the greatest common divisor of all distances.
fn unit_of<'a>(distances: impl Iterator<Item = &'a i64>) -> i64 {
    let mut unit = 0;
    for distance in distances {
        unit = greatest_common_divisor(unit, distance.unsigned_abs());
        if unit == 1 {
            break;
        }
    }
    i64::try_from(unit).unwrap_or(1).max(1)
}

/// The interval between two beats.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BeatInterval {
    whole: u64,
    /// The fraction in units of 2^-32.
    fraction: u32,
}

impl BeatInterval {
    /// Returns this number of steps.
    fn times(self, count: u64) -> u64 {
        self.whole.wrapping_mul(count).wrapping_add(u64::from(self.fraction).wrapping_mul(count) >> 32)
    }

    fn nearest(step: f64) -> Self {
        Self { whole: step as u64, fraction: (step.fract() * 2_f64.powi(32)) as u32 }
    }

    fn as_float(self) -> f64 {
        self.whole as f64 + f64::from(self.fraction) / 2_f64.powi(32)
    }

    /// Returns the nearest multiple of the step.
    fn multiple_near(self, distance: i64) -> i64 {
        let count = (distance as f64 / self.as_float()).round() as i64;
        let parts = (i128::from(self.fraction) * i128::from(count)) >> 32;
        (self.whole as i64).wrapping_mul(count).wrapping_add(parts as i64)
    }
}

/// Returns the jump to a run with these distances from where the preceding run would have continued: the median, or the
/// multiple of the step near it. After a gap the beat continues, and multiples cost fewer bits; the median of a few
/// residuals may miss one by chance.
fn jump_to(distances: &[i64], step: BeatInterval, spread: u64) -> i64 {
    let middle = median(&mut distances.to_vec());
    let multiple = step.multiple_near(middle);
    let off = |jump: i64| distances.iter().map(|distance| distance.abs_diff(jump) as f64).sum::<f64>();
    if off(multiple) - off(middle) <= JUMP_TOLERANCE * spread as f64 { multiple } else { middle }
}

/// Returns the median of the positive differences, and the usual distance of the differences from it, if most are
/// close. Only a sample is read: most columns have no rhythm, and this is all that it costs them.
fn beat_of_sample<T: Number>(values: &[T]) -> Option<(u64, u64)> {
    let length = (SAMPLE_LENGTH / SAMPLE_WINDOWS).min(values.len());
    let starts = (0..SAMPLE_WINDOWS).map(|place| (values.len() - length) * place / (SAMPLE_WINDOWS - 1));
    let mut differences: Vec<i64> = starts
        .flat_map(|start| values[start..start + length].windows(2))
        .map(|pair| distance(pair[0].order_key(), pair[1].order_key()))
        .collect();
    let mut rising: Vec<i64> = differences.iter().copied().filter(|difference| *difference > 0).collect();
    if rising.len() < differences.len() / 2 {
        return None;
    }
    let beat = median(&mut rising);
    differences.iter_mut().for_each(|difference| *difference = difference.abs_diff(beat).min(i64::MAX as u64) as i64);
    let steady = differences.iter().filter(|off| **off <= beat / 2).count();
    let spread = median(&mut differences);
    (steady * STEADY_RATIO.1 >= differences.len() * STEADY_RATIO.0).then_some((beat as u64, spread as u64))
}

/// Returns the runs, unless there are too many. A run ends where two values in sequence are more than half a beat off;
/// a single such value is only early or late.
fn runs(keys: &[u64], beat: u64) -> Option<Vec<&[u64]>> {
    let far = |from: u64, to: u64| distance(from, to).unsigned_abs() > beat / 2;
    let mut runs = Vec::new();
    let (mut start, mut expected) = (0, keys[0]);
    for (row, key) in keys.iter().enumerate().skip(1) {
        expected = expected.wrapping_add(beat);
        if !far(expected, *key) {
            // The beat is not known exactly, and clocks drift, so the expectation follows the values.
            expected = expected.wrapping_add_signed(distance(expected, *key) / 8);
        } else if keys.get(row + 1).is_none_or(|next| far(expected.wrapping_add(beat), *next)) {
            runs.push(&keys[start..row]);
            (start, expected) = (row, *key);
            if runs.len() > keys.len() / RUN_LENGTH_MIN {
                return None;
            }
        }
    }
    runs.push(&keys[start..]);
    Some(runs)
}

/// Returns the step that fits the long runs best: as exact as they require, but rounder where that costs almost
/// nothing.
fn fit_step(runs: &[&[u64]], beat: u64) -> BeatInterval {
    let length_max = runs.iter().map(|run| run.len()).max().unwrap_or(0);
    let long: Vec<&[u64]> = runs.iter().copied().filter(|run| run.len() * 2 > length_max).collect();
    let stride = long.iter().map(|run| run.len()).sum::<usize>().div_ceil(SAMPLE_LENGTH);
    let exact = exact_step(&long, beat, stride);
    let mut best = (BeatInterval { whole: beat, fraction: 0 }, f64::MAX);
    let rounded = (0..19).rev().map(|digits| {
        let unit = 10_u64.pow(digits);
        BeatInterval { whole: ((exact / unit as f64).round() as u64).saturating_mul(unit), fraction: 0 }
    });
    for step in rounded.chain([BeatInterval::nearest(exact)]) {
        // A step that is off by a whole step at a run's end does not fit.
        if step == best.0 && best.1 < f64::MAX || (step.as_float() - exact).abs() * length_max as f64 > exact {
            continue;
        }
        let cost = cost(&long, step, stride);
        if cost < best.1 * ROUNDER_STEP_GAIN {
            best = (step, cost);
        }
    }
    best.0
}

/// Returns the median slope between values that are half a run apart, which a few outliers do not change.
fn exact_step(runs: &[&[u64]], beat: u64, stride: usize) -> f64 {
    let mut slopes = Vec::new();
    for run in runs {
        let half = (run.len() / 2).max(1) as u64;
        let pairs = run.iter().zip(run.iter().skip(half as usize)).step_by(stride);
        slopes.extend(
            pairs.map(|(from, to)| distance(from.wrapping_add(beat.wrapping_mul(half)), *to) as f64 / half as f64),
        );
    }
    let middle = slopes.len() / 2;
    let slope = if slopes.is_empty() { 0.0 } else { *slopes.select_nth_unstable_by(middle, f64::total_cmp).1 };
    (beat as f64 + slope).max(1.0)
}

/// Estimates the bits of a step's residuals in a sample of these runs.
fn cost(runs: &[&[u64]], step: BeatInterval, stride: usize) -> f64 {
    let mut bits = 0.0;
    for run in runs {
        let sample = run.iter().zip(0..).step_by(stride);
        let mut residuals: Vec<i64> =
            sample.map(|(key, row)| distance(run[0].wrapping_add(step.times(row)), *key)).collect();
        let base = median(&mut residuals);
        bits += residuals.iter().map(|residual| (residual.abs_diff(base) as f64).ln_1p()).sum::<f64>();
    }
    bits
}

fn distance(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from) as i64
}

/// Returns the median of values, at least one; their order is lost.
fn median(values: &mut [i64]) -> i64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}
