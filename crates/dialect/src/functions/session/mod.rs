//! Functions whose answers depend on the session, the statement or the server.
//!
//! Each query has those of its own session, which `run` of the crate `sql` sets. Those that are registered here belong
//! to no session: they are for planning, and for the list of functions.

pub mod advisory_locks;
pub mod identity;
pub mod lock_table;
mod notify;
pub mod schema_names;
pub mod sequences;
pub mod sleep;
pub mod statement_time;
pub mod version;

use advisory_locks::lock_functions;
use datafusion::prelude::SessionContext;
use identity::identity_functions;
use schema_names::search_path_functions;
use sequences::sequence_functions;
use statement_time::{now, statement_timestamp};

pub(super) fn register(context: &SessionContext) {
    for function in [version::function(), sleep::function(), notify::function(), now(), statement_timestamp(None)] {
        context.register_udf(function);
    }
    let of_names = search_path_functions(None).into_iter().chain(identity_functions(None));
    for function in of_names.chain(lock_functions(None)).chain(sequence_functions(None)) {
        context.register_udf(function);
    }
}
