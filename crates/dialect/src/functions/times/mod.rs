//! Times and intervals: [made of their parts](moments), [at a zone](at_zone), with [fewer
//! digits](digits), [what lies between them](ages), and [as texts](time_texts). [Patterns](time_pattern) say how
//! formatting and SQL/JSON paths write and read them.

mod ages;
mod at_zone;
pub mod difference;
mod digits;
pub mod interval;
mod moments;
pub(crate) mod time_fields;
pub(crate) mod time_pattern;
pub(crate) mod time_texts;
pub mod types;

use datafusion::prelude::SessionContext;

pub(super) fn register(context: &SessionContext) {
    for functions in [ages::functions(), at_zone::functions(), moments::functions()] {
        for function in functions {
            context.register_udf(function);
        }
    }
    context.register_udf(digits::function());
}
