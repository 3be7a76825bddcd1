//! The workloads, one file each.

mod concurrent;
pub mod mass;
pub mod memory;
pub mod pinger;
pub mod series;
pub mod split;

use crate::workload::Workload;

/// All of them, in the order in which they are listed.
pub fn all() -> &'static [&'static dyn Workload] {
    &[&pinger::Pinger, &memory::Memory, &series::Series, &mass::Mass, &split::Split]
}
