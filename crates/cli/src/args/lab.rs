//! `atsdb lab`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `atsdb lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// The commands of the lab.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the workloads and the contestants, and which can run here
    List(LabServerArgs),
    /// Run workloads, and compare the contestants' figures and answers
    Run(LabRunArgs),
    /// Show the results of an earlier run, or compare two
    Report(LabReportArgs),
    /// Measure your own file, and recommend a database for it
    Advise(LabAdviseArgs),
}

/// Running servers to measure.
#[derive(Debug, Args)]
pub(crate) struct LabServerArgs {
    /// A running server: mariadb, mariadb-rocksdb, mysql or postgres, and the URL of an empty database for the lab
    /// alone
    ///
    /// The variables ATSDB_LAB_MARIADB_URL, ATSDB_LAB_MYSQL_URL and ATSDB_LAB_POSTGRES_URL do the same, and do not
    /// appear in process listings.
    #[arg(long = "url", value_name = "SERVER=URL")]
    pub(crate) urls: Vec<String>,
}

/// Which contestants are measured, how often, and with which durability.
#[derive(Debug, Args)]
pub(crate) struct LabHowArgs {
    /// The contestants [default: all that are present]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) contestants: Vec<String>,
    /// How often each contestant runs each workload
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) repeat: u32,
    /// What commits survive, for every contestant: full, normal or off [default: full]
    #[arg(long, value_name = "full|normal|off", env = "ATSDB_DURABILITY", hide_env = true)]
    pub(crate) durability: Option<String>,
    /// Run contestants with their defaults, not tuned for this machine
    #[arg(long)]
    pub(crate) defaults: bool,
    #[command(flatten)]
    pub(crate) servers: LabServerArgs,
    /// Drop the databases that an earlier run left on a server named by --url
    #[arg(long)]
    pub(crate) overwrite_databases: bool,
    /// The folder for temporary data, which is removed afterwards [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// `atsdb lab report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atsdb lab report results.json --html report.html
  atsdb lab report before.json after.json")]
pub(crate) struct LabReportArgs {
    /// A file that run wrote with -o
    pub(crate) file: PathBuf,
    /// A later run to compare with the first: factors, and whether they exceed the noise
    pub(crate) after: Option<PathBuf>,
    /// Also write the page: one HTML file with plots, which opens offline
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
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
    /// Rows of each workload, or of the named ones: 100000, or pinger=50000,split=200000 [default: each workload's own]
    #[arg(long, value_name = "COUNT|NAME=COUNT,...", value_delimiter = ',')]
    pub(crate) rows: Vec<String>,
    /// Run the published size of each workload, which may take hours
    #[arg(long, conflicts_with = "rows")]
    pub(crate) full: bool,
    /// The seed of the data
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) how: LabHowArgs,
    /// How results are written on stdout
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: LabFormat,
    /// Also write the results to a file as JSON
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write the page: one HTML file with plots, which opens offline
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// `atsdb lab advise`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atsdb lab advise weather.csv
  atsdb lab advise readings.parquet --contestants sqlite,atsdb,mariadb --html advice.html")]
pub(crate) struct LabAdviseArgs {
    /// A file of measurements, in any format that atsdb import reads
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) how: LabHowArgs,
    /// Write every figure as JSON, which lab report shows
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Also write the page: one HTML file with plots, which opens offline
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// How the advice is written on stdout
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: LabFormat,
}
