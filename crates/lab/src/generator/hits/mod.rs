//! The rows of `hits`: page views of web sites, with the 105 columns of ClickBench's table.
//!
//! The rows are generated. ClickBench's own rows are page views that a real company counted. The properties on which
//! its queries depend are the same: how many distinct values a column has, how skewed they are, how often a text is
//! empty, and which columns are correlated. A user has one browser, screen and region; a site has its pages, each with
//! one title; one view in eight comes from a search. Rows are ordered by time, over July 2013.

mod columns;
mod page_view;

pub use columns::{columns, hits_batch};
pub use page_view::{HitsGenerator, PageView, SITE, front_page, text_hash, user_id};
