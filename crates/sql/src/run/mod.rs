//! Running queries: DataFusion's context with all extensions, the threads, and the limits of a query.
//!
//! Owned here: the context ([`context`]), the worker on which queries of one or several sessions are planned and
//! executed ([`worker`]) by tasks ([`query_task`]), limits of memory, temporary files and time ([`memory`],
//! [`temporary_files`], [`query_limits`], [`running`]), interrupts, cached plans ([`plan_cache`]), cached syntax trees
//! ([`parsed_answers`]), and results ([`answer`], [`durations`]).
//! Not owned: the contents of plans (`plan`, `scan`, `dialect`).

pub(crate) mod answer;
pub(crate) mod context;
pub(crate) mod describe;
pub(crate) mod durations;
mod explain;
pub(crate) mod function_examples;
pub(crate) mod function_hints;
pub(crate) mod function_kind;
pub(crate) mod function_list;
mod function_notes;
mod internal_functions;
pub(crate) mod interrupt;
pub(crate) mod kept_memory;
pub(crate) mod memory;
mod noticed_waits;
pub(crate) mod options;
pub(crate) mod parsed_answers;
pub(crate) mod permission;
pub(crate) mod plan_cache;
pub(crate) mod planned;
pub(crate) mod query;
mod query_limits;
mod query_session;
mod query_task;
mod query_times;
mod recently_used;
mod running;
mod statement_query;
pub(crate) mod statement_waits;
mod temporary_files;
mod threads;
pub(crate) mod wait;
pub(crate) mod with_rows;
pub(crate) mod worker;
