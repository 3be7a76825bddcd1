//! Functions of numbers: [`arithmetic`], angles in [`degrees`], [`sizes`] in bytes, [`trim_scale`], [`trunc`], and
//! numbers of rows in `LIMIT` and `OFFSET` ([`row_bounds`]).

mod arithmetic;
mod degrees;
pub(crate) mod row_bounds;
pub mod sizes;
mod trim_scale;
mod trunc;

use datafusion::prelude::SessionContext;

pub(super) fn register(context: &SessionContext) {
    for function in arithmetic::functions().into_iter().chain(degrees::functions()).chain(sizes::functions()) {
        context.register_udf(function);
    }
    context.register_udf(row_bounds::function());
    context.register_udf(trim_scale::function());
    trunc::register(context);
}
