//! The page cache: what is kept comes back or is missing, through damage, full disks and crashes; the bound holds;
//! nobody else gets in.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

mod bound;
mod damage;
mod keeping;
mod processes;
mod support;
