//! What an import promises, quirk by quirk.

mod bad_input;
mod formats;
mod inference;
mod real_files;
mod support;
mod times;
