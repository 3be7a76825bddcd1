//! An open store at work: how it is opened, the files that its statements name, scripts of statements.

mod files;
pub(crate) mod paths;
pub(crate) mod script;
pub(crate) mod settings;
pub(crate) mod statement_kind;
