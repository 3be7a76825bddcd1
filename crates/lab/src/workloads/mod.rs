//! The workloads, one file each.

pub mod series;

use crate::workload::Workload;

/// All of them, in the order in which they are listed.
pub fn all() -> &'static [&'static dyn Workload] {
    &[&series::Series]
}
