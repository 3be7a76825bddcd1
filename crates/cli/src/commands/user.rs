//! `atsdb user`: manages the users of a store that is served.

use super::report;
use crate::args::{NewPasswordArgs, UserArgs, UserCommand, UserListArgs, UserNameArgs};
use crate::console::password;
use crate::output::grid::{Heading, render};
use crate::session::settings::{self, Access};
use atsdb::{Database, Error, Result, TimeUnit};
use atsdb_server::{Role, UserEntry, UserStore};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;

/// The variable with a password, and the one that names a file with it.
const VARIABLE: &str = "ATSDB_USER_PASSWORD";
const FILE_VARIABLE: &str = "ATSDB_USER_PASSWORD_FILE";

/// Runs the command.
pub(super) fn run(args: &UserArgs) -> Result<()> {
    match &args.command {
        UserCommand::Add(args) => {
            let role = Role::parse(&args.role)?;
            let password = if args.no_password { None } else { Some(new_password(&args.password)?) };
            open(&args.name, Access::CreateQuietly)?.add(&args.name.user, role, password.as_deref())
        }
        UserCommand::List(args) => list(args),
        UserCommand::Drop(args) => open(args, Access::Change)?.drop(&args.user),
        UserCommand::Password(args) => {
            let users = open(&args.name, Access::Change)?;
            users.set_password(&args.name.user, &new_password(&args.password)?)
        }
        UserCommand::Role(args) => {
            let role = Role::parse(&args.role)?;
            open(&args.name, Access::Change)?.set_role(&args.name.user, role)
        }
        UserCommand::Token(args) => {
            let token = open(&args.name, Access::Change)?.add_token(&args.name.user, &args.label)?;
            report::write_text(&format!("{token}\n"))
        }
        UserCommand::Revoke(args) => open(&args.name, Access::Change)?.revoke_token(&args.name.user, &args.token),
    }
}

fn open(args: &UserNameArgs, access: Access) -> Result<UserStore> {
    Ok(UserStore::new(settings::open(&args.url, access, &args.store, Some(&args.write))?))
}

#[derive(Serialize)]
struct UserJson {
    name: String,
    role: &'static str,
    password: bool,
    created: Option<String>,
    tokens: Vec<TokenJson>,
}

#[derive(Serialize)]
struct TokenJson {
    name: String,
    created: Option<String>,
}

fn list(args: &UserListArgs) -> Result<()> {
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    match args.format {
        crate::args::ReportFormat::Table => report::write_text(&names(&database)?),
        crate::args::ReportFormat::Json => report::write_text(&report::json(&all(&database)?)?),
    }
}

/// The users of a store as a table.
pub(crate) fn names(database: &Database) -> Result<String> {
    let listed = all(database)?;
    if listed.is_empty() {
        return Ok("there are no users\n".to_owned());
    }
    let headings = ["name", "role", "password", "tokens", "created"].map(Heading::left);
    Ok(render(&headings, &listed.iter().map(row).collect::<Vec<_>>()))
}

fn all(database: &Database) -> Result<Vec<UserJson>> {
    Ok(UserStore::new(database.clone()).list()?.into_iter().map(listed).collect())
}

fn listed(user: UserEntry) -> UserJson {
    let time = |ms| report::show_time(Some(ms), TimeUnit::Millisecond);
    let tokens = user.tokens.into_iter();
    UserJson {
        name: user.name,
        role: user.role.name(),
        password: user.has_password,
        created: time(user.created_ms),
        tokens: tokens.map(|token| TokenJson { name: token.label, created: time(token.created_ms) }).collect(),
    }
}

fn row(user: &UserJson) -> Vec<String> {
    let tokens: Vec<&str> = user.tokens.iter().map(|token| token.name.as_str()).collect();
    vec![
        user.name.clone(),
        user.role.to_owned(),
        if user.password { "yes" } else { "no" }.to_owned(),
        tokens.join(", "),
        user.created.clone().unwrap_or_default(),
    ]
}

/// Reads a password from the source that the flags or the environment name, but never from an argument, which every
/// process could read.
fn new_password(args: &NewPasswordArgs) -> Result<String> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = &args.password_file {
        return of_file(path);
    }
    if let Some(password) = variable(VARIABLE) {
        return password.into_string().map_err(|_| Error::usage(format!("{VARIABLE} is not UTF-8")));
    }
    if let Some(path) = variable(FILE_VARIABLE) {
        return of_file(Path::new(&path));
    }
    if !std::io::stdin().is_terminal() {
        return of_file(Path::new("-"));
    }
    let first = password::ask("Password: ")?;
    match password::ask("The same again: ")? == first {
        true => Ok(first),
        false => Err(Error::usage("the two passwords differ").with_hint("run the command again")),
    }
}

fn of_file(path: &Path) -> Result<String> {
    let unreadable = |error: std::io::Error| {
        Error::usage(format!("cannot read the password from {}: {error}", path.display())).with_source(error)
    };
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()).map_err(unreadable)?,
        false => std::fs::read_to_string(path).map_err(unreadable)?,
    };
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(password) => Ok(password.to_owned()),
        None => Err(Error::usage("the password is empty")
            .with_hint("it is the first line of stdin, or of the file that --password-file names")),
    }
}
