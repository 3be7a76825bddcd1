//! Functions of numbers: [`arithmetic`], angles in [`degrees`], and [`trunc`].

mod arithmetic;
mod degrees;
mod trunc;

use datafusion::prelude::SessionContext;

pub(super) fn register(context: &SessionContext) {
    for function in arithmetic::functions().into_iter().chain(degrees::functions()) {
        context.register_udf(function);
    }
    trunc::register(context);
}
