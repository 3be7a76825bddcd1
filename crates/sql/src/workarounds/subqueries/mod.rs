//! Subqueries that DataFusion cannot take apart: those in a SELECT list or in ORDER BY, scalar ones with any condition
//! on the outer row, `LATERAL` with `ORDER BY` and `LIMIT`, and `ANY` and `ALL`.
//!
//! Owned here: which subqueries these are ([`rule`]), what an expression over one comes to ([`answers`]), and the
//! subquery's rows for all outer rows at once ([`domain`], after Neumann and Kemper, "Unnesting Arbitrary Queries").
//! Not owned: what DataFusion takes apart itself, which are conditions that are equalities.
//!
//! Waits for [#5492](https://github.com/apache/datafusion/issues/5492) and
//! [#14554](https://github.com/apache/datafusion/issues/14554) (any condition),
//! [#23022](https://github.com/apache/datafusion/issues/23022) (the SELECT list, not in 55.2); of `ANY` and `ALL` over
//! columns of one name no upstream issue is known.

mod answers;
mod domain;
mod lateral;
pub(super) mod rule;
mod single_value;
