//! Label sets and the matchers that select series by them.

mod matcher;
mod series;
mod set;
mod text;

pub use matcher::{MatchOp, Matcher, anchored};
pub use series::read_series;
pub use set::{Label, Labels};
pub use text::{METRIC_NAME, write_series};
