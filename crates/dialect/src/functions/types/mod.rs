//! The types of values: [types that a field declares](declared), [their names](type_names), [`uuids`], labels of
//! [enumerated types](enumerations), [texts of a declared length](char_texts), the dimensions of an array
//! ([`array_dims`]), its [first elements](trimmed_arrays), and the [sizes of values](value_sizes) in bytes.

mod array_dims;
pub mod char_texts;
pub mod declared;
pub mod enumerations;
mod trimmed_arrays;
pub mod type_names;
pub mod uuids;
mod value_sizes;

use datafusion::prelude::SessionContext;

pub(super) fn register(context: &SessionContext) {
    for function in declared::functions().into_iter().chain(uuids::functions()).chain(enumerations::functions()) {
        context.register_udf(function);
    }
    for function in char_texts::functions() {
        context.register_udf(function);
    }
    context.register_udf(type_names::function());
    context.register_udf(trimmed_arrays::function());
    context.register_udf(value_sizes::function());
    array_dims::register(context);
}
