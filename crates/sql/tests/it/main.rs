//! SQL from outside: the scripts of `tests/slt`, the examples of the reference, definitions as text, and limits that
//! protect the process.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

mod advisory_locks;
mod aggregates;
mod arrays;
mod asof;
mod catalogue;
mod changes;
mod definitions;
mod differential;
mod examples;
mod faults;
mod function_examples;
mod indexes;
mod inserting;
mod join_order;
mod kept_plans;
mod keys;
mod late_columns;
mod limits;
mod mapped_groups;
mod parameters;
mod partition_top;
mod prepared;
mod render;
mod repeated_statements;
mod rollups;
mod scripts;
mod shared_rows;
mod sharing;
mod stores;
mod templates;
mod temporary;
