//! A simulator: processes and sessions share one store, driven by one thread under a schedule that follows from a seed.
//!
//! A *history* is a list of steps (`action`), made from a seed before anything runs. A *world* (`world`) does them
//! on real engines over a real store, with its own clock and random bits; any call of the store may fail, be answered
//! by nothing, stall while another process acts, or be the last of its process. A *model* (`model`) says after each
//! step which states are possible, as plain lists of rows, and one of them must be what every process reads. A history
//! that fails is cut down to the steps that it needs ([`minimise`]).
//!
//! Not owned: how a store fails (`testkit`), and that each part keeps its own promises, which its own tests check.

pub mod action;
mod compare;
mod environment;
mod execute;
pub mod generate;
pub mod minimise;
mod model;
mod outcome;
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
