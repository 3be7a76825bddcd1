//! Promises of the engine, on the stores it is used with.

mod append;
mod damage;
mod definitions;
mod faults;
mod index;
mod keys;
mod large;
mod later;
mod maintenance;
mod reslice;
mod rewrite;
mod roundtrip;
mod savepoint;
mod saving;
mod scan;
mod support;
