//! The page cache: what is kept comes back or is missing, through damage, full disks and crashes; the bound holds; nobody
//! else gets in.

mod bound;
mod damage;
mod keeping;
mod processes;
mod support;
