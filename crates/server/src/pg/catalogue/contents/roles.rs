//! Roles: the users of the store in PostgreSQL's terms.
//!
//! An admin is a superuser. Users that may read are members of `pg_read_all_data`, and those that may write also of
//! `pg_write_all_data`. One role owns everything; in a store without users it is the current user.

use super::super::privileges::{READ_ALL, WRITE_ALL};
use super::super::relation::Row;
use super::super::value::Value;
use super::row::row;
use crate::access::role::Role;

/// The number of the role that owns everything.
pub(super) const OWNER: i64 = 10;
/// The number of the role that owns the schema `public`.
pub(super) const DATABASE_OWNER: i64 = 6_171;

/// The name of the owner in a store with users. Nobody can log in with it.
const OWNER_NAME: &str = "atsdb";

/// The roles that every PostgreSQL server has.
const PREDEFINED: [(i64, &str); 3] =
    [(DATABASE_OWNER, "pg_database_owner"), (READ_ALL, "pg_read_all_data"), (WRITE_ALL, "pg_write_all_data")];

/// A user's number is this plus the user's position.
const USERS_FROM: i64 = 1 << 27;

/// The roles at one moment.
pub(super) struct Roles(Vec<RoleObject>);

struct RoleObject {
    number: i64,
    name: String,
    /// The rights of a user, or `None` for a predefined role.
    role: Option<Role>,
    can_login: bool,
}

impl Roles {
    /// Creates the roles of `users`, which are sorted by name, as the user `asker` sees them.
    pub(super) fn of(users: Vec<(String, Role)>, asker: &str) -> Self {
        let owner = |name: &str, can_login| RoleObject {
            number: OWNER,
            name: name.to_owned(),
            role: Some(Role::Admin),
            can_login,
        };
        let mut roles = match users.is_empty() {
            true => vec![owner(asker, true)],
            false if users.iter().any(|(name, _)| name == OWNER_NAME) => Vec::new(),
            false => vec![owner(OWNER_NAME, false)],
        };
        roles.extend((USERS_FROM..).zip(users).map(|(next, (name, role))| {
            let number = if name == OWNER_NAME { OWNER } else { next };
            RoleObject { number, name, role: Some(role), can_login: true }
        }));
        let predefined = PREDEFINED.into_iter();
        roles.extend(predefined.map(|(number, name)| RoleObject {
            number,
            name: name.to_owned(),
            role: None,
            can_login: false,
        }));
        Self(roles)
    }

    /// The name of the role that owns everything.
    pub(super) fn owner(&self) -> &str {
        self.0.iter().find(|role| role.number == OWNER).map_or(OWNER_NAME, |role| &role.name)
    }

    /// The number of a role.
    pub(super) fn number(&self, name: &str) -> i64 {
        self.0.iter().find(|role| role.name == name).map_or(0, |role| role.number)
    }

    /// The rows of `pg_roles`, `pg_authid`, `pg_user`, `pg_shadow` and `pg_auth_members`.
    pub(super) fn rows(&self, table: &str) -> Vec<Row> {
        match table {
            "pg_auth_members" => self.0.iter().flat_map(members).collect(),
            "pg_user" | "pg_shadow" => self.0.iter().filter(|role| role.can_login).map(user).collect(),
            _ => self.0.iter().map(|role| authority(table, role)).collect(),
        }
    }
}

fn is_super(role: &RoleObject) -> Value {
    Value::Bool(role.role == Some(Role::Admin))
}

fn authority(table: &str, role: &RoleObject) -> Row {
    let no = Value::Bool(false);
    row(
        "pg_catalog",
        table,
        &[
            ("oid", Value::Int(role.number)),
            ("rolname", Value::text(role.name.as_str())),
            ("rolsuper", is_super(role)),
            ("rolinherit", Value::Bool(true)),
            // No statement can create roles or databases.
            ("rolcreaterole", no.clone()),
            ("rolcreatedb", no.clone()),
            ("rolcanlogin", Value::Bool(role.can_login)),
            ("rolreplication", no.clone()),
            ("rolbypassrls", no),
            ("rolconnlimit", Value::Int(-1)),
            ("rolpassword", if table == "pg_roles" { Value::text("********") } else { Value::Null }),
        ],
    )
}

fn user(role: &RoleObject) -> Row {
    let no = Value::Bool(false);
    row(
        "pg_catalog",
        "pg_user",
        &[
            ("usename", Value::text(role.name.as_str())),
            ("usesysid", Value::Int(role.number)),
            ("usecreatedb", no.clone()),
            ("usesuper", is_super(role)),
            ("userepl", no.clone()),
            ("usebypassrls", no),
            ("passwd", Value::text("********")),
        ],
    )
}

fn members(role: &RoleObject) -> Vec<Row> {
    let of: &[i64] = match role.role {
        Some(Role::Read) => &[READ_ALL],
        Some(Role::Write) => &[READ_ALL, WRITE_ALL],
        _ => &[],
    };
    let member = |of: &i64| {
        row(
            "pg_catalog",
            "pg_auth_members",
            &[
                ("roleid", Value::Int(*of)),
                ("member", Value::Int(role.number)),
                ("grantor", Value::Int(OWNER)),
                ("admin_option", Value::Bool(false)),
            ],
        )
    };
    of.iter().map(member).collect()
}
