//! Runs a history together with its model.

use crate::action::{Action, FaultKind, HistoryStep};
use crate::compare::SeenDatabase;
use crate::model::Model;
use crate::outcome::Observed;
use crate::setting::{PROCESSES, Setting};
use crate::world::{World, keep_crashes_quiet};

/// Runs a history.
///
/// # Errors
/// The broken guarantee, and the step after which it was found.
pub fn run_history(setting: Setting, steps: &[HistoryStep]) -> Result<(), String> {
    keep_crashes_quiet();
    let mut run = Run::new(setting)?;
    for (number, step) in steps.iter().enumerate() {
        run.step(number, step).map_err(|problem| format!("step {number}: {problem}"))?;
    }
    run.end().map_err(|problem| format!("at the end: {problem}"))
}

/// A running history.
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

    fn step(&mut self, number: usize, step: &HistoryStep) -> Result<(), String> {
        let (own, nested) = self.world.step(step).map_err(|error| error.to_string())?;
        let now_ms = self.world.now_ms();
        let visitor = step.fault.as_ref().and_then(|fault| match (&fault.kind, nested) {
            (FaultKind::Stall(action), Some(nested)) => Some((action.as_ref().clone(), nested)),
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

    /// Checks that what a process reads is a possible state.
    fn compare(&mut self, process: usize) -> Result<(), String> {
        let seen = self.world.observe(process);
        self.compare_with(process, seen)
    }

    /// The same, including the answers of rollups.
    fn compare_all(&mut self, process: usize) -> Result<(), String> {
        let seen = self.world.observe_all(process);
        self.compare_with(process, seen)
    }

    fn compare_with(&mut self, process: usize, seen: atsdb_core::Result<SeenDatabase>) -> Result<(), String> {
        let seen = seen.map_err(|error| format!("process {process} cannot read: {error}"))?;
        let shown: Vec<String> = self.models.iter().map(Model::shown).collect();
        self.models.retain_mut(|model| model.agrees(process, &seen));
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
        let seen =
            self.world.observe_held(process).map_err(|error| format!("a held snapshot cannot be read: {error}"))?;
        let shown: Vec<String> = self.models.iter().map(|model| model.shown_held(process)).collect();
        self.models.retain_mut(|model| model.agrees_held(process, seen.as_ref()));
        match self.models.is_empty() {
            false => Ok(()),
            true => Err(format!("the snapshot of {process} shows\n{seen:?}\ninstead of\n{}", shown.join("\nor\n"))),
        }
    }

    /// Ends a history: all processes read everything, it is sealed, and all processes restart and read it again.
    fn end(&mut self) -> Result<(), String> {
        (0..PROCESSES).try_for_each(|process| self.compare(process).and_then(|()| self.compare_held(process)))?;
        self.compare_all(0)?;
        let seal = HistoryStep { action: Action::Seal { process: 0 }, fault: None };
        self.step(0, &seal)?;
        self.world.restart().map_err(|error| format!("no process can begin: {error}"))?;
        self.models.iter_mut().for_each(Model::restart);
        self.compare_all(0)?;
        let findings = self.world.verify().map_err(|error| format!("cannot be verified: {error}"))?;
        if findings.is_empty() { Ok(()) } else { Err(format!("damage: {findings:?}")) }
    }
}

/// Returns the states after a step. An action of another process during the step counts as before or after it.
fn after(model: &Model, step: &HistoryStep, own: &Observed, visitor: Option<&(Action, Observed)>) -> Vec<Model> {
    let Some((action, nested)) = visitor else { return model.after(&step.action, own, false) };
    let before = model.after(action, nested, false).into_iter();
    let before = before.flat_map(|model| model.after(&step.action, own, true));
    let behind = model.after(&step.action, own, true).into_iter();
    let behind = behind.flat_map(|model| model.after(action, nested, false));
    let overlapped = model.overlapped(&step.action, own, action, nested);
    before.chain(behind).chain(overlapped).collect()
}
