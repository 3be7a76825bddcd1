//! The contract of a contestant: the traits it implements, and the dialect of SQL that it speaks.

mod contract;
mod dialect;
mod functions;
mod spelling;

pub(crate) use contract::folder_bytes;
pub use contract::{Contestant, Loader, OpenSession, Session, Workspace};
pub use dialect::Dialect;
