//! Subqueries that DataFusion cannot rewrite as joins: those in a SELECT list or in ORDER BY, scalar ones with any
//! condition on the outer row, `LATERAL` with `ORDER BY` and `LIMIT`, and `ANY` and `ALL`.
//!
//! Owned here: which subqueries these are ([`rule`], [`steps`]), conditions of joins ([`join_conditions`]), the column
//! that replaces an expression over one ([`answers`]), the conditions that hold before one ([`first_conditions`]),
//! those in `DISTINCT ON` ([`first_rows`]), the columns that only one in ORDER BY mentions ([`ordered_columns`]), and
//! the subquery's rows for all outer rows at once ([`domain`], after Neumann and Kemper, "Unnesting Arbitrary
//! Queries"), also where it mentions columns several levels up ([`outer_columns`]). Aggregates of the outer query are
//! refused where the syntax tree still has them ([`outer_aggregates`]), and so are grouping sets in such a subquery
//! ([`grouping_sets`]). Also `IN` that may be NULL ([`unknown_members`]), equal subqueries with different values
//! ([`volatile_values`]), and the order of a subquery in FROM ([`order`]). Not owned: other subqueries that DataFusion
//! rewrites itself, whose conditions are equalities.
//!
//! Waits for [#5492](https://github.com/apache/datafusion/issues/5492) and
//! [#14554](https://github.com/apache/datafusion/issues/14554) (any condition), and
//! [#23022](https://github.com/apache/datafusion/issues/23022) (the SELECT list, not in 55.2). For `ANY` and `ALL` over
//! columns of one name, and for `random()`, no upstream issue is known.

mod answers;
mod domain;
mod first_conditions;
mod first_rows;
mod grouping_sets;
mod join_conditions;
mod lateral;
pub(super) mod order;
mod ordered_columns;
mod outer_aggregates;
mod outer_columns;
pub(super) mod rule;
mod single_value;
mod steps;
pub(super) mod unknown_members;
mod volatile_values;
