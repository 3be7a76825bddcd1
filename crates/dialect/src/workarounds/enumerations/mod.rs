//! Values of enumerated types, which are texts for DataFusion: they have the order of their labels, and are compared
//! with values of their own type alone. What would treat them as texts is refused, as in PostgreSQL, so that a value
//! cannot lose its type and get another order without notice.
//!
//! DataFusion 55.2 has no enumerated types. No upstream issue known.

mod calls;
mod comparison;
mod labels;
pub(super) mod rule;
pub(super) mod types;
