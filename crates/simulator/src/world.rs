//! A world: real processes with engines on one store, whose calls fail as a history says.

use crate::action::{Action, Fault, FaultKind, HistoryStep};
use crate::compare::{SeenDatabase, observe};
use crate::conditions::Conditions;
use crate::environment::SimulatedEnvironment;
use crate::execute::archive::{OutsideStores, observe_all};
use crate::execute::{Process, perform};
use crate::outcome::{Answer, Observed};
use crate::setting::{Language, PROCESSES, Setting};
use crate::shape::BEGINNING;
use crate::stores::WorldStore;
use atsdb_core::{Error, ErrorKind, Result, Store};
use atsdb_engine::{Engine, EngineOptions, Environment};
use atsdb_memory::MemoryStore;
use atsdb_sql::compile_conditions_of;
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;

/// The panic of a process that crashes.
struct Crash;

pub(crate) struct World {
    setting: Setting,
    environment: Arc<SimulatedEnvironment>,
    processes: Vec<Arc<Mutex<Process>>>,
    /// The targets of copies and backups.
    places: Arc<OutsideStores>,
    /// Dropped last, because processes have it open.
    store: WorldStore,
}

impl World {
    pub(crate) fn new(setting: Setting) -> Result<Self> {
        let environment = Arc::new(SimulatedEnvironment::new((BEGINNING + 36 * 3_600) * 1_000));
        let store = WorldStore::new(setting.store)?;
        let of_places = Arc::clone(&environment);
        let make = move || engine(Arc::new(MemoryStore::new(of_places.random()?)), &of_places, setting.language);
        let places = Arc::new(OutsideStores::new(Box::new(make))?);
        let mut world = Self { setting, environment, processes: Vec::new(), places, store };
        for number in 0..PROCESSES {
            let process = world.open(number)?;
            world.processes.push(Arc::new(Mutex::new(process)));
        }
        Ok(world)
    }

    /// Starts a process.
    fn open(&self, number: usize) -> Result<Process> {
        let faults = Faults::new(Fails::Before);
        let language = self.setting.language;
        let engine = engine(Arc::new(FaultyStore::new(self.store.open()?, &faults)), &self.environment, language)?;
        Ok(Process::new(number, engine, faults, Arc::clone(&self.places), language))
    }

