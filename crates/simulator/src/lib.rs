//! A simulator: processes and sessions share one store, driven by one thread with a schedule that is derived from a
//! seed. A *history* is a list of steps (`action`), generated from a seed before anything runs. A *world* (`world`)
//! executes them on real engines over a real store, with its own clock and random bits. Any call of the store may fail,
//! lose its answer, stall while another process acts, or be the last call of its process. A *model* (`model`)
//! determines after each step which states are possible, as plain lists of rows, and what every process reads must be
//! one of them. A failing history is reduced to the steps that it needs ([`minimise`]). Not owned: how a store fails
//! (`testkit`), and the guarantees of each part, which its own tests check.

pub mod action;
mod compare;
mod conditions;
mod environment;
mod execute;
pub mod generate;
pub mod minimise;
mod model;
mod outcome;
pub mod references;
pub mod run;
pub mod setting;
mod shape;
pub mod simulate;
mod sql;
mod stores;
pub mod subject;
mod world;

pub use run::run_history;
pub use setting::{Language, Setting, StoreKind};
pub use simulate::{Failure, Limit, simulate};
pub use stores::are_there;
