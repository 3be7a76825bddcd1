//! JSON: functions that [`read`], [`build`] and [`change`] it, PostgreSQL's [`operators`], [values of any type as
//! JSON](values), and the form of [`jsonb`].

mod build;
mod change;
mod jsonb;
pub(crate) mod operators;
pub(crate) mod read;
mod values;

use datafusion::prelude::SessionContext;

pub(super) fn register(context: &SessionContext) {
    for functions in [read::functions(), build::functions(), change::functions(), operators::functions()] {
        for function in functions {
            context.register_udf(function);
        }
    }
}
