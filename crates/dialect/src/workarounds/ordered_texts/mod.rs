//! Values that are texts for DataFusion and have an order of their own: labels of enumerated types, which have that of
//! their list, network addresses and ranges; and vectors and queries of full-text search, which have no order here.
//! They are compared with values of their own type alone. What would treat them as texts is refused, as in PostgreSQL,
//! so that a value cannot lose its type and get another order without notice.
//!
//! DataFusion 55.2 has none of these types. No upstream issue known.

pub(super) mod address_operands;
mod calls;
mod comparison;
mod own_order;
pub(super) mod range_operands;
pub(super) mod rule;
pub(super) mod search_operands;
pub(super) mod types;
