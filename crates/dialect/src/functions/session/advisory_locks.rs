//! The functions of advisory locks: `pg_advisory_lock` and similar functions. Not owned: the locks (`lock_table`).
//!
//! A lock that another session holds is awaited without a thread, because the other session needs one to release it.
//! DataFusion evaluates such functions before the rest of their `SELECT`.

use super::lock_table::{LockKey, LockMode, LockScope, SessionLocks};
use crate::text::datafusion_errors::external;
use async_trait::async_trait;
use atsdb_core::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockAction {
    Take,
    TryTake,
    Release,
    ReleaseAll,
}

/// The owner of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockHolder {
    Session,
    Transaction,
}

const CALLS: [(&str, LockAction, LockHolder, LockMode); 11] = [
    ("pg_advisory_lock", LockAction::Take, LockHolder::Session, LockMode::Exclusive),
    ("pg_advisory_lock_shared", LockAction::Take, LockHolder::Session, LockMode::Shared),
    ("pg_advisory_unlock", LockAction::Release, LockHolder::Session, LockMode::Exclusive),
    ("pg_advisory_unlock_all", LockAction::ReleaseAll, LockHolder::Session, LockMode::Exclusive),
    ("pg_advisory_unlock_shared", LockAction::Release, LockHolder::Session, LockMode::Shared),
    ("pg_advisory_xact_lock", LockAction::Take, LockHolder::Transaction, LockMode::Exclusive),
    ("pg_advisory_xact_lock_shared", LockAction::Take, LockHolder::Transaction, LockMode::Shared),
    ("pg_try_advisory_lock", LockAction::TryTake, LockHolder::Session, LockMode::Exclusive),
    ("pg_try_advisory_lock_shared", LockAction::TryTake, LockHolder::Session, LockMode::Shared),
    ("pg_try_advisory_xact_lock", LockAction::TryTake, LockHolder::Transaction, LockMode::Exclusive),
    ("pg_try_advisory_xact_lock_shared", LockAction::TryTake, LockHolder::Transaction, LockMode::Shared),
];

/// The functions for a statement; without locks, for one that is only planned.
pub fn lock_functions(locks: Option<&Arc<SessionLocks>>) -> [ScalarUDF; CALLS.len()] {
    CALLS.map(|(name, action, holder, mode)| {
        let function = LockFunction { name, action, holder, mode, locks: locks.cloned(), signature: signature(action) };
        match action {
            LockAction::Take => AsyncScalarUDF::new(Arc::new(function)).into_scalar_udf(),
            _ => ScalarUDF::new_from_impl(function),
        }
    })
}

/// Returns whether a function takes or releases locks.
pub fn is_lock_function(name: &str) -> bool {
    CALLS.iter().any(|(known, ..)| *known == name)
}

/// The type of each argument of a function of locks, with this number of arguments.
pub fn lock_argument_type(name: &str, argument_count: usize) -> Option<DataType> {
    is_lock_function(name).then_some(if argument_count == 1 { DataType::Int64 } else { DataType::Int32 })
}

fn signature(action: LockAction) -> Signature {
    match action {
        LockAction::ReleaseAll => Signature::nullary(Volatility::Volatile),
        // The numbers of a pair have 32 bits each, but integers in the text of a statement have 64.
        _ => {
            let counts = [1, 2].map(|count| TypeSignature::Exact(vec![DataType::Int64; count]));
            Signature::one_of(counts.into(), Volatility::Volatile)
        }
    }
}

#[derive(Debug)]
struct LockFunction {
    name: &'static str,
    action: LockAction,
    holder: LockHolder,
    mode: LockMode,
    locks: Option<Arc<SessionLocks>>,
    signature: Signature,
}

impl PartialEq for LockFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for LockFunction {}

impl Hash for LockFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl LockFunction {
    fn scope(&self) -> Result<Arc<LockScope>> {
        let scope = self.locks.as_ref().and_then(|locks| match self.holder {
            LockHolder::Session => Some(Arc::clone(locks.of_session())),
            LockHolder::Transaction => locks.of_transaction(),
        });
        scope.ok_or_else(|| external(Error::internal(format!("{} without a statement that runs", self.name))))
    }
}

impl ScalarUDFImpl for LockFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.action {
            // Those without a result return an empty text, as what is shown of a `void`.
            LockAction::Take | LockAction::ReleaseAll => DataType::Utf8,
            LockAction::TryTake | LockAction::Release => DataType::Boolean,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scope = self.scope()?;
        let answer = |key: LockKey| match self.action {
            LockAction::Release => scope.release(key, self.mode),
            _ => scope.try_take(key, self.mode),
        };
        match self.action {
            LockAction::Take => internal_err!("{} is awaited", self.name),
            LockAction::ReleaseAll => {
                scope.release_all();
                Ok(ColumnarValue::Array(Arc::new(StringArray::from(vec![""; args.number_rows]))))
            }
            LockAction::TryTake | LockAction::Release => {
                let keys = keys(&args)?;
                let answers: BooleanArray = keys.into_iter().map(|key| key.map(answer)).collect();
                Ok(ColumnarValue::Array(Arc::new(answers)))
            }
        }
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for LockFunction {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (scope, keys) = (self.scope()?, keys(&args)?);
        for key in keys.iter().flatten() {
            scope.take(*key, self.mode).await;
        }
        let done: StringArray = keys.iter().map(|key| key.map(|_| "")).collect();
        Ok(ColumnarValue::Array(Arc::new(done)))
    }
}

/// The key of each row; `None` where an argument is NULL.
fn keys(args: &ScalarFunctionArgs) -> Result<Vec<Option<LockKey>>> {
    let row_count = args.number_rows;
    let arrays = args.args.iter().map(|arg| arg.clone().into_array(row_count)).collect::<Result<Vec<_>>>()?;
    (0..row_count).map(|row| key(&arrays, row)).collect()
}

fn key(arrays: &[ArrayRef], row: usize) -> Result<Option<LockKey>> {
    let numbers: Option<Vec<i64>> = arrays.iter().map(|array| number(array, row)).collect();
    let half = |number: i64| i32::try_from(number).map_err(|_| external(Error::invalid("integer out of range")));
    match numbers.as_deref() {
        Some([one]) => Ok(Some(LockKey::Number(*one))),
        Some([one, two]) => Ok(Some(LockKey::Pair(half(*one)?, half(*two)?))),
        _ => Ok(None),
    }
}

fn number(array: &ArrayRef, row: usize) -> Option<i64> {
    let numbers = array.as_primitive::<Int64Type>();
    numbers.is_valid(row).then(|| numbers.value(row))
}
