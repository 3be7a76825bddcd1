//! `atsdb user`.

use super::report::ReportFormat;
use super::store::{StoreArgs, WriteArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `atsdb user`.
#[derive(Debug, Args)]
#[command(after_help = "\
Users are kept in the store that atsdb serve serves. Once there is one, every client must log in.
A running server follows changes within two seconds, or at once when it gets SIGHUP.

Examples:
  atsdb user add air.db anna --role admin
  atsdb user add air.db telegraf --role write --no-password
  atsdb user token air.db telegraf
  atsdb user list air.db")]
pub(crate) struct UserArgs {
    #[command(subcommand)]
    pub(crate) command: UserCommand,
}

/// The commands for users.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add a user, with a password or only with tokens
    Add(UserAddArgs),
    /// List the users, their roles and the names of their tokens
    List(UserListArgs),
    /// Drop a user with all tokens; sessions of the user end
    Drop(UserNameArgs),
    /// Give a user another password
    Password(UserPasswordArgs),
    /// Give a user another role
    Role(UserRoleArgs),
    /// Make a token for a user and print it; it is not shown again
    Token(UserTokenArgs),
    /// Revoke a token of a user
    Revoke(UserRevokeArgs),
}

/// The store and the user.
#[derive(Debug, Args)]
pub(crate) struct UserNameArgs {
    /// The store: a path or another URL
    pub(crate) url: String,
    /// The name of the user (case-sensitive)
    pub(crate) user: String,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The source of a password.
#[derive(Debug, Args)]
pub(crate) struct NewPasswordArgs {
    /// Read the password from the first line of a file; - is stdin [default: the variable ATSDB_USER_PASSWORD, the file
    /// named by ATSDB_USER_PASSWORD_FILE, the terminal, or stdin]
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
}

/// `atsdb user add`.
#[derive(Debug, Args)]
pub(crate) struct UserAddArgs {
    #[command(flatten)]
    pub(crate) name: UserNameArgs,
    /// What the user may do: read, write (rows), admin (also create, alter and drop)
    #[arg(long, value_name = "read|write|admin")]
    pub(crate) role: String,
    #[command(flatten)]
    pub(crate) password: NewPasswordArgs,
    /// Give the user no password, only tokens
    #[arg(long, conflicts_with = "password_file")]
    pub(crate) no_password: bool,
}

/// `atsdb user list`.
#[derive(Debug, Args)]
pub(crate) struct UserListArgs {
    /// The store: a path or another URL
    pub(crate) url: String,
    /// How the report is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `atsdb user password`.
#[derive(Debug, Args)]
pub(crate) struct UserPasswordArgs {
    #[command(flatten)]
    pub(crate) name: UserNameArgs,
    #[command(flatten)]
    pub(crate) password: NewPasswordArgs,
}

/// `atsdb user role`.
#[derive(Debug, Args)]
pub(crate) struct UserRoleArgs {
    #[command(flatten)]
    pub(crate) name: UserNameArgs,
    /// What the user may do
    #[arg(value_name = "read|write|admin")]
    pub(crate) role: String,
}

/// `atsdb user token`.
#[derive(Debug, Args)]
pub(crate) struct UserTokenArgs {
    #[command(flatten)]
    pub(crate) name: UserNameArgs,
    /// The name by which the token is listed and revoked
    #[arg(long = "name", value_name = "NAME", default_value = "default")]
    pub(crate) label: String,
}

/// `atsdb user revoke`.
#[derive(Debug, Args)]
pub(crate) struct UserRevokeArgs {
    #[command(flatten)]
    pub(crate) name: UserNameArgs,
    /// The name of the token
    #[arg(default_value = "default")]
    pub(crate) token: String,
}
