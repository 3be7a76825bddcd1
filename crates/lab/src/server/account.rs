//! The user that a server runs as. Servers refuse to run as root: a lab that runs as root starts them as the user that
//! their package created, any other lab as its own user.

use crate::failure::Failure;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;

/// The user that a server runs as.
#[derive(Debug, Clone)]
pub(super) struct Account {
    /// The user, if it differs from the lab's.
    user: Option<User>,
}

#[derive(Debug, Clone)]
struct User {
    name: String,
    user: u32,
    group: u32,
}

impl Account {
    /// The lab's own user.
    pub(super) fn labs() -> Self {
        Self { user: None }
    }

    /// The user `name` if the lab runs as root, otherwise the lab's own user.
    pub(super) fn of(name: &str) -> Result<Self, Failure> {
        // The owner of this process's own entry is its user.
        let is_root = fs::metadata("/proc/self").map_err(Failure::broken)?.uid() == 0;
        if !is_root {
            return Ok(Self { user: None });
        }
        if !has_setpriv() {
            return Err(Failure::cannot(
                "servers do not run as root, and setpriv is missing: apt-get install util-linux",
            ));
        }
        let users = fs::read_to_string("/etc/passwd").map_err(Failure::broken)?;
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name);
        let number = |at: usize| fields.as_ref()?.get(at)?.parse().ok();
        match (number(2), number(3)) {
            (Some(user), Some(group)) => Ok(Self { user: Some(User { name: name.to_owned(), user, group }) }),
            _ => Err(Failure::cannot(format!("servers do not run as root, and there is no user {name}"))),
        }
    }

    /// Makes the account the owner of a file or folder.
    pub(super) fn own(&self, path: &Path) -> Result<(), Failure> {
        match &self.user {
            Some(user) => chown(path, Some(user.user), Some(user.group)).map_err(Failure::broken),
            None => Ok(()),
        }
    }

    /// The arguments that run a program as this account, so that it ends with its parent. The program replaces the
    /// first process, so that its process number is known.
    pub(super) fn wrap(&self, ends_with_parent: bool) -> Vec<String> {
        let mut arguments = Vec::new();
        if ends_with_parent {
            arguments.push("--pdeathsig=KILL".to_owned());
        }
        if let Some(user) = &self.user {
            arguments.push(format!("--reuid={}", user.user));
            arguments.push(format!("--regid={}", user.group));
            arguments.push("--clear-groups".to_owned());
        }
        if !arguments.is_empty() && has_setpriv() {
            arguments.insert(0, "setpriv".to_owned());
            arguments.push("--".to_owned());
        } else {
            arguments.clear();
        }
        arguments
    }

    /// The hint for an account that cannot access its folder.
    pub(super) fn hint(&self, folder: &Path) -> String {
        match &self.user {
            Some(user) => format!("; it runs as {}, which must be able to reach {}", user.name, folder.display()),
            None => String::new(),
        }
    }
}

fn has_setpriv() -> bool {
    Command::new("setpriv").arg("--version").output().is_ok_and(|output| output.status.success())
}
