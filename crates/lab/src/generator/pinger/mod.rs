//! A month of PingER, the archive of network round trips that physics laboratories keep: who pings whom
//! (`metaData`, 210 rows), and what came back (`data_200112`, 325,720 rows of December 2001).
//!
//! 22 sources ping 4 to 9 destinations each, 105 pairs in all, every 30 minutes, with packets of 100 and of 1,000
//! bytes: 210 numbers. The seven pairs of slac.stanford.edu are pinged every 15 minutes, because the archive monitors
//! itself. Sources fail for hours at a time; so much is missing that the published number of rows is left. Most sources
//! report round trips only; two report what follows `maxRtt` as well, so those columns are mostly NULL.
//!
//! Owned here: which rows there are with their values (`month`), and their form as CSV, SQL and Arrow (`output`).

mod month;
mod output;

pub use month::{DATA_ROWS, DataRow, Detail, META_ROWS, MetaRow, Pinger, START_SECONDS};
pub use output::{data_batches, data_values, meta_batch, meta_values, write_pinger};
