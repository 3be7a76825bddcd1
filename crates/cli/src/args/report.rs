//! Arguments of the commands that report.

use super::store::StoreArgs;
use clap::{Args, ValueEnum};

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    #[value(alias = "text")]
    Table,
    /// For programs
    Json,
}

/// Arguments of the commands that read and report.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The store: a path or another URL
    pub(crate) url: String,
    /// One table [default: all]
    pub(crate) table: Option<String>,
    /// How the report is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
