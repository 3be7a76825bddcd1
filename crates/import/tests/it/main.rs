//! What an import promises, quirk by quirk.

mod bad_input;
mod documents;
mod foreign;
mod formats;
mod inference;
mod keys;
mod layouts;
mod nulls;
mod numbers;
mod real_files;
mod support;
mod times;
