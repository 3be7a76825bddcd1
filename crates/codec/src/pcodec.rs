//! Numbers compressed by pcodec (<https://github.com/pcodec/pcodec>) in its "wrapped" format: version, chunk metadata,
//! one page. Owned here: its configuration, and checks before it allocates.
//!
//! A fresh page skips pcodec's search. Level 0 packs all numbers into one range of bits and writes 170 to 500 million a
//! second. A sample decides whether numbers or their differences are packed, whether all are multiples of a number, and
//! whether a few outliers widen the range so much that more bins pay off.

use crate::encoding::Effort;
use crate::number::Number;
use crate::wire::{Damage, DecodeResult, zigzag};
use atsdb_core::limits::CHUNK_ELEMENTS_MAX;
use atsdb_core::{Error, Result};
use pco::metadata::{DeltaEncoding, FormatVersion};
use pco::wrapped::{FileCompressor, FileDecompressor};
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};

/// The level of a sealed page. Higher levels save less than 1 % and take 2 to 20 times the time.
const SEALED_LEVEL: usize = 8;

/// The level of a fresh page with outliers.
const FRESH_OUTLIER_LEVEL: usize = 4;

/// A page has outliers if its range is wider than the mean number by this many bits.
const FRESH_OUTLIER_BITS: f64 = 2.5;

/// The minimum divisor for multiples: smaller ones save less than they cost.
const MULTIPLE_MIN: u64 = 8;

/// pcodec's number for its dictionary mode, in the lowest bits of the chunk metadata. That mode allocates a length that
/// is not checked against the bytes, and no page uses it.
const DICTIONARY_MODE: u8 = 4;

/// The largest window of a page's lookback mode, as a power of two; the window is allocated.
const LOOKBACK_WINDOW_LOG_MAX: u32 = 17;

/// The maximum number of values of a page, which pcodec sets for its chunks.
pub(crate) const VALUES_MAX: usize = 1 << 24;

const _: () = assert!(CHUNK_ELEMENTS_MAX <= VALUES_MAX, "the arrays of a full chunk would not be compressed");

/// Writes values, at least one and at most [`VALUES_MAX`].
pub(crate) fn encode<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<()> {
    let config = match effort {
        Effort::Fresh => fresh_config(values),
        Effort::Sealed => ChunkConfig::default().with_compression_level(SEALED_LEVEL),
    };
    let config = config.with_enable_8_bit(true).with_paging_spec(PagingSpec::Exact(vec![values.len()]));
    write(out, values, &config).map_err(|error| Error::internal("pcodec cannot write a page").with_source(error))
}

fn write<T: Number>(out: &mut Vec<u8>, values: &[T], config: &ChunkConfig) -> pco::errors::PcoResult<()> {
    let file = FileCompressor::default();
    let mut chunk = file.chunk_compressor(values, config)?;
    out.reserve(chunk.meta_size_hint() + chunk.page_size_hint(0));
    file.write_header(&mut *out)?;
    chunk.write_meta(&mut *out)?;
    chunk.write_page(0, &mut *out)?;
    Ok(())
}

/// Reads `count` values, at least one, from all bytes.
pub(crate) fn decode<T: Number>(bytes: &[u8], count: usize) -> DecodeResult<Vec<T>> {
    let (file, rest) = FileDecompressor::new(bytes)?;
    if *file.format_version() > FormatVersion::max_supported() {
        return Err(Damage(format!("pcodec's format {} is not known", file.format_version())));
    }
    if rest.first().is_some_and(|byte| byte & 0x0f == DICTIONARY_MODE) {
        return Err("pcodec's dictionary mode is not allowed".into());
    }
    let (mut chunk, rest) = file.chunk_decompressor::<T, _>(rest)?;
    if let DeltaEncoding::Lookback { config, .. } = chunk.meta().delta_encoding
        && config.window_n_log > LOOKBACK_WINDOW_LOG_MAX
    {
        return Err("pcodec's window is larger than a page".into());
    }
    let mut page = chunk.page_decompressor(rest, count)?;
    let mut values = vec![T::default(); count];
    let progress = page.read(&mut values)?;
    let unread = page.into_src().len();
    if progress.n_processed != count || !progress.finished {
        return Err("pcodec's page ends too early".into());
    }
    if unread != 0 {
        return Err(Damage(format!("{unread} bytes too many")));
    }
    Ok(values)
}

