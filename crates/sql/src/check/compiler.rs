//! The compiler of conditions that an engine gets.

use super::condition::Condition;
use super::plan::physical_plan;
use crate::run::options::SessionOptions;
use crate::run::worker::Worker;
use atsdb_core::{Check, Result, TableDefinition};
use atsdb_engine::{ConditionCompiler, Engine, ReadSnapshot, RowCondition};
use std::sync::Arc;

/// Lets an engine test rows against CHECK constraints. Each session does so for its engine, and a program without
/// sessions calls it. A condition means the same whatever the options of sessions are.
pub fn compile_conditions_of(engine: &Engine) {
    let options = SessionOptions { threads: 1, file_access: false, time_limit: None, ..SessionOptions::default() };
    engine.set_condition_compiler(Arc::new(Compiler { worker: Worker::new(&options) }));
}

/// Compiles conditions on one thread, which is started for the first one.
struct Compiler {
    worker: Worker,
}

impl ConditionCompiler for Compiler {
    fn compile(
        &self,
        definition: &TableDefinition,
        check: &Check,
        snapshot: &ReadSnapshot,
    ) -> Result<Arc<dyn RowCondition>> {
        Ok(Arc::new(compiled(&self.worker, definition, check, snapshot)?))
    }
}

/// Compiles the condition of a constraint, and refuses one that a constraint cannot have.
pub(crate) fn compiled(
    worker: &Worker,
    definition: &TableDefinition,
    check: &Check,
    snapshot: &ReadSnapshot,
) -> Result<Condition> {
    let (definition, check, snapshot) = (definition.clone(), check.clone(), snapshot.clone());
    worker.plan(move |state| {
        let (plan, names) = physical_plan(&definition, &check, state, &snapshot)?;
        Condition::of(&plan, names)
    })
}
