//! Chooses the groups of an aggregate whose groups are limited.
//!
//! `SELECT user, count(*) FROM views GROUP BY user LIMIT 10` needs ten groups, and any ten will do. But an aggregate
//! knows none of them before it has read all rows, and until then it holds all groups. The
//! [operator] below it chooses the first groups that it sees, and drops the rows of all others.
//!
//! The aggregate and the limit stay in the plan. So the operator may let all rows pass, and it does if it sees many
//! rows and too few groups.

mod choice;
mod operator;
mod rule;
mod thread_groups;

pub use rule::first_groups;
