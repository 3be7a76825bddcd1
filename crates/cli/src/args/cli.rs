//! The program and its commands.

use super::copy::{BackupArgs, CopyArgs, RestoreArgs};
use super::demo::DemoArgs;
use super::import::ImportArgs;
use super::lab::LabArgs;
use super::report::{ReportArgs, ReportFormat};
use super::serve::ServeArgs;
use super::store::{QueryArgs, StoreArgs, WriteArgs};
use super::user::UserArgs;
use crate::output::Format;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

const EXAMPLES: &str = "\
URL: a path (air.db) or sqlite:PATH; sqlite:DIR?split=slice or sqlite:DIR?shards=N for a
directory of many files; postgresql://USER@HOST/DATABASE, mariadb:// or mysql:// for a store on a
server; memory: for a store that ends with the program.

Exit codes: 0 done, 1 usage, 2 the store, a file or the run failed, 3 SQL error, 4 verify could
not check, 130 interrupted.

Environment variables, which flags override: ATSDB_URL (shell, serve), ATSDB_DURABILITY,
ATSDB_CACHE, ATSDB_MEMORY, ATSDB_TEMP, ATSDB_TIMEOUT, ATSDB_PASSWORD or ATSDB_PASSWORD_FILE (to
log in to a server), ATSDB_USER_PASSWORD or ATSDB_USER_PASSWORD_FILE (of a user that is added),
ATSDB_CACHE_DIR and ATSDB_CACHE_BYTES (the cache on this machine for pages of stores on servers;
ATSDB_CACHE_DIR=off disables it), TMPDIR (the folder of temporary files), NO_COLOR.

Examples:
  atsdb import air.db weather weather.csv        load a file; its table is created to fit
  atsdb sql air.db \"SELECT count(*) FROM weather\"
  atsdb sql \"SELECT * FROM 'weather.csv' LIMIT 5\" query a file without a store
  atsdb air.db                                   the shell; .help lists its commands
  atsdb stats air.db                             rows, bytes, encodings";

/// A time-series store in one SQLite file, or in a database of a server
///
/// Without a command: the SQL shell, or SQL from stdin if that is not a terminal.
#[derive(Debug, Parser)]
#[command(
    name = "atsdb",
    version = crate::console::version::text(),
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The store to open in the shell; created if it does not exist [default: memory:]
    pub(crate) url: Option<String>,
    /// Statements to run instead of the shell, as atsdb sql does
    pub(crate) sql: Option<String>,
    #[command(flatten)]
    pub(crate) shell: ShellArgs,
}

/// The commands, in the order of `--help`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run SQL and write its results
    Sql(SqlArgs),
    /// Load files into a table: CSV, JSON, Excel, Parquet, Arrow, line protocol
    Import(Box<ImportArgs>),
    /// Write a table, or a query's result, to a file
    Export(ExportArgs),
    /// List the tables
    Tables(ReportArgs),
    /// Show the CREATE TABLE of a table, or of all
    Schema(ReportArgs),
    /// List the slices of a table, or of all: their time ranges, rows and sizes
    Slices(ReportArgs),
    /// Show rows, bytes and encodings of a table, or of all
    Stats(StatsArgs),
    /// Seal recent rows now, not later in the background: merge, sort and compress them as far as possible
    Recompress(ChangeArgs),
    /// Drop now what is older than the retention of a table, or of each
    Retain(ChangeArgs),
    /// Compute the stale rows of a rollup, or of all, now
    Rollup(RollupArgs),
    /// Report what is slow, large or risky in a store, and the statement that fixes it
    Doctor(DoctorArgs),
    /// Read everything and report damage; exit code 2 if there is damage, 4 if it could not be checked
    Verify(VerifyArgs),
    /// Copy a store to another one: SQLite, PostgreSQL, MariaDB; a repeated copy moves only what is new
    Copy(CopyArgs),
    /// Back a store up to a directory, to S3-compatible object storage, or to another store
    Backup(BackupArgs),
    /// Restore a backup into a store
    Restore(RestoreArgs),
    /// Make a store available to other programs until the process is stopped
    Serve(ServeArgs),
    /// Add, list and drop the users of a store that is served, and their tokens
    User(UserArgs),
    /// Measure databases side by side
    Lab(LabArgs),
    /// Load two example files, compare with plain SQLite, query, and draw a chart
    Demo(DemoArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the man page, or write one for each command
    Man(ManArgs),
}

/// Flags for running statements.
#[derive(Debug, Args)]
pub(crate) struct StatementArgs {
    /// Print each statement's time on stderr: Time: 12.345 ms
    #[arg(long)]
    pub(crate) timing: bool,
    /// Refuse to change the store, or to write files by COPY
    #[arg(long)]
    pub(crate) read_only: bool,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) query_limits: QueryArgs,
}

/// Flags of the shell.
#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "table", hide_possible_values = true)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) statements: StatementArgs,
}

/// `atsdb sql`.
#[derive(Debug, Args)]
#[command(after_help = "\
Several statements are separated by ;. A script stops at its first error (exit code 3).

