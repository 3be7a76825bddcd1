//! Rhythm: times of instruments that are read at a steady step, sorted by instrument. A time is where the beat puts
//! it, and a residual: how early or late it is.
//!
//! The difference of two neighbouring times holds two residuals, so that differences cost more bits than residuals;
//! and it leaps where one instrument ends and the next begins. Here the values are cut into runs. All runs of a page
//! have one step, which may have a fraction; a run begins where the step does not lead on: at the next instrument,
//! behind a gap, at a time that comes twice. Where it begins is a jump from where the run before would have gone on.
//!
//! The step: whole part, fraction (in 2^-32). The unit that jumps and residuals are written in: whole seconds are
//! small numbers in nanoseconds too. The first run's base. How many runs follow it; as numbers, the lengths
//! of all runs but the last, and the jumps. The residuals, as numbers. All sums wrap, so that any values come back,
//! whatever was taken for a step.

use crate::encoding::Effort;
use crate::number::{Number, read_number, write_number};
use crate::pco_form::greatest_common_divisor;
use crate::plain_numbers::{read_numbers, write_numbers};
use crate::wire::{Decoded, Reader, write_varint};
use atsdb_core::Result;

/// Fewer values are not tried.
const COUNT_MIN: usize = 64;

/// Narrower numbers are not tried: no times are among them.
const WIDTH_MIN: usize = 4;

/// Shorter runs, on average, are not worth their lengths and jumps.
const RUN_LENGTH_MIN: usize = 4;

/// How many of the sampled differences must be one step, to its half: 5 in 8.
const STEADY_SHARE: (usize, usize) = (5, 8);

/// How many values are looked at to find the step, more or less.
const SAMPLE_LENGTH: usize = 4_096;

/// In how many places of the page.
const SAMPLE_PLACES: usize = 16;

/// A step with more digits must lower the cost to this share of the cost of a rounder one.
const ROUNDER_SHARE: f64 = 0.97;

/// By how many times the spread the sum of a run's residuals may be larger for a jump by whole steps.
const CHANCE: f64 = 6.0;

