//! Several databases in one server.

mod access;
mod availability;
mod names;
mod several;
