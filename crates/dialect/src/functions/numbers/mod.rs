//! Functions of numbers: [`arithmetic`], angles in [`degrees`], [`sizes`] in bytes, and [`trunc`].

mod arithmetic;
mod degrees;
pub mod sizes;
mod trunc;

use datafusion::prelude::SessionContext;

pub(super) fn register(context: &SessionContext) {
    for function in arithmetic::functions().into_iter().chain(degrees::functions()).chain(sizes::functions()) {
        context.register_udf(function);
    }
    trunc::register(context);
}
