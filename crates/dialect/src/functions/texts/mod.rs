//! Functions of texts and bytes: [`strings`], [characters and bytes as numbers](codes), [single bytes and bits](bits),
//! [texts in arrays](elements), [escaped characters](escapes), [normal forms](normal_forms), regular [`expressions`]
//! and [their functions](regexps), the escape characters of `LIKE` ([`like_escape`]), the patterns of `SIMILAR TO`
//! ([`similar_to`]), and the [`keywords`] that are names only in quotes.

mod bits;
mod codes;
mod elements;
mod escapes;
pub mod expressions;
mod keywords;
pub mod like_escape;
mod normal_forms;
pub mod regexps;
pub mod similar_to;
pub mod strings;

use datafusion::prelude::SessionContext;

pub(super) fn register(context: &SessionContext) {
    for functions in [
        strings::functions(),
        bits::functions(),
        codes::functions(),
        elements::functions(),
        escapes::functions(),
        normal_forms::functions(),
        regexps::functions(),
    ] {
        for function in functions {
            context.register_udf(function);
        }
    }
    codes::register(context);
}
