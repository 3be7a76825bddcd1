//! The promises of pages and descriptors.

mod damage;
mod descriptor;
mod golden;
mod membership;
mod round_trip;
mod samples;
mod statistics;
