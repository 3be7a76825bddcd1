//! `atsdb demo`.

use clap::Args;
use std::path::PathBuf;

/// `atsdb demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  atsdb demo examples/weather.csv.gz")]
pub(crate) struct DemoArgs {
    /// The hourly weather of New York's airports: examples/weather.csv.gz in the source
    pub(crate) weather: PathBuf,
    /// The folder for the store and the generated files; it replaces those of an earlier demo
    #[arg(long, value_name = "DIR", default_value = "demo")]
    pub(crate) dir: PathBuf,
}