    /// Executes one step. Returns the outcome of its own action, and of the one that another process executed during
    /// it.
    pub(crate) fn step(&mut self, step: &HistoryStep) -> Result<(Observed, Option<Observed>)> {
        let number = step.action.process();
        match &step.action {
            Action::Tick { hours } => {
                self.environment.tick(*hours);
                return Ok((Observed::done(Answer::Done), None));
            }
            Action::Crash { .. } => {
                self.processes[number].lock().faults.sever();
                self.replace(number)?;
                return Ok((Observed { has_crashed: true, ..Observed::done(Answer::Done) }, None));
            }
            _ => {}
        }
        let faults = Arc::clone(&self.processes[number].lock().faults);
        let nested = Arc::new(Mutex::new(None));
        if let Some(fault) = step.fault.as_ref().filter(|fault| !self.is_ambiguous(&step.action, fault)) {
            self.arm(&faults, fault, &nested);
        }
        let process = Arc::clone(&self.processes[number]);
        let caught = catch_unwind(AssertUnwindSafe(|| perform(&mut process.lock(), &step.action)));
        let has_crashed = faults.is_severed();
        let failed = faults.failed().and(match step.fault.as_ref().map(|fault| &fault.kind) {
            Some(FaultKind::Fails) => Some(Fails::Before),
            Some(FaultKind::AnswerLost) => Some(Fails::After),
            _ => None,
        });
        faults.disarm();
        let outcome = match caught {
            Ok(outcome) => outcome,
            // Also if the panic happened in another thread of the process.
            Err(_) if has_crashed => Err(Error::new(ErrorKind::Unavailable, "the process is gone")),
            Err(payload) => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no words");
                return Err(Error::internal(format!("panicked: {text}")));
            }
        };
        if has_crashed {
            self.replace(number)?;
        }
        let nested = nested.lock().take();
        Ok((Observed { outcome, has_crashed, failed }, nested))
    }

    /// Returns whether another action in the middle would change the meaning of this one. An `ALTER` is generated from
    /// the present definition: if that changes before it is executed, the statement has another meaning. Only one
    /// backup at a time can be made in an archive.
    fn is_ambiguous(&self, action: &Action, fault: &Fault) -> bool {
        match (&fault.kind, action) {
            (FaultKind::Stall(other), Action::Alter { .. }) => {
                self.setting.language == Language::Sql && matches!(**other, Action::Alter { .. })
            }
            (FaultKind::Stall(other), Action::Backup { .. }) => matches!(**other, Action::Backup { .. }),
            _ => false,
        }
    }

    fn arm(&self, faults: &Arc<Faults>, fault: &Fault, nested: &Arc<Mutex<Option<Observed>>>) {
        let crash = || {
            let faults = Arc::clone(faults);
            move || {
                faults.sever();
                panic_any(Crash);
            }
        };
        match &fault.kind {
            FaultKind::Fails => faults.fail(fault.call, Fails::Before),
            FaultKind::AnswerLost => faults.fail(fault.call, Fails::After),
            FaultKind::CrashBefore => faults.act(fault.call, Fails::Before, crash()),
            FaultKind::CrashAfter => faults.act(fault.call, Fails::After, crash()),
            FaultKind::Stall(action) => {
                let (process, action) = (Arc::clone(&self.processes[action.process()]), action.clone());
                let nested = Arc::clone(nested);
                faults.act(fault.call, Fails::Before, move || {
                    let outcome = perform(&mut process.lock(), &action);
                    *nested.lock() = Some(Observed { outcome, has_crashed: false, failed: None });
                });
            }
        }
    }

    /// A process ends and restarts.
    fn replace(&mut self, number: usize) -> Result<()> {
        let process = self.open(number)?;
        self.processes[number] = Arc::new(Mutex::new(process));
        Ok(())
    }

    /// All transactions end, and every process restarts.
    pub(crate) fn restart(&mut self) -> Result<()> {
        (0..PROCESSES).try_for_each(|number| self.replace(number))
    }

    /// The state that a process reads now.
    pub(crate) fn observe(&self, process: usize) -> Result<SeenDatabase> {
        observe(&self.processes[process].lock().engine.snapshot()?)
    }

    /// The same, including the answers of rollups if sessions use SQL.
    pub(crate) fn observe_all(&self, process: usize) -> Result<SeenDatabase> {
        let process = self.processes[process].lock();
        observe_all(&process.engine, self.setting.language)
    }

    /// The contents of the snapshot that a process holds, if it holds one.
    pub(crate) fn observe_held(&self, process: usize) -> Result<Option<SeenDatabase>> {
        self.processes[process].lock().held.as_ref().map(observe).transpose()
    }

    /// Returns damage in the store.
    pub(crate) fn verify(&self) -> Result<Vec<String>> {
        let report = self.processes[0].lock().engine.verify(None)?;
        Ok(report.findings.iter().map(|finding| format!("{finding:?}")).collect())
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.environment.now_ms()
    }
}

fn engine(store: Arc<dyn Store>, environment: &Arc<SimulatedEnvironment>, language: Language) -> Result<Engine> {
    let environment = Arc::clone(environment) as Arc<dyn Environment>;
    let options = EngineOptions {
        cache_bytes: 1 << 20,
        preload_bytes: 0,
        maintenance: false,
        threads: 1,
        environment,
        ..EngineOptions::default()
    };
    let engine = Engine::new(store, options)?;
    match language {
        Language::Calls => engine.set_condition_compiler(Arc::new(Conditions)),
        Language::Sql => compile_conditions_of(&engine),
    }
    Ok(engine)
}

/// Panics that end processes are part of a history, so they are not printed.
pub(crate) fn keep_crashes_quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let is_passed_on = panic.payload().downcast_ref::<&str>() == Some(&"a scoped thread panicked");
            if !panic.payload().is::<Crash>() && !is_passed_on {
                before(panic);
            }
        }));
    });
}
