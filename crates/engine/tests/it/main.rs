//! The engine's promises, on each store that it is used with.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

mod added_keys;
mod append;
mod checks;
mod concurrent_keys;
mod damage;
mod default_functions;
mod definitions;
mod dependencies;
mod enumerated_types;
mod faults;
mod groups;
mod index;
mod key_bounds;
mod keys;
mod large;
mod later;
mod listed_tables;
mod located_rows;
mod maintenance;
mod materialized;
mod memory_moments;
mod page_cache;
mod redefined_references;
mod references;
mod reslice;
mod rewrite;
mod roundtrip;
mod savepoint;
mod saving;
mod scan;
mod sealing;
mod support;
mod text_lengths;
