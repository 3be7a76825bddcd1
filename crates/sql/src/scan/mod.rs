//! Reading tables of the store: a planned read of the engine as the leaf of DataFusion's plans.
//!
//! Owned here: the table as DataFusion sees it ([`provider`]), the conditions that the engine evaluates ([`pushdown`]),
//! the operator, the rows of each of its partitions, its statistics and what EXPLAIN shows of it ([`operator`],
//! [`partition_reader`], [`statistics`], [`description`]), the optimizer rules that use the layout of chunks
//! ([`latest_first`], [`latest_rows`], [`late_columns`], [`filter_first`], [`group_by_index`], [`aggregate`]) and their
//! statistics ([`join_order`]), and simple queries that are answered without a plan ([`direct`]). Not owned: chunks and
//! pages (`engine`), and tables in memory (`resident`).

pub(crate) mod aggregate;
mod columns_left;
mod description;
pub(crate) mod direct;
pub(crate) mod filter_first;
pub(crate) mod group_by_index;
pub(crate) mod join_order;
pub(crate) mod late_columns;
pub(crate) mod latest_first;
pub(crate) mod latest_rows;
pub(crate) mod numbered_scan;
pub(crate) mod operator;
mod partition_reader;
pub(crate) mod provider;
pub(crate) mod pushdown;
mod row_filter;
pub(crate) mod row_numbers;
pub(crate) mod running_filter;
pub(crate) mod statistics;
pub(crate) mod text_of_index;
