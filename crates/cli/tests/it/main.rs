//! The program as a user sees it: the real binary, its output streams and its exit codes.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

mod at_once;
mod bad_input;
mod copy;
mod documents;
mod export;
mod formats;
mod import;
mod interrupt;
mod lab;
mod limits;
mod load;
mod manual;
mod paths;
mod queries;
mod report;
mod script;
mod serve;
mod serve_access;
mod serve_ingest;
mod serve_settings;
mod serve_several;
mod server_tables;
mod shell;
mod support;
mod terminal;
mod timing;
mod typed;
mod urls;
mod user;
mod web_server;
mod workbooks;
