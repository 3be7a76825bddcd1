//! Full-text search: PostgreSQL's types `tsvector` and `tsquery`. Owned here: [vectors](vector), [queries](query) and
//! [reading](query_text) them, the [words](words) in the text forms of both, [matching](matching); the
//! [tokens](tokens) of documents, with [hosts](hosts), [paths](paths) and [markup](markup) among them, the
//! [dictionaries](dictionaries) that normalize words, [documents](documents) made of them; the ranks of
//! [words](ranking) and of [covers](cover_ranking), [headlines](headline) with their [options](headline_options), and the SQL [functions](functions), whose
//! [operands](operands) are read once if they are constant.
//!
//! DataFusion sees vectors and queries as texts in their text form. Not owned: which operators call these functions
//! (`workarounds`).

mod characters;
mod cover_ranking;
mod dictionaries;
mod documents;
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
mod token_kinds;
mod tokens;
mod vector;
mod words;

use datafusion::prelude::SessionContext;
use functions::{SearchCall, search_function};

pub(super) fn register(context: &SessionContext) {
    for call in SearchCall::NAMED {
        context.register_udf(search_function(call));
    }
}
