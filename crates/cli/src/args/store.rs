//! Flags for opening a store.

use clap::Args;

/// Flags of every command that opens a store.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Resources")]
pub(crate) struct StoreArgs {
    /// Cache at most this much of decoded columns [default: 64MiB; shell, server: 1/16 of memory, 64MiB to 512MiB]
    #[arg(long, value_name = "BYTES", env = "ATSDB_CACHE", hide_env = true)]
    pub(crate) cache: Option<String>,
    /// Let queries use at most this much memory, such as 4GiB; larger sorts and joins spill to disk [default: 1/4 of
    /// memory, at least 1GiB]
    #[arg(long, value_name = "BYTES", env = "ATSDB_MEMORY", hide_env = true)]
    pub(crate) memory: Option<String>,
    /// Let temporary files of queries and imports take at most this much space in the folder that TMPDIR names, such as
    /// 100GiB; 0 means none [default: half of the free space]
    #[arg(long, value_name = "BYTES", env = "ATSDB_TEMP", hide_env = true)]
    pub(crate) temp: Option<String>,
}

/// Flags of every command that runs queries.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Resources")]
pub(crate) struct QueryArgs {
    /// The time limit of a query, such as 500ms, 30s, 5min or 1h [default: no limit]
    #[arg(long, value_name = "TIME", env = "ATSDB_TIMEOUT", hide_env = true)]
    pub(crate) timeout: Option<String>,
}

/// Flags of every command that writes.
#[derive(Debug, Clone, Args)]
pub(crate) struct WriteArgs {
    /// What a commit survives: full (a power cut), normal (a crash; a power cut may take the last commits), off (a
    /// crash; a power cut may destroy the store) [default: full]
    #[arg(long, value_name = "full|normal|off", env = "ATSDB_DURABILITY", hide_env = true)]
    pub(crate) durability: Option<String>,
}
