//! The scan of a plan whose rows have their locations.

use super::late_columns::FetchRowsExec;
use super::operator::AtsdbScan;
use atsdb_engine::Scan;
use datafusion::physical_plan::ExecutionPlan;
use std::fmt;
use std::sync::Arc;

/// Operators that keep the rows of one partition in the order in which they are read.
const IN_ORDER: [&str; 6] =
    ["AtsdbScan", "ProjectionExec", "FilterExec", "CoalesceBatchesExec", "CoalescePartitionsExec", "CooperativeExec"];

/// The scan that reads the rows of a change.
#[derive(Clone)]
pub(crate) struct NumberedScan {
    pub(crate) scan: Arc<Scan>,
    /// The number of partitions, if the rows of each partition come in the order of chunks. Chunk `c` is read by
    /// partition `c` modulo this number.
    pub(crate) partitions_in_order: Option<usize>,
}

impl fmt::Debug for NumberedScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NumberedScan").field("partitions_in_order", &self.partitions_in_order).finish_non_exhaustive()
    }
}

impl NumberedScan {
    /// The numbered scan of a plan.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let scan = find(plan)?;
        let partition_count = scan.properties().partitioning.partition_count();
        Some(Self { scan: scan.scan(), partitions_in_order: is_in_order(plan).then_some(partition_count) })
    }
}

fn find(plan: &Arc<dyn ExecutionPlan>) -> Option<&AtsdbScan> {
    // It uses up the locations of the scan below it.
    if plan.is::<FetchRowsExec>() {
        return None;
    }
    match plan.downcast_ref::<AtsdbScan>() {
        Some(scan) => Some(scan).filter(|scan| scan.is_numbered()),
        None => plan.children().into_iter().find_map(find),
    }
}

fn is_in_order(plan: &Arc<dyn ExecutionPlan>) -> bool {
    IN_ORDER.contains(&plan.name()) && plan.children().into_iter().all(is_in_order)
}
