//! The bench with which a workload measures: time, memory, and a sink for figures.

use crate::advise::AdviseInput;
use crate::contestant::{Session, Workspace};
use crate::data::answer::{Answer, AnswerHash};
use crate::failure::Failure;
use crate::measure::{Figure, Spread, Tuning, clock};
use crate::process;
use crate::server::ServerAddress;
use crate::workload::event::Event;
use atsdb::Durability;
use std::path::PathBuf;
use std::time::Duration;

/// A query is run once with cold caches, then this often with warm ones.
const WARM_RUNS: usize = 5;
/// A query is not repeated once its runs have taken this long in total.
const QUERY_TIME_MAX: Duration = Duration::from_secs(10);

/// The bench of a workload, for one contestant.
pub struct Bench<'a> {
    /// The number of rows.
    pub rows: u64,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The requested durability of commits.
    pub durability: Durability,
    /// Tuned or default settings.
    pub tuning: Tuning,
    /// An empty folder.
    pub directory: PathBuf,
    /// The prefix of the names of its databases on the server.
    pub database_prefix: String,
    /// The server, if the contestant requests one.
    pub server: Option<ServerAddress>,
    /// The file for advice.
    pub input: Option<AdviseInput>,
    /// The command that starts this program and ends it at once.
    pub start_command: Vec<String>,
    /// Receives the events; returns `false` to stop.
    pub sink: &'a mut dyn FnMut(Event) -> bool,
}

impl Bench<'_> {
    /// Creates a separate workspace, with a folder within the run's.
    ///
    /// # Errors
    ///
    /// The folder cannot be created.
    pub fn workspace(&self, name: &str) -> Result<Workspace, Failure> {
        let directory = self.directory.join(name);
        std::fs::create_dir_all(&directory).map_err(Failure::broken)?;
        let lower = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
        let database = format!("{}_{}", self.database_prefix, name.chars().map(lower).collect::<String>());
        let (durability, tuning, server) = (self.durability, self.tuning, self.server.clone());
        Ok(Workspace { directory, durability, tuning, database, server })
    }

    /// Reports the settings of a contestant and the durability of its commits. Called before its first figure.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn opened(&mut self, session: &dyn Session) -> Result<(), Failure> {
        self.emit(Event::Opened { settings: session.settings(), tier: session.tier() })
    }

    /// Reports the contestant's present activity.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn progress(&mut self, text: impl Into<String>) -> Result<(), Failure> {
        self.emit(Event::Progress { text: text.into() })
    }

    /// Reports a figure.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn record(&mut self, measure: &str, figure: Figure) -> Result<(), Failure> {
        self.emit(Event::Measured { measure: measure.to_owned(), figure: Box::new(figure) })
    }

    /// Runs `work` and reports its figure with the memory and the processor time that it took, or why it has none.
    /// Returns the rest of its result.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop. A measurement without a figure is not an error.
    pub fn attempt<T>(
        &mut self,
        measure: &str,
        work: impl FnOnce() -> Result<(Figure, T), Failure>,
    ) -> Result<Option<T>, Failure> {
        Ok(self.attempt_reported(measure, work)?.map(|(_, rest)| rest))
    }

    /// Like [`attempt`](Self::attempt). Also returns the figure that was reported.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop. A measurement without a figure is not an error.
    pub fn attempt_reported<T>(
        &mut self,
        measure: &str,
        work: impl FnOnce() -> Result<(Figure, T), Failure>,
    ) -> Result<Option<(Figure, T)>, Failure> {
        process::forget_memory_peak();
        let server = HelperProcesses::of(self.server.as_ref());
        let cpu_seconds = process::cpu_seconds();
        match work() {
            Ok((mut figure, rest)) => {
                figure.memory_peak_bytes = process::memory_peak_bytes();
                let spent = process::cpu_seconds().zip(cpu_seconds);
                figure.cpu_seconds = spent.map(|(after, before)| (after - before).max(0.0));
                server.usage_since(&mut figure);
                self.record(measure, figure.clone())?;
                Ok(Some((figure, rest)))
            }
            Err(Failure::Interrupted) => Err(Failure::Interrupted),
            Err(Failure::Cannot(reason)) => {
                self.emit(Event::Skipped { measure: measure.to_owned(), reason })?;
                Ok(None)
            }
            Err(Failure::Failed(error)) => {
                self.emit(Event::Failed { measure: measure.to_owned(), reason: error.to_string() })?;
                Ok(None)
            }
        }
    }

    /// Reports how many of `count` operations one second of the server's processor time did, by the processor time in
    /// the figure of these operations. `None` is a figure that was not reported.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn per_server_second(&mut self, measure: &str, count: u64, done: Option<&Figure>) -> Result<(), Failure> {
        self.attempt(measure, || {
            let done = done.ok_or_else(|| Failure::cannot("was not done"))?;
            let seconds = done.server_cpu_seconds.ok_or_else(Failure::no_server)?;
            // Time is counted in ticks, of which a short run may have none.
            Ok((Figure::of(count as f64 / seconds.max(process::TICK_SECONDS)), ()))
        })
        .map(drop)
    }

    /// Runs a query, cold and warm, and reports its time in milliseconds with its answer.
    ///
    /// # Errors
    ///
    /// [`Failure::Interrupted`] when the caller wants to stop.
    pub fn query(&mut self, measure: &str, run: impl FnMut() -> Result<Answer, Failure>) -> Result<(), Failure> {
        self.query_to(measure, Answer::hash, run)
    }

    /// Like [`query`](Self::query); answers with an equal `hash` count as the same.
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
            let begin = clock::now();
            let answer = hash(&run()?);
            let first = milliseconds(begin.elapsed());
            let mut warm = Vec::new();
            while warm.len() < WARM_RUNS && begin.elapsed() < QUERY_TIME_MAX {
                let begin = clock::now();
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

    fn emit(&mut self, event: Event) -> Result<(), Failure> {
        if (self.sink)(event) { Ok(()) } else { Err(Failure::Interrupted) }
    }
}

/// The processes that work for a contestant outside of this one: its server, or its children.
struct HelperProcesses {
    before: Vec<(u32, f64)>,
}

impl HelperProcesses {
    /// The processes that run now. Resets their memory peaks.
    fn of(server: Option<&ServerAddress>) -> Self {
        let roots = match server {
            Some(server) => server.process.into_iter().collect(),
            None => process::descendants(),
        };
        let usage = |root: u32| {
            process::forget_memory_peak_of_tree(root);
            Some((root, process::usage_of_tree(root)?.cpu_seconds))
        };
        Self { before: roots.into_iter().filter_map(usage).collect() }
    }

    fn usage_since(&self, figure: &mut Figure) {
        let usages = self.before.iter().filter_map(|(root, before)| Some((process::usage_of_tree(*root)?, before)));
        let (mut seconds, mut bytes) = (0.0, 0);
        for (usage, before) in usages {
            seconds += (usage.cpu_seconds - before).max(0.0);
            bytes += usage.memory_peak_bytes;
        }
        if !self.before.is_empty() {
            figure.server_cpu_seconds = Some(seconds);
            figure.server_memory_peak_bytes = Some(bytes);
        }
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
