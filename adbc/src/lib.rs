//! The ADBC driver, `libadbc_driver_atsdb.so`: every language with an ADBC driver manager (C, Go, Python, R) can open a
//! store, run SQL, and add Arrow batches in bulk.
//!
//! Owned here: what ADBC's database, connection and statement mean for a store. Not owned: the functions of C (the
//! crate `adbc_ffi` makes them from the traits of `adbc_core`), and everything that the facade `atsdb` does.
//!
//! A panic never reaches C: the calls catch it (`failure`), and so do the streams of rows that are read later (`rows`).

mod binding;
mod connection;
mod constraints;
mod database;
mod export;
mod failure;
mod info;
mod ingest;
mod link;
mod nested;
mod objects;
mod options;
mod pattern;
mod rows;
mod statement;
mod statistics;
mod table_from_schema;
mod xdbc;
