//! What an import promises, quirk by quirk.

mod bad_input;
mod foreign;
mod formats;
mod inference;
mod keys;
mod nulls;
mod numbers;
mod real_files;
mod support;
mod times;
