//! Rollups: tables whose rows are computed from another table, one time bucket at a time. Owned here: the statements
//! ([`syntax`]), checking the queries of rollups ([`query`], [`check`]), and computing rollups in steps ([`refresh`],
//! [`background`]). A bucket is computed from all of its rows or not at all, so every aggregate is possible. Not owned:
//! the plan for a rollup that a statement names (`plan`), tracking stale times, and replacing rows (`engine`).

pub(crate) mod background;
pub(crate) mod check;
pub(crate) mod query;
pub(crate) mod refresh;
pub(crate) mod syntax;
