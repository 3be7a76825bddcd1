//! The page cache: a page is found or missing after damage, full disks and crashes; the bound holds; other users have
//! no access.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

mod bound;
mod damage;
mod keeping;
mod processes;
mod support;
