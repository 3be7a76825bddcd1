//! Reading most columns after a sort with a limit.
//!
//! `SELECT * ... ORDER BY time LIMIT 10` needs the columns of the conditions and of the order for all rows, and the
//! other columns for ten rows. So the scan reads only the former, together with the location of each row, and the
//! [operator](FetchRowsExec) above the sort reads the others for the rows that are left. The [rule](fetch_late_columns)
//! changes a plan so if the scan then reads at most half of the columns.

mod operator;
mod rows_by_chunk;
mod rule;

pub(crate) use operator::FetchRowsExec;
pub(crate) use rule::fetch_late_columns;
