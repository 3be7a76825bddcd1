//! Full-text search: PostgreSQL's types `tsvector` and `tsquery`. Owned here:
//!
//! - values: [vectors](vector), [queries](query) and [reading](query_text) them, and the [words](words) in the text
//!   forms of both;
//! - [matching](matching) the two, ranks by [words](ranking) and by [covers](cover_ranking), and [headlines](headline)
//!   with their [options](headline_options), both of which look through [excerpts](excerpt);
//! - documents: their [tokens](tokens), of several [kinds](token_kinds), with [hosts](hosts), [paths](paths) and
//!   [markup](markup) among them; the [dictionaries](dictionaries) that normalize words; and
//!   [vectors and queries](documents) made of them;
//! - the SQL [functions](functions), whose [operands](operands) are read once if they are constant, and those that
//!   [show tokens](token_functions).
//!
//! DataFusion sees vectors and queries as texts in their text form. Not owned: which operators call these functions
//! (`workarounds`).

mod characters;
mod cover_ranking;
mod dictionaries;
mod documents;
mod excerpt;
pub(crate) mod functions;
mod headline;
mod headline_options;
mod hosts;
mod markup;
mod matching;
mod operands;
mod paths;
mod query;
mod query_text;
mod ranking;
mod token_functions;
mod token_kinds;
mod tokens;
mod vector;
mod words;

use datafusion::prelude::SessionContext;
use functions::{SearchCall, default_configuration, search_function};

pub(super) fn register(context: &SessionContext) {
    for call in SearchCall::NAMED {
        context.register_udf(search_function(call));
    }
    for function in token_functions::functions().into_iter().chain([default_configuration()]) {
        context.register_udf(function);
    }
}
