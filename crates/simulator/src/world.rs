//! The real thing: processes with engines over one store, whose calls fail as a history says.

use crate::action::{Action, Language, PROCESSES, Step, Trouble, TroubleKind};
use crate::compare::{Seen, see};
use crate::environment::SimulatedEnvironment;
use crate::execute::{Answer, Process, perform};
use crate::run::Setting;
use crate::shape::BEGINNING;
use atsdb_core::{Durability, Error, ErrorKind, Result, Store};
use atsdb_engine::{Engine, EngineOptions, Environment};
use atsdb_memory::MemoryStore;
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use atsdb_testkit::faulty::{Fails, Faults, FaultyStore};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// Where a world's rows lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// In memory; processes share the store itself.
    Memory,
    /// In one SQLite file, which each process opens.
    Sqlite,
    /// In a split store, which each process opens.
    Split,
}

/// What a process ends with that crashes.
struct Crash;

/// What came of one action.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) outcome: Result<Answer, Error>,
    /// Whether its process ended meanwhile.
    pub(crate) has_crashed: bool,
    /// How a call of the store failed, if one did.
    pub(crate) failed: Option<Fails>,
}

pub(crate) struct World {
    setting: Setting,
    memory: Arc<MemoryStore>,
    folder: Option<TempDir>,
    environment: Arc<SimulatedEnvironment>,
    processes: Vec<Arc<Mutex<Process>>>,
    /// Where copies go.
    target: Engine,
}

impl World {
    pub(crate) fn new(setting: Setting) -> Result<Self> {
        let environment = Arc::new(SimulatedEnvironment::new((BEGINNING + 36 * 3_600) * 1_000));
        let memory = Arc::new(MemoryStore::new([7; 16]));
        let folder = match setting.store {
            StoreKind::Memory => None,
            _ => Some(temporary_folder()?),
        };
        let target = engine(Arc::new(MemoryStore::new([8; 16])), &environment)?;
        let mut world = Self { setting, memory, folder, environment, processes: Vec::new(), target };
        for number in 0..PROCESSES {
            let process = world.open(number)?;
            world.processes.push(Arc::new(Mutex::new(process)));
        }
        Ok(world)
    }