Examples:
  atsdb sql air.db \"SELECT * FROM weather LIMIT 5\"
  atsdb sql air.db -f schema.sql
  atsdb sql air.db -p origin=JFK 'SELECT max(temp) FROM weather WHERE origin = $origin'
  atsdb sql air.db \"SELECT * FROM weather\" -o weather.parquet
  atsdb sql \"SELECT origin, avg(temp) FROM 'weather.csv' GROUP BY 1\"
  atsdb sql -f report.sql")]
pub(crate) struct SqlArgs {
    /// The store: a path or another URL; created if it does not exist and a statement writes. May be left out for
    /// statements that need none
    pub(crate) url: Option<String>,
    /// The statements; without them and without -f they come from stdin
    #[arg(conflicts_with = "file")]
    pub(crate) sql: Option<String>,
    /// Read the statements from a file; - is stdin
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How results are written [default: what -o ends with, else table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Write results to a file, which appears only when it is complete; - is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of -o if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Bind $NAME in the statements to a value; may be repeated
    #[arg(short, long = "param", value_name = "NAME=VALUE", value_parser = parse_param)]
    pub(crate) param: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) statements: StatementArgs,
}

/// `atsdb export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Endings: .csv .tsv .json .jsonl .md .txt, each also with .gz or .zst; .parquet; .arrow; .svg and
.html for a chart.

Examples:
  atsdb export air.db weather -o weather.csv.gz
  atsdb export air.db -q \"SELECT * FROM weather WHERE origin = 'JFK'\" -o jfk.parquet
  atsdb export air.db weather --format csv | head")]
pub(crate) struct ExportArgs {
    /// The store: a path or another URL
    pub(crate) url: String,
    /// The table to write, whole and in its stored order
    #[arg(required_unless_present = "query", conflicts_with = "query")]
    pub(crate) table: Option<String>,
    /// Write the result of one query instead of a table
    #[arg(short, long, value_name = "SQL")]
    pub(crate) query: Option<String>,
    /// The file to write, which appears only when it is complete; - is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// How rows are written [default: what -o ends with; csv on stdout]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Replace the file of -o if it exists
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) query_limits: QueryArgs,
}

/// `atsdb stats`.
#[derive(Debug, Args)]
#[command(after_help = "\
--caches shows three caches: preload and columns, in the memory of this process, and pages, which
are kept in files on this machine if the store is on a server: their hits and misses are those of
all processes that ever read the store here.

Examples:
  atsdb stats air.db readings
  atsdb stats postgresql://me@db/air --caches --format json")]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Show the caches instead: hits, misses, bytes, peak bytes
    #[arg(long, conflicts_with = "table")]
    pub(crate) caches: bool,
}

/// Arguments of the commands that change a store and report.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

/// `atsdb verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
--hash prints a hash of each table's rows, which is the same in every store and every layout.

Exit codes: 0 everything is whole; 2 damage, or there is no store; 4 it could not be checked: no
file handles, no memory, no space, a server that does not answer, a lock that another process
holds. Then the state of the store is unknown: free what was missing, and verify again. With
--format json such findings have is_damage false.

Examples:
  atsdb verify air.db
  atsdb verify air.db --hash
  atsdb verify postgresql://me@localhost/air --hash --format json")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Print a hash of the tables' rows, to compare copies
    #[arg(long)]
    pub(crate) hash: bool,
}

/// `atsdb doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
It looks for too many or too wide slices, chunks that are not sealed, repeated texts without a
dictionary, dictionaries that are almost full, settings of the server that weaken a promise, and
missing backups. It changes nothing, and its exit code is 0 whatever it finds.

Examples:
  atsdb doctor air.db
  atsdb doctor air.db readings --format json
  atsdb doctor air.db --backup backups/")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// Where the backups of this store are; without it they are not checked
    #[arg(long, value_name = "DIR|s3://BUCKET/PREFIX")]
    pub(crate) backup: Option<String>,
    #[command(flatten)]
    pub(crate) query_limits: QueryArgs,
}

/// `atsdb rollup`.
#[derive(Debug, Args)]
#[command(after_help = "\
A rollup is always correct: a query computes stale rows itself. It is faster if they have been
computed before.

Examples:
  atsdb rollup air.db
  atsdb rollup air.db hourly --format json")]
pub(crate) struct RollupArgs {
    /// The store: a path or another URL
    pub(crate) url: String,
    /// One rollup [default: all]
    pub(crate) rollup: Option<String>,
    /// How the report is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) query_limits: QueryArgs,
}

/// `atsdb completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atsdb completions bash > ~/.local/share/bash-completion/completions/atsdb
  atsdb completions zsh > ~/.zfunc/_atsdb
  atsdb completions fish > ~/.config/fish/completions/atsdb.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// `atsdb man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atsdb man | man -l -
  atsdb man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write a page for the program and for each command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print docs/reference/cli.md
    #[arg(long, hide = true, conflicts_with = "dir")]
    pub(crate) reference: bool,
    /// Print docs/reference/functions.md
    #[arg(long, hide = true, conflicts_with_all = ["dir", "reference"])]
    pub(crate) functions: bool,
}

fn parse_param(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok((name.strip_prefix('$').unwrap_or(name).to_owned(), value.to_owned()))
        }
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_declaration_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_parameters_value_may_hold_anything() {
        assert_eq!(parse_param("$a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(parse_param("a").is_err() && parse_param("=b").is_err());
    }
}
