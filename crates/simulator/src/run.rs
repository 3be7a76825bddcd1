//! Runs histories, and reports the first that fails.

#![expect(clippy::disallowed_methods, reason = "the time limit of a run; histories have a clock of their own")]

use crate::action::{Action, Language, PROCESSES, Step, TroubleKind};
use crate::generate::history;
use crate::minimise::minimised;
use crate::model::Model;
use crate::world::{Observed, StoreKind, World, keep_crashes_quiet};
use std::fmt;
use std::time::{Duration, Instant};

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// After so many histories.
    Count(u64),
    /// After this time.
    Time(Duration),
}

/// Where a history happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Where rows lie.
    pub store: StoreKind,
    /// What sessions speak.
    pub language: Language,
}

impl Setting {
    /// All of them.
    pub fn all() -> Vec<Self> {
        let stores = [StoreKind::Memory, StoreKind::Sqlite, StoreKind::Split];
        let of = |language| stores.map(|store| Self { store, language });
        [of(Language::Calls), of(Language::Sql)].concat()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let language = if self.language == Language::Sql { "-sql" } else { "" };
        write!(f, "{}{language}", format!("{:?}", self.store).to_lowercase())
    }
}

/// A history in which a promise was broken.
#[derive(Debug)]
pub struct Failure {
    /// The history's seed.
    pub seed: u64,
    /// Where it happened.
    pub setting: Setting,
    /// What came instead of what was promised, in the minimised history.
    pub message: String,
    /// The steps that it needs.
    pub history: Vec<Step>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, setting, message, history } = self;
        writeln!(f, "seed {seed} on {setting}: {message}\nthe steps that it needs:")?;
        for (number, step) in history.iter().enumerate() {
            writeln!(f, "  {number}: {step:?},")?;
        }
        write!(f, "again: make simulate STORE={setting} SEED={seed} COUNT=1")
    }
}

/// Runs the histories of the seeds from `seed` on. Says how many there were.
///
/// # Errors
///
/// The first that fails.
pub fn simulate(setting: Setting, seed: u64, limit: Limit) -> Result<u64, Box<Failure>> {
    let begun = Instant::now();
    let is_over = |count: u64| match limit {
        Limit::Count(most) => count >= most,
        Limit::Time(time) => begun.elapsed() >= time,
    };
    let mut count = 0;
    while !is_over(count) {
        let seed = seed.wrapping_add(count);
        let steps = history(seed);
        if let Err(message) = run_history(setting, &steps) {
            let (history, message) = minimised(setting, steps, message);
            return Err(Box::new(Failure { seed, setting, message, history }));
        }
        count += 1;
    }
    Ok(count)
}

/// Runs a history.
///
/// # Errors
///
/// What was promised and is not so, after which step.
pub fn run_history(setting: Setting, steps: &[Step]) -> Result<(), String> {
    keep_crashes_quiet();
    let mut run = Run::new(setting)?;
    for (number, step) in steps.iter().enumerate() {
        run.step(number, step).map_err(|problem| format!("step {number}: {problem}"))?;
    }
    run.end().map_err(|problem| format!("at the end: {problem}"))
}

/// A history on its way.
struct Run {
    world: World,
    /// The states that are possible.
    models: Vec<Model>,
}

impl Run {
    fn new(setting: Setting) -> Result<Self, String> {
        let world = World::new(setting).map_err(|error| format!("no store: {error}"))?;
        let mut model = Model::new(setting.language);
        model.set_now(world.now_ms());
        Ok(Self { world, models: vec![model] })
    }

    fn step(&mut self, number: usize, step: &Step) -> Result<(), String> {
        let (own, nested) = self.world.step(step).map_err(|error| error.to_string())?;
        let now_ms = self.world.now_ms();
        let visitor = step.trouble.as_ref().and_then(|trouble| match (&trouble.kind, nested) {
            (TroubleKind::Stall(action), Some(nested)) => Some((action.as_ref().clone(), nested)),
            _ => None,
        });
        let next: Vec<Model> =
            self.models.iter().flat_map(|model| after(model, step, &own, visitor.as_ref())).collect();
        if next.is_empty() {
            let expected: Vec<String> = self.models.iter().map(|model| model.expected(&step.action)).collect();
            let states: Vec<String> = self.models.iter().map(Model::shown).collect();
            let nested = visitor.map(|(_, nested)| format!(", meanwhile {nested:?}")).unwrap_or_default();
            let states = states.join("\nor\n");
            return Err(format!("it says {own:?}{nested}; expected {expected:?} over\n{states}"));
        }
        self.models = next;
        self.models.iter_mut().for_each(|model| model.set_now(now_ms));
        self.compare(number % PROCESSES)?;
        self.compare_held(number / PROCESSES % PROCESSES)
    }

    /// What a process reads must be a possible state.
    fn compare(&mut self, process: usize) -> Result<(), String> {
        let seen = self.world.see(process).map_err(|error| format!("process {process} cannot read: {error}"))?;
        let shown: Vec<String> = self.models.iter().map(Model::shown).collect();
        self.models.retain_mut(|model| model.agrees(&seen));
        if self.models.len() > 1 {
            let mut signatures = std::collections::BTreeSet::new();
            self.models.retain(|model| signatures.insert(model.signature()));
        }
        match self.models.is_empty() {
            false => Ok(()),
            true => Err(format!("process {process} reads\n{seen:?}\ninstead of\n{}", shown.join("\nor\n"))),
        }
    }

    fn compare_held(&mut self, process: usize) -> Result<(), String> {
        let seen = self.world.see_held(process).map_err(|error| format!("a held snapshot cannot be read: {error}"))?;
        let shown: Vec<String> = self.models.iter().map(|model| model.shown_held(process)).collect();
        self.models.retain_mut(|model| model.agrees_held(process, seen.as_ref()));
        match self.models.is_empty() {
            false => Ok(()),
            true => Err(format!("the snapshot of {process} shows\n{seen:?}\ninstead of\n{}", shown.join("\nor\n"))),
        }
    }

    /// Everything is read by everybody, sealed, and read again by processes that have just begun.
    fn end(&mut self) -> Result<(), String> {
        (0..PROCESSES).try_for_each(|process| self.compare(process).and_then(|()| self.compare_held(process)))?;
        let seal = Step { action: Action::Seal { process: 0 }, trouble: None };
        self.step(0, &seal)?;
        self.world.restart().map_err(|error| format!("no process can begin: {error}"))?;
        self.models.iter_mut().for_each(Model::restart);
        self.compare(0)?;
        let findings = self.world.verify().map_err(|error| format!("cannot be verified: {error}"))?;
        if findings.is_empty() { Ok(()) } else { Err(format!("damage: {findings:?}")) }
    }
}

/// The states after a step: what another process did in its middle came before or after it.
fn after(model: &Model, step: &Step, own: &Observed, visitor: Option<&(Action, Observed)>) -> Vec<Model> {
    let Some((action, nested)) = visitor else { return model.after(&step.action, own, false) };
    let before = model.after(action, nested, false).into_iter();
    let before = before.flat_map(|model| model.after(&step.action, own, true));
    let behind = model.after(&step.action, own, true).into_iter();
    let behind = behind.flat_map(|model| model.after(action, nested, false));
    let overlapped = model.overlapped(&step.action, own, action, nested);
    before.chain(behind).chain(overlapped).collect()
}