/// Writes values as a rhythm if they seem to have one; says whether.
pub(crate) fn encode_rhythm<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<bool> {
    if values.len() < COUNT_MIN || T::WIDTH < WIDTH_MIN || values[0].as_float().is_some() {
        return Ok(false);
    }
    let Some((beat, spread)) = beat_of_sample(values) else { return Ok(false) };
    let keys: Vec<u64> = values.iter().map(|value| value.order_key()).collect();
    let Some(runs) = runs(&keys, beat) else { return Ok(false) };
    let step = fitted_step(&runs, beat);

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
pub(crate) fn decode_rhythm<T: Number>(reader: &mut Reader<'_>, count: usize) -> Decoded<Vec<T>> {
    if T::default().as_float().is_some() {
        return Err("a rhythm where floating point numbers should be".into());
    }
    let step = Step { whole: reader.varint()?, fraction: u32::from_le_bytes(reader.array()?) };
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

fn extend_by_run<T: Number>(values: &mut Vec<T>, base: u64, step: Step, unit: i64, residuals: &[i64]) {
    let on_beat = (0..).map(|row| base.wrapping_add(step.times(row)));
    let times =
        residuals.iter().zip(on_beat).map(|(residual, time)| time.wrapping_add_signed(residual.wrapping_mul(unit)));
    values.extend(times.map(T::from_bits));
}

/// What all distances are multiples of.
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

/// The distance between two times on the beat.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    whole: u64,
    /// In 2^-32.
    fraction: u32,
}

impl Step {
    /// So many steps.
    fn times(self, count: u64) -> u64 {
        self.whole.wrapping_mul(count).wrapping_add(u64::from(self.fraction).wrapping_mul(count) >> 32)
    }

    fn nearest(step: f64) -> Self {
        Self { whole: step as u64, fraction: (step.fract() * 2_f64.powi(32)) as u32 }
    }

    fn as_float(self) -> f64 {
        self.whole as f64 + f64::from(self.fraction) / 2_f64.powi(32)
    }

    /// The multiple of the step that is nearest.
    fn multiple_near(self, distance: i64) -> i64 {
        let count = (distance as f64 / self.as_float()).round() as i64;
        let parts = (i128::from(self.fraction) * i128::from(count)) >> 32;
        (self.whole as i64).wrapping_mul(count).wrapping_add(parts as i64)
    }
}

/// The jump to a run whose values are this far from where the run before would have gone on: the median, or the
/// multiple of the step near it. Behind a gap the beat goes on, and multiples cost fewer bits; the median of a few
/// residuals may miss one by chance.
fn jump_to(distances: &[i64], step: Step, spread: u64) -> i64 {
    let middle = median(&mut distances.to_vec());
    let multiple = step.multiple_near(middle);
    let off = |jump: i64| distances.iter().map(|distance| distance.abs_diff(jump) as f64).sum::<f64>();
    if off(multiple) - off(middle) <= CHANCE * spread as f64 { multiple } else { middle }
}

/// The median of the differences that are not negative, and how far the differences mostly are from it, if most are
/// near. Only a sample is looked at: most columns have no rhythm, and this is all it costs them.
fn beat_of_sample<T: Number>(values: &[T]) -> Option<(u64, u64)> {
    let length = (SAMPLE_LENGTH / SAMPLE_PLACES).min(values.len());
    let starts = (0..SAMPLE_PLACES).map(|place| (values.len() - length) * place / (SAMPLE_PLACES - 1));
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
    (steady * STEADY_SHARE.1 >= differences.len() * STEADY_SHARE.0).then_some((beat as u64, spread as u64))
}

/// The runs, unless they are too many. A run ends where a value, and the one behind it too, lies more than half a
/// beat from where it should; a single such value is only early or late.
fn runs(keys: &[u64], beat: u64) -> Option<Vec<&[u64]>> {
    let far = |from: u64, to: u64| distance(from, to).unsigned_abs() > beat / 2;
    let mut runs = Vec::new();
    let (mut start, mut expected) = (0, keys[0]);
    for (row, key) in keys.iter().enumerate().skip(1) {
        expected = expected.wrapping_add(beat);
        if !far(expected, *key) {
            // The beat is not known exactly, and clocks drift: the values lead.
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

/// The step that fits the long runs best: as exact as they show it, but rounder where that costs next to nothing.
fn fitted_step(runs: &[&[u64]], beat: u64) -> Step {
    let length_max = runs.iter().map(|run| run.len()).max().unwrap_or(0);
    let long: Vec<&[u64]> = runs.iter().copied().filter(|run| run.len() * 2 > length_max).collect();
    let stride = long.iter().map(|run| run.len()).sum::<usize>().div_ceil(SAMPLE_LENGTH);
    let exact = exact_step(&long, beat, stride);
    let mut best = (Step { whole: beat, fraction: 0 }, f64::MAX);
    let rounded = (0..19).rev().map(|digits| {
        let unit = 10_u64.pow(digits);
        Step { whole: ((exact / unit as f64).round() as u64).saturating_mul(unit), fraction: 0 }
    });
    for step in rounded.chain([Step::nearest(exact)]) {
        // Off by a whole step at a run's end, it is none.
        if step == best.0 && best.1 < f64::MAX || (step.as_float() - exact).abs() * length_max as f64 > exact {
            continue;
        }
        let cost = cost(&long, step, stride);
        if cost < best.1 * ROUNDER_SHARE {
            best = (step, cost);
        }
    }
    best.0
}

/// The median of the slopes between values that are half a run apart, which a few wild values do not move.
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

/// About how many bits the residuals of a step have, in a sample of these runs.
fn cost(runs: &[&[u64]], step: Step, stride: usize) -> f64 {
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

/// The median of values, of which there is at least one; their order is lost.
fn median(values: &mut [i64]) -> i64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}
