//! The times that a query sees: when its transaction began, and when its statement began.

use atsdb_core::{CurrentTimes, Result};
use atsdb_dialect::functions::session::statement_time::statement_timestamp;
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use chrono::DateTime;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use std::sync::Arc;

/// Sets the times of a query. Without those of a statement, they are the time at which the query began.
pub(super) fn set_times(state: &mut SessionState, times: Option<CurrentTimes>) -> Result<()> {
    let began = state.execution_props().query_execution_start_time;
    let statement = times.and_then(|times| DateTime::from_timestamp_micros(times.statement)).or(began);
    state.register_udf(Arc::new(statement_timestamp(statement))).map_err(from_datafusion)?;
    if let Some(transaction) = times.and_then(|times| DateTime::from_timestamp_micros(times.transaction)) {
        // DataFusion's functions of the current time take it from here.
        state.execution_props_mut().query_execution_start_time = Some(transaction);
    }
    Ok(())
}
