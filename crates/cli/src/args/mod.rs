//! The command line: one declaration from which the parser, `--help`, the completions, the man page and
//! `docs/reference/cli.md` are generated. Its meaning is decided by [`settings`](crate::session::settings) and the
//! commands.

mod arrange;
mod clap_message;
mod cli;
mod config;
mod copy;
mod demo;
mod import;
mod lab;
mod parse;
mod report;
mod serve;
pub(crate) mod sql_text;
mod store;
mod user;

pub(crate) use cli::{
    ChangeArgs, Cli, Command, CompletionsArgs, DoctorArgs, ExportArgs, ManArgs, RollupArgs, ShellArgs, SqlArgs,
    StatsArgs, VerifyArgs,
};
pub(crate) use copy::{BackupArgs, CopyArgs, RestoreArgs, TargetArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use import::{DateOrderArg, ImportArgs, ImportEngine, ImportFormat};
pub(crate) use lab::{
    LabAdviseArgs, LabArgs, LabCommand, LabFormat, LabHowArgs, LabReportArgs, LabRunArgs, LabServerArgs,
};
pub(crate) use parse::{parse, parse_import};
pub(crate) use report::{ReportArgs, ReportFormat};
pub(crate) use serve::ServeArgs;
pub(crate) use store::{QueryArgs, StoreArgs, WriteArgs};
pub(crate) use user::{NewPasswordArgs, UserArgs, UserCommand, UserListArgs, UserNameArgs};
