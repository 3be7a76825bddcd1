//! A server and its clients.

mod client;
mod limits;
mod lines;
mod programs;
mod statements;
