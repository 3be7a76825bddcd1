//! `atsdb copy`, `backup` and `restore`.

use super::report::ReportFormat;
use super::store::{StoreArgs, WriteArgs};
use atsdb::Moment;
use clap::Args;

/// Flags for the target of a copy.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct TargetArgs {
    /// Replace tables of the same names, and copies that were changed after the last copy
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Leave other tables of the target as they are, instead of refusing a target that has some
    #[arg(long)]
    pub(crate) allow_non_empty: bool,
    /// Skip checking the source, and reading back the target; faster on a slow link, and also copies what is readable
    /// from a damaged store
    #[arg(long)]
    pub(crate) no_verify: bool,
}

/// `atsdb copy`.
#[derive(Debug, Args)]
#[command(after_help = "\
Chunks are copied as they are, at the speed of the slower store, while others write: a copy shows
all tables at one moment. A repeated copy moves only what is new. An interrupted copy is resumed
by the next one. The target shows all or nothing.

Examples:
  atsdb copy air.db postgresql://me@localhost/air          move to a server
  atsdb copy air.db /backup/air.db                         every night: copies only what is new
  atsdb copy air.db part.db weather --from 2024-01-01 --to 2024-02-01")]
pub(crate) struct CopyArgs {
    /// The store to copy: a path or another URL
    pub(crate) source: String,
    /// The store to copy to; created if it does not exist
    pub(crate) target: String,
    /// Tables, views and rollups to copy [default: all]
    #[arg(value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
    /// Copy rows from this time on: 2024-03-01, '2024-03-01 12:00:00' (UTC), or a count of the table's unit
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true)]
    pub(crate) from: Option<Moment>,
    /// Copy rows before this time; tables without times are copied whole
    #[arg(long, value_name = "TIME", value_parser = parse_moment, allow_hyphen_values = true)]
    pub(crate) to: Option<Moment>,
    #[command(flatten)]
    pub(crate) into: TargetArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `atsdb backup`.
#[derive(Debug, Args)]
#[command(after_help = "\
DST is a directory, s3://BUCKET/PREFIX, or another store's URL, which then becomes a copy. In a
directory or bucket any number of backups share what they have in common; a backup is whole or
does not exist. S3 is configured by the usual environment variables: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL.

Examples:
  atsdb backup air.db /backup/air --keep 7
  atsdb backup postgresql://me@localhost/air s3://bucket/air --keep 30
  atsdb backup --list /backup/air")]
pub(crate) struct BackupArgs {
    /// The store to back up: a path or another URL
    #[arg(required_unless_present = "list")]
    pub(crate) source: Option<String>,
    /// The target: a directory, which is created; s3://BUCKET/PREFIX; or a store's URL
    #[arg(value_name = "DST", required_unless_present = "list")]
    pub(crate) target: Option<String>,
    /// Tables, views and rollups to back up [default: all]
    #[arg(value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
    /// Keep this many backups of the store, the new one included, and delete older ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep: Option<u32>,
    /// List the backups in a directory or bucket, oldest first
    #[arg(long, value_name = "DST", conflicts_with_all = ["source", "target", "tables", "keep"])]
    pub(crate) list: Option<String>,
    /// How the list is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) into: TargetArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `atsdb restore`.
#[derive(Debug, Args)]
#[command(after_help = "\
The target shows all of the backup or nothing. Every page is checked as it is read.

Examples:
  atsdb restore /backup/air air.db
  atsdb restore s3://bucket/air postgresql://me@localhost/air --at '2024-03-01 12:00:00'
  atsdb restore /backup/air air.db weather --allow-non-empty
  atsdb restore /backup/all air.db --store sqlite:/var/lib/air.db")]
pub(crate) struct RestoreArgs {
    /// Where the backups are: a directory, s3://BUCKET/PREFIX, or a store's URL
    pub(crate) source: String,
    /// The store to restore to; created if it does not exist
    pub(crate) target: String,
    /// Tables, views and rollups to restore [default: all]
    #[arg(value_name = "TABLE")]
    pub(crate) tables: Vec<String>,
    /// Restore the newest backup that is not later than this time (UTC) [default: the newest]
    #[arg(long, value_name = "TIME", conflicts_with = "backup")]
    pub(crate) at: Option<String>,
    /// Restore the backup with this id, which atsdb backup --list shows
    #[arg(long, value_name = "ID", conflicts_with = "of")]
    pub(crate) backup: Option<String>,
    /// Restore a backup of this store: its URL, or the first digits of its number, which atsdb backup --list shows;
    /// required if there are backups of several stores
    #[arg(long = "store", value_name = "STORE")]
    pub(crate) of: Option<String>,
    #[command(flatten)]
    pub(crate) into: TargetArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

fn parse_moment(text: &str) -> Result<Moment, String> {
    Moment::parse(text).map_err(|error| error.to_string())
}
