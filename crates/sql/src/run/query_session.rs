//! The functions of sequences, locks, the search path and the user that a query calls, bound to its session.

use super::interrupt::Interrupt;
use super::noticed_waits::noticed;
use super::permission::Permission;
use atsdb_core::Result;
use atsdb_dialect::functions::session::advisory_locks::lock_functions;
use atsdb_dialect::functions::session::identity::identity_functions;
use atsdb_dialect::functions::session::schema_names::search_path_functions;
use atsdb_dialect::functions::session::sequences::{SequenceSession, sequence_functions};
use atsdb_dialect::functions::session::sleep::SLEEP;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_engine::{ReadSnapshot, SessionNumbers};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use std::sync::Arc;

/// Sets the functions of a query.
pub(super) fn set_session_functions(
    state: &mut SessionState,
    interrupt: &Interrupt,
    snapshot: &ReadSnapshot,
) -> Result<()> {
    for function in search_path_functions(Some(snapshot)) {
        state.register_udf(Arc::new(function)).map_err(from_datafusion)?;
    }
    if let Some(identity) = interrupt.identity() {
        for function in identity_functions(Some(&identity)) {
            state.register_udf(Arc::new(function)).map_err(from_datafusion)?;
        }
    }
    let sleep = state.scalar_functions().get(SLEEP).cloned();
    let locks = lock_functions(interrupt.locks().as_ref()).map(Arc::new);
    for function in locks.into_iter().chain(sleep) {
        state.register_udf(noticed(function, interrupt)).map_err(from_datafusion)?;
    }
    let Some((numbers, restriction)) = interrupt.sequences() else { return Ok(()) };
    let refusal = restriction.require(Permission::Change).err().map(|error| error.message().to_owned());
    let session = SequenceSession { numbers: SessionNumbers::clone(&numbers), snapshot: snapshot.clone(), refusal };
    for function in sequence_functions(Some(session)) {
        state.register_udf(Arc::new(function)).map_err(from_datafusion)?;
    }
    Ok(())
}