    /// A process that begins.
    fn open(&self, number: usize) -> Result<Process> {
        let faults = Faults::new(Fails::Before);
        let path = |name| self.folder.as_ref().map_or_else(Default::default, |folder| folder.path().join(name));
        let store: Arc<dyn Store> = match self.setting.store {
            StoreKind::Memory => Arc::clone(&self.memory) as Arc<dyn Store>,
            StoreKind::Sqlite => Arc::new(SqliteStore::open(&path("store.db"), &options())?),
            StoreKind::Split => {
                let layout = SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 0 };
                Arc::new(SqliteStore::open_split(&path("store"), &options(), layout)?)
            }
        };
        let engine = engine(Arc::new(FaultyStore::new(store, &faults)), &self.environment)?;
        Ok(Process::new(number, engine, faults, self.target.clone(), self.setting.language))
    }

    /// Does one step. What it says is of the step's own action, then of the one that another process did meanwhile.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(Observed, Option<Observed>)> {
        let number = step.action.process();
        match &step.action {
            Action::Tick { hours } => {
                self.environment.tick(*hours);
                return Ok((done(Answer::Done), None));
            }
            Action::Crash { .. } => {
                self.lock(number).faults.sever();
                self.replace(number)?;
                return Ok((Observed { has_crashed: true, ..done(Answer::Done) }, None));
            }
            _ => {}
        }
        let faults = Arc::clone(&self.lock(number).faults);
        let nested = Arc::new(Mutex::new(None));
        if let Some(trouble) = step.trouble.as_ref().filter(|trouble| !self.is_ambiguous(&step.action, trouble)) {
            self.arm(&faults, trouble, &nested);
        }
        let process = Arc::clone(&self.processes[number]);
        let caught = catch_unwind(AssertUnwindSafe(|| perform(&mut lock(&process), &step.action)));
        let has_crashed = faults.is_severed();
        let failed = faults.failed().and(match step.trouble.as_ref().map(|trouble| &trouble.kind) {
            Some(TroubleKind::Fails) => Some(Fails::Before),
            Some(TroubleKind::AnswerLost) => Some(Fails::After),
            _ => None,
        });
        faults.disarm();
        let outcome = match caught {
            Ok(outcome) => outcome,
            // Also when it came through a thread of the process.
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
        let nested = lock(&nested).take();
        Ok((Observed { outcome, has_crashed, failed }, nested))
    }

    /// An `ALTER` is written by what the definition was: if it changes before it is executed, it means something else.
    fn is_ambiguous(&self, action: &Action, trouble: &Trouble) -> bool {
        let is_alter = |action: &Action| matches!(action, Action::Alter { .. });
        match &trouble.kind {
            TroubleKind::Stall(other) => self.setting.language == Language::Sql && is_alter(action) && is_alter(other),
            _ => false,
        }
    }

    fn arm(&self, faults: &Arc<Faults>, trouble: &Trouble, nested: &Arc<Mutex<Option<Observed>>>) {
        let crash = || {
            let faults = Arc::clone(faults);
            move || {
                faults.sever();
                panic_any(Crash);
            }
        };
        match &trouble.kind {
            TroubleKind::Fails => faults.fail(trouble.call, Fails::Before),
            TroubleKind::AnswerLost => faults.fail(trouble.call, Fails::After),
            TroubleKind::CrashBefore => faults.act(trouble.call, Fails::Before, crash()),
            TroubleKind::CrashAfter => faults.act(trouble.call, Fails::After, crash()),
            TroubleKind::Stall(action) => {
                let (process, action) = (Arc::clone(&self.processes[action.process()]), action.clone());
                let nested = Arc::clone(nested);
                faults.act(trouble.call, Fails::Before, move || {
                    let outcome = perform(&mut lock(&process), &action);
                    *lock(&nested) = Some(Observed { outcome, has_crashed: false, failed: None });
                });
            }
        }
    }

    /// A process ends and begins again.
    fn replace(&mut self, number: usize) -> Result<()> {
        let process = self.open(number)?;
        self.processes[number] = Arc::new(Mutex::new(process));
        Ok(())
    }

    /// All transactions end, and every process begins again.
    pub(crate) fn restart(&mut self) -> Result<()> {
        (0..PROCESSES).try_for_each(|number| self.replace(number))
    }

    /// What a process reads now.
    pub(crate) fn see(&self, process: usize) -> Result<Seen> {
        see(&self.lock(process).engine.snapshot()?)
    }

    /// What the snapshot shows that a process holds, if it holds one.
    pub(crate) fn see_held(&self, process: usize) -> Result<Option<Seen>> {
        self.lock(process).held.as_ref().map(see).transpose()
    }

    /// What is damaged.
    pub(crate) fn verify(&self) -> Result<Vec<String>> {
        let report = self.lock(0).engine.verify(None)?;
        Ok(report.findings.iter().map(|finding| format!("{finding:?}")).collect())
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.environment.now_ms()
    }

    fn lock(&self, process: usize) -> std::sync::MutexGuard<'_, Process> {
        lock(&self.processes[process])
    }
}

fn done(answer: Answer) -> Observed {
    Observed { outcome: Ok(answer), has_crashed: false, failed: None }
}

fn engine(store: Arc<dyn Store>, environment: &Arc<SimulatedEnvironment>) -> Result<Engine> {
    let environment = Arc::clone(environment) as Arc<dyn Environment>;
    let options = EngineOptions {
        cache_bytes: 1 << 20,
        preload_bytes: 0,
        maintenance: false,
        threads: 1,
        environment,
        ..EngineOptions::default()
    };
    Engine::new(store, options)
}

fn options() -> SqliteOptions {
    let busy_timeout = Duration::from_secs(30);
    SqliteOptions { durability: Durability::Off, create: true, read_only: false, busy_timeout }
}

/// A folder in memory, where there is one.
fn temporary_folder() -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.map_err(|error| Error::new(ErrorKind::Unavailable, "no temporary folder").with_source(error))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Panics with which processes end are part of a history: they are not printed.
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
