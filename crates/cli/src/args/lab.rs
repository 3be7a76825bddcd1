//! `atsdb lab`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `atsdb lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// The verbs of the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the workloads and the contestants, and which can run here
    List,
    /// Run workloads, and compare the contestants' figures and answers
    Run(LabRunArgs),
    /// Show the results of an earlier run
    Report {
        /// A file that run wrote with -o
        file: PathBuf,
    },
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabFormat {
    /// For people
    Table,
    /// For programs, and for lab report
    Json,
}

/// `atsdb lab run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atsdb lab run series --rows 1000000
  atsdb lab run series --contestants sqlite,atsdb --durability off -o results.json")]
pub(crate) struct LabRunArgs {
    /// The workloads [default: all]
    pub(crate) names: Vec<String>,
    /// Rows of each workload [default: each workload's own]
    #[arg(long, value_name = "COUNT")]
    pub(crate) rows: Option<u64>,
    /// Who runs [default: all that are present]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) contestants: Vec<String>,
    /// Where randomness starts
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How often each contestant runs each workload
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) repeat: u32,
    /// What commits survive, for every contestant: full, normal or off [default: full]
    #[arg(long, value_name = "full|normal|off", env = "ATSDB_DURABILITY", hide_env = true)]
    pub(crate) durability: Option<String>,
    /// Where scratch data goes, into a folder that is removed [default: the system's folder for such]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// How results are written on stdout
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: LabFormat,
    /// Write the results as JSON to a file as well
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
