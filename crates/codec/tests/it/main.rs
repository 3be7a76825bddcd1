//! The promises of pages and descriptors, each in one place.

mod damage;
mod descriptor;
mod golden;
mod membership;
mod round_trip;
mod samples;
mod statistics;
