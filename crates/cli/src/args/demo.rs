//! `atsdb demo`.

use clap::Args;
use std::path::PathBuf;

/// `atsdb demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  atsdb demo examples/weather.csv.gz")]
pub(crate) struct DemoArgs {
    /// The hourly weather of New York's airports, as examples/weather.csv.gz of the source has it
    pub(crate) weather: PathBuf,
    /// Where the store and the generated files go; what an earlier demo left there is replaced
    #[arg(long, value_name = "DIR", default_value = "demo")]
    pub(crate) dir: PathBuf,
}
