//! The latencies of many operations: the median, the tails, and the failures.

use crate::measure::clock;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The shares of operations at which a distribution is kept, in permille.
const QUANTILES_PERMILLE: [u32; 11] = [0, 100, 250, 500, 750, 900, 950, 990, 995, 999, 1_000];

/// The latencies of many operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latencies {
    /// The number of operations that succeeded.
    pub count: u64,
    /// The number of operations that failed: lock timeouts, conflicts, deadlocks.
    pub errors: u64,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Operations a second, over all sessions together.
    pub per_second: f64,
    /// Half were faster, in milliseconds.
    pub p50: f64,
    /// 95 of 100 were faster.
    pub p95: f64,
    /// 99 of 100 were faster.
    pub p99: f64,
    /// The slowest.
    pub max: f64,
    /// The distribution, in milliseconds: the fastest, then at 10, 25, 50, 75, 90, 95, 99, 99.5 and 99.9 of 100, and
    /// the slowest.
    pub quantiles: Vec<f64>,
}

/// Times operations one by one. [`add`](Self::add) joins the times of several threads.
#[derive(Debug, Clone, Default)]
pub struct Stopwatch {
    milliseconds: Vec<f64>,
    errors: u64,
    last_error: Option<String>,
}

impl Stopwatch {
    /// Times one operation. One that fails is counted, and its error kept.
    pub fn time<T, E: ToString>(&mut self, work: impl FnOnce() -> Result<T, E>) -> Option<T> {
        let begin = clock::now();
        match work() {
            Ok(value) => {
                self.milliseconds.push(begin.elapsed().as_secs_f64() * 1e3);
                Some(value)
            }
            Err(error) => {
                self.errors += 1;
                self.last_error = Some(error.to_string());
                None
            }
        }
    }

    /// Adds the times of another stopwatch.
    pub fn add(&mut self, other: Self) {
        self.milliseconds.extend(other.milliseconds);
        self.errors += other.errors;
        self.last_error = other.last_error.or(self.last_error.take());
    }

    /// The number of operations that succeeded.
    pub fn count(&self) -> u64 {
        self.milliseconds.len() as u64
    }

    /// The latencies of the operations done in `elapsed`; the last error if none succeeded.
    ///
    /// # Errors
    ///
    /// No operation succeeded.
    pub fn finish(mut self, elapsed: Duration) -> Result<Latencies, String> {
        if self.milliseconds.is_empty() {
            return Err(self.last_error.unwrap_or_else(|| "nothing was done in the time".to_owned()));
        }
        self.milliseconds.sort_by(f64::total_cmp);
        let last = self.milliseconds.len() - 1;
        let quantile = |permille: u32| {
            // The nearest rank: a time that was really measured.
            let rank = (self.milliseconds.len() * permille as usize).div_ceil(1_000);
            self.milliseconds[rank.saturating_sub(1).min(last)]
        };
        Ok(Latencies {
            count: self.count(),
            errors: self.errors,
            last_error: self.last_error.clone(),
            per_second: self.count() as f64 / elapsed.as_secs_f64().max(1e-9),
            p50: quantile(500),
            p95: quantile(950),
            p99: quantile(990),
            max: self.milliseconds[last],
            quantiles: QUANTILES_PERMILLE.iter().map(|permille| quantile(*permille)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let watch = Stopwatch { milliseconds: (1..=200).rev().map(f64::from).collect(), ..Stopwatch::default() };
        let latencies = watch.finish(Duration::from_secs(2)).expect("latencies");
        assert_eq!((latencies.p50, latencies.p95, latencies.p99, latencies.max), (100.0, 190.0, 198.0, 200.0));
        assert_eq!((latencies.quantiles[0], latencies.per_second), (1.0, 100.0));
    }

    #[test]
    fn what_fails_is_counted_and_not_timed() {
        let mut watch = Stopwatch::default();
        watch.time(|| Err::<(), _>("locked"));
        assert_eq!(watch.clone().finish(Duration::from_secs(1)), Err("locked".to_owned()));
        watch.time(|| Ok::<_, String>(()));
        let latencies = watch.finish(Duration::from_secs(1)).expect("latencies");
        assert_eq!((latencies.count, latencies.errors), (1, 1));
    }
}
