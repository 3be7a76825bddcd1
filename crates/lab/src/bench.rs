//! What a workload measures with: the clock, the memory, and where figures go.

use crate::answer::{Answer, AnswerHash};
use crate::contestant::Place;
use crate::event::Event;
use crate::failure::Failure;
use crate::measure::{Figure, Spread};
use crate::process;
use atsdb::Durability;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a query is run: once with cold caches, then this often with warm ones.
const WARM_RUNS: usize = 5;
/// A query is not run again once it has taken this long altogether.
const QUERY_TIME_MAX: Duration = Duration::from_secs(10);

/// What a workload measures with, for one contestant.
pub struct Bench<'a> {
    /// How many rows.
    pub rows: u64,
    /// Where randomness starts.
    pub seed: u64,
    /// What commits survive.
    pub durability: Durability,
    /// An empty folder.
    pub directory: PathBuf,
    /// The command that starts this program and ends it at once.
    pub start_command: Vec<String>,
    /// Takes the events; says `false` to stop.
    pub sink: &'a mut dyn FnMut(Event) -> bool,
}

impl Bench<'_> {
    /// A folder of its own within the run's.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub fn place(&self, name: &str) -> Result<Place, Failure> {
        let directory = self.directory.join(name);
        std::fs::create_dir_all(&directory).map_err(Failure::broken)?;
        Ok(Place { directory, durability: self.durability })
    }

    /// Says what is going on.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn progress(&mut self, text: impl Into<String>) -> Result<(), Failure> {
        self.tell(Event::Progress { text: text.into() })
    }

    /// Gives a figure that is there already.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn record(&mut self, measure: &str, figure: Figure) -> Result<(), Failure> {
        self.tell(Event::Measured { measure: measure.to_owned(), figure })
    }

    /// Runs `work` and gives its figure, with the memory it took, or the reason why there is none. Returns what
    /// else came of it.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop. A measurement without a figure is no error.
    pub fn attempt<T>(
        &mut self,
        measure: &str,
        work: impl FnOnce() -> Result<(Figure, T), Failure>,
    ) -> Result<Option<T>, Failure> {
        process::forget_memory_peak();
        match work() {
            Ok((mut figure, rest)) => {
                figure.memory_peak_bytes = process::memory_peak_bytes();
                self.record(measure, figure)?;
                Ok(Some(rest))
            }
            Err(Failure::Interrupted) => Err(Failure::Interrupted),
            Err(Failure::Cannot(reason)) => {
                self.tell(Event::Skipped { measure: measure.to_owned(), reason })?;
                Ok(None)
            }
            Err(Failure::Failed(error)) => {
                self.tell(Event::Failed { measure: measure.to_owned(), reason: error.to_string() })?;
                Ok(None)
            }
        }
    }

    /// Runs a query, cold and warm, and gives its time in milliseconds with its answer.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn query(&mut self, measure: &str, run: impl FnMut() -> Result<Answer, Failure>) -> Result<(), Failure> {
        self.query_to(measure, Answer::hash, run)
    }

    /// As [`query`](Self::query); `hash` says what counts as the same answer.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn query_to(
        &mut self,
        measure: &str,
        hash: impl Fn(&Answer) -> AnswerHash,
        mut run: impl FnMut() -> Result<Answer, Failure>,
    ) -> Result<(), Failure> {
        self.attempt(measure, || {
            let begin = Instant::now();
            let answer = hash(&run()?);
            let first = milliseconds(begin.elapsed());
            let mut warm = Vec::new();
            while warm.len() < WARM_RUNS && begin.elapsed() < QUERY_TIME_MAX {
                let begin = Instant::now();
                let again = run()?;
                warm.push(milliseconds(begin.elapsed()));
                if hash(&again) != answer {
                    return Err(Failure::wrong("the answer changed from one run to the next"));
                }
            }
            let value = Spread::of(&warm).map_or(first, |spread| spread.median);
            Ok((Figure { first: Some(first), answer: Some(answer), ..Figure::of(value) }, ()))
        })
        .map(drop)
    }

    fn tell(&mut self, event: Event) -> Result<(), Failure> {
        if (self.sink)(event) { Ok(()) } else { Err(Failure::Interrupted) }
    }
}

/// A time in milliseconds, with its fraction.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// `count` things in `time`, as a rate.
pub fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}
