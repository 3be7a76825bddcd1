//! The importer's promises, one quirk after another.

mod arrow_files;
mod bad_input;
mod devices;
mod documents;
mod formats;
mod inference;
mod joined_files;
mod keys;
mod layouts;
mod lines;
mod nulls;
mod numbers;
mod real_files;
mod support;
mod times;
mod unpivot;
mod unreadable;
mod workbooks;
