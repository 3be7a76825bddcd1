//! The workloads, one file each.

mod advise;
mod concurrent;
pub mod groupby;
pub mod hits;
pub mod ingest;
pub mod mass;
pub mod memory;
mod minute;
pub mod pinger;
mod questions;
pub mod series;
pub mod serve;
pub mod split;
pub mod tsbs;

use crate::workload::Workload;
use std::sync::LazyLock;

/// All of them, in the order in which they are listed.
pub fn all() -> &'static [&'static dyn Workload] {
    &[
        &pinger::Pinger,
        &memory::Memory,
        &series::Series,
        &mass::Mass,
        &split::Split,
        &groupby::Groupby,
        &hits::Hits,
        &tsbs::Tsbs,
        &ingest::Ingest,
        &serve::Serve,
    ]
}

/// The one that needs a file, and is in no list.
pub(crate) const ADVISE: &dyn Workload = &advise::Advise;

/// All of them and the one that needs a file.
pub(crate) fn all_and_advise() -> &'static [&'static dyn Workload] {
    static WITH_ADVISE: LazyLock<Vec<&'static dyn Workload>> =
        LazyLock::new(|| all().iter().copied().chain([ADVISE]).collect());
    &WITH_ADVISE
}
