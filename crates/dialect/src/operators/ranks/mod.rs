//! Ranks of rows that come in order.
//!
//! DataFusion keeps a state for each partition of a window function and cuts its rows out of the batches, which takes
//! microseconds for each partition. `row_number`, `rank` and `dense_rank` need none of that if the rows come in order:
//! the [operator](operator::RankExec) counts on from row to row. The [rule](rule::RankRows) replaces DataFusion's
//! operator where all functions of a window are of these three.

mod counter;
mod operator;
mod rule;

pub use counter::RankFunction;
pub use rule::{RankRows, rank_of};