fn fresh_config<T: Number>(values: &[T]) -> ChunkConfig {
    let sample = Sample::of(values);
    let mode = match sample.divisor {
        divisor @ MULTIPLE_MIN.. if values[0].as_float().is_none() => ModeSpec::TryIntMult(divisor),
        _ => ModeSpec::Classic,
    };
    let divisor_bits = if matches!(mode, ModeSpec::Classic) { 0.0 } else { (sample.divisor as f64).log2() };
    let (delta, mean_bits, range_bits) = if sample.delta_bits + 0.5 < sample.plain_bits {
        (DeltaSpec::TryConsecutive(1), sample.delta_bits, delta_range_bits(values))
    } else {
        (DeltaSpec::NoOp, sample.plain_bits, plain_range_bits(values))
    };
    let has_outliers = f64::from(range_bits) - divisor_bits > (mean_bits - divisor_bits).max(0.0) + FRESH_OUTLIER_BITS;
    let level = if has_outliers { FRESH_OUTLIER_LEVEL } else { 0 };
    ChunkConfig::default().with_compression_level(level).with_mode_spec(mode).with_delta_spec(delta)
}

/// Statistics of a few runs of adjacent values.
struct Sample {
    /// The mean number of bits of a value's distance from the median.
    plain_bits: f64,
    /// The mean number of bits of its distance from the preceding value.
    delta_bits: f64,
    /// The greatest common divisor, apart from a common offset; 0 if all are equal.
    divisor: u64,
}

impl Sample {
    const RUNS: usize = 8;
    const RUN_LENGTH: usize = 64;

    fn of<T: Number>(values: &[T]) -> Self {
        let run_length = Self::RUN_LENGTH.min(values.len());
        let last_start = values.len() - run_length;
        let mut keys = Vec::with_capacity(Self::RUNS * run_length);
        for run in 0..Self::RUNS {
            let start = last_start * run / (Self::RUNS - 1);
            keys.extend(values[start..start + run_length].iter().map(|value| value.order_key()));
        }
        let deltas =
            keys.chunks_exact(run_length).flat_map(|run| run.windows(2)).map(|pair| distance(pair[0], pair[1]));
        let delta_bits = mean_width(deltas);
        let first = keys[0];
        let divisor = keys.iter().fold(0, |divisor, key| match divisor {
            1 => 1,
            _ => greatest_common_divisor(divisor, key.abs_diff(first)),
        });
        let middle = keys.len() / 2;
        let median = *keys.select_nth_unstable(middle).1;
        let plain_bits = mean_width(keys.iter().map(|key| distance(median, *key)));
        Self { plain_bits, delta_bits, divisor }
    }
}

fn distance(from: u64, to: u64) -> u64 {
    zigzag(to.wrapping_sub(from) as i64)
}

fn mean_width(distances: impl Iterator<Item = u64>) -> f64 {
    let (count, bits) = distances.fold((0_u32, 0), |(count, bits), distance| (count + 1, bits + width(distance)));
    f64::from(bits) / f64::from(count.max(1))
}

fn width(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Returns the greatest common divisor; every number divides 0.
pub(crate) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn plain_range_bits<T: Number>(values: &[T]) -> u32 {
    let (min, max) =
        values.iter().fold((u64::MAX, 0), |(min, max), value| (value.order_key().min(min), value.order_key().max(max)));
    width(max - min)
}

fn delta_range_bits<T: Number>(values: &[T]) -> u32 {
    width(values.windows(2).fold(0, |all, pair| all | distance(pair[0].order_key(), pair[1].order_key())))
}

impl From<pco::errors::PcoError> for Damage {
    fn from(error: pco::errors::PcoError) -> Self {
        Self(format!("pcodec: {error}"))
    }
}
