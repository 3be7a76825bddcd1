//! The times that a query sees: when its transaction began, and when its statement began.

use crate::functions::statement_time::statement_timestamp;
use crate::text::datafusion_errors::from_datafusion;
use atsdb_core::Result;
use chrono::{DateTime, Utc};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use std::sync::Arc;

/// Sets the times of a query whose statement begins now. `transaction` is when the open transaction began.
pub(super) fn set_times(state: &mut SessionState, transaction: Option<DateTime<Utc>>) -> Result<()> {
    let statement = state.execution_props().query_execution_start_time;
    state.register_udf(Arc::new(statement_timestamp(statement))).map_err(from_datafusion)?;
    if transaction.is_some() {
        // DataFusion's functions of the current time take it from here.
        state.execution_props_mut().query_execution_start_time = transaction;
    }
    Ok(())
}
