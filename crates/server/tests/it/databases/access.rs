//! Users of one database have no rights in another, and learn nothing of its tables.

use super::several::{NAMES, Several, Users, basic};
use crate::client::reply;
use crate::flight::client::connect_to;
use atsdb_server::{Role, ServerOptions, UserStore};
use postgres::error::SqlState;
use std::io::Write;
use std::net::TcpStream;
use tonic::Code;

const AIR: Users<'static> = &[("anna", Role::Admin, "a-pass"), ("reader", Role::Admin, "air-pass")];
const MACHINES: Users<'static> =
    &[("reader", Role::Read, "r-pass"), ("writer", Role::Write, "w-pass"), ("boss", Role::Admin, "b-pass")];

fn several() -> Several {
    let several = Several::with(AIR, MACHINES, ServerOptions::default());
    several.execute("air", "CREATE TABLE of_air (a INT)");
    several.execute(
        "machines",
        "CREATE TABLE of_machines (id INT PRIMARY KEY, v INT); INSERT INTO of_machines VALUES (1, 2)",
    );
    several
}

/// The role that each request to a database requires.
const REQUESTS: [(&str, &str, &str, Role); 16] = [
    ("POST", "/write?db=machines", "made,host=a v=1 1", Role::Write),
    ("POST", "/api/v2/write?bucket=machines", "made,host=a v=2 2", Role::Write),
    ("POST", "/api/v3/write_lp?db=machines", "made,host=a v=3 3", Role::Write),
    ("GET", "/api/sql?db=machines&sql=SELECT+1", "", Role::Read),
    ("POST", "/api/sql?db=machines", "SELECT count(*) FROM of_machines", Role::Read),
    ("POST", "/api/sql?db=machines", "UPDATE of_machines SET v = 3 WHERE id = 1", Role::Write),
    ("POST", "/api/sql?db=machines", "CREATE TABLE IF NOT EXISTS own (a INT)", Role::Admin),
    ("POST", "/api/append?table=of_machines&db=machines", "no arrow", Role::Write),
    ("GET", "/api/statements?db=machines", "", Role::Read),
    ("POST", "/api/v1/write?db=machines", "", Role::Write),
    ("POST", "/v1/metrics?db=machines", "", Role::Write),
    ("POST", "/api/v1/read?db=machines", "", Role::Read),
    ("GET", "/api/v1/query?db=machines&query=1", "", Role::Read),
    ("GET", "/api/v1/labels?db=machines", "", Role::Read),
    ("GET", "/api/v1/status/buildinfo?db=machines", "", Role::Read),
    ("GET", "/nothing?db=machines", "", Role::Read),
];

#[test]
fn every_role_on_every_address_of_the_second_database() {
    let several = several();
    let users = UserStore::new(several.database("machines").clone());
    let token = |store: &UserStore, name: &str| format!("Bearer {}", store.add_token(name, "test").unwrap());
    let callers: Vec<(Role, String)> = MACHINES.iter().map(|(name, role, _)| (*role, token(&users, name))).collect();
    let of_air = token(&UserStore::new(several.database("air").clone()), "anna");
    several.server.reloader().reload().unwrap();
    for (method, path, body, needed) in REQUESTS {
        let status = |authorization: &str| {
            let headers = [("Authorization", authorization)];
            let headers = if authorization.is_empty() { &headers[..0] } else { &headers[..] };
            several.send(method, path, headers, body).status
        };
        // An administrator of the other database is a stranger here, and so is one with a user's name.
        assert_eq!((status(""), status(&of_air)), (401, 401), "{method} {path} {body}");
        for (role, authorization) in &callers {
            let status = status(authorization);
            assert_eq!(status == 403, *role < needed, "{role} {method} {path} {body}: {status}");
            assert!(status != 401 && status != 500, "{role} {method} {path} {body}: {status}");
        }
    }
    assert_eq!(several.rows("machines", "SELECT count(*) FROM made"), ["3"]);
    assert_eq!(several.table_count("air"), 1);
    let other =
        several.send("POST", "/api/sql?db=machines", &[("Authorization", &basic("reader", "air-pass"))], "SELECT 1");
    assert_eq!(other.status, 401, "the password of the other database");
}

#[test]
fn nobody_learns_of_a_database_that_is_not_theirs() {
    let several = several();
    let listed = |user: &str, password: &str, path: &str| {
        let reply = several.send("GET", path, &[("Authorization", &basic(user, password))], "");
        (reply.status, reply.text().to_owned())
    };
    assert_eq!(listed("anna", "a-pass", "/api/databases"), (200, "{\"databases\":[\"air\"]}".to_owned()));
    assert_eq!(listed("boss", "b-pass", "/api/databases"), (200, "{\"databases\":[\"machines\"]}".to_owned()));
    // A user of the same name may know that the other database exists, but needs its password.
    assert_eq!(listed("reader", "air-pass", "/api/databases").1, "{\"databases\":[\"air\",\"machines\"]}");
    let (status, text) = listed("reader", "r-pass", "/api/databases?db=machines");
    assert_eq!((status, text.as_str()), (200, "{\"databases\":[\"air\",\"machines\"]}"));
    for path in
        ["/api/databases", "/metrics", "/", "/ping", "/query?q=SHOW+DATABASES", "/api/sql?db=nowhere", "/api/sql"]
    {
        assert_eq!(several.send("GET", path, &[], "").status, 401, "{path}");
        assert_eq!(listed("anna", "wrong", path).0, 401, "{path}");
        assert_ne!(listed("anna", "a-pass", path).0, 401, "{path}");
    }
    let (status, text) = listed("anna", "a-pass", "/api/sql?db=nowhere&sql=SELECT+1");
    assert!(status == 404 && text.contains("(available: air)"), "{text}");
    let (status, text) = listed("boss", "b-pass", "/api/sql?sql=SELECT+1");
    assert!(status == 400 && text.contains("(available: machines)"), "{text}");
    let metrics = listed("anna", "a-pass", "/metrics").1;
    assert!(metrics.contains("lines_stored_total{database=\"air\"}"), "{metrics}");
    assert!(!metrics.contains("lines_stored_total{database=\"machines\"}"), "{metrics}");
    assert_eq!(
        (several.send("GET", "/health", &[], "").status, several.send("GET", "/ready", &[], "").status),
        (200, 200)
    );
}

#[test]
fn roles_hold_over_postgresqls_protocol() {
    let several = several();
    let run = |user: &str, password: &str, database: &str, statement: &str| {
        several.psql(&format!("user={user} dbname={database}"), password, statement)
    };
    let Some(found) = run("reader", "r-pass", "machines", "SELECT v FROM of_machines") else { return };
    assert_eq!(found.trim(), "2");
    assert!(run("reader", "r-pass", "machines", "DELETE FROM of_machines").unwrap().contains("42501"));
    assert!(run("writer", "w-pass", "machines", "CREATE TABLE x (a INT)").unwrap().contains("42501"));
    assert_eq!(run("writer", "w-pass", "machines", "INSERT INTO of_machines VALUES (2, 3)").unwrap(), "");
    assert_eq!(run("boss", "b-pass", "machines", "CREATE TABLE x (a INT)").unwrap(), "");
    // The same name with another role in the first database.
    assert_eq!(run("reader", "air-pass", "air", "CREATE TABLE x (a INT); DROP TABLE x").unwrap(), "");
    for (user, password, database) in [
        ("reader", "air-pass", "machines"),
        ("reader", "r-pass", "air"),
        ("anna", "a-pass", "machines"),
        ("boss", "b-pass", "air"),
    ] {
        let found = run(user, password, database, "SELECT 1").unwrap();
        assert!(found.contains("password authentication failed"), "{user} {database}: {found}");
    }
    let found = run("anna", "a-pass", "air", "SELECT * FROM of_machines").unwrap();
    assert!(found.contains("42P01"), "{found}");
    let names = "SELECT relname FROM pg_class WHERE relname LIKE 'of%' AND relkind = 'r';\n\
                 SELECT datname FROM pg_database ORDER BY 1";
    assert_eq!(run("anna", "a-pass", "air", names).unwrap().trim(), "of_air\nair");
    assert_eq!(run("reader", "r-pass", "machines", names).unwrap().trim(), "of_machines\nair\nmachines");
    // That a database does not exist is for users only.
    let unknown = several.connect("user=anna password=a-pass dbname=nowhere").map(drop).unwrap_err();
    assert_eq!(unknown.code(), Some(&SqlState::INVALID_CATALOG_NAME), "{unknown}");
    assert_eq!(unknown.as_db_error().unwrap().hint(), Some("available: air"));
    for keywords in ["user=anna password=wrong dbname=nowhere", "user=nobody password=x dbname=nowhere"] {
        let error = several.connect(keywords).map(drop).unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::INVALID_PASSWORD), "{keywords}: {error}");
    }
}

#[test]
fn an_administrator_sees_and_ends_only_what_is_in_the_own_database() {
    let several = several();
    let mut boss = several.connect("user=boss password=b-pass dbname=machines").unwrap();
    let mut anna = several.connect("user=anna password=a-pass dbname=air").unwrap();
    let process: i32 = boss.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    let seen = anna.query("SELECT pid FROM pg_stat_activity", &[]).unwrap();
    assert!(seen.len() == 1 && seen[0].get::<_, i32>(0) != process);
    for function in ["pg_terminate_backend", "pg_cancel_backend"] {
        let ended = anna.query_one(&format!("SELECT {function}({process})"), &[]).unwrap();
        assert!(!ended.get::<_, bool>(0), "{function}");
    }
    assert!(boss.query_one("SELECT 1", &[]).is_ok());
}

#[test]
fn flight_sql_checks_the_users_of_the_database() {
    let several = several();
    let client = |database: &str, user: &str, password: &str| {
        let mut client = connect_to(several.server.grpc_address().unwrap());
        if !database.is_empty() {
            client.sql.set_header("database", database);
        }
        client.sql.set_header("authorization", basic(user, password));
        client
    };
    assert_eq!(client("machines", "reader", "r-pass").number("SELECT count(*) FROM of_machines"), 1);
    let refused = client("machines", "reader", "r-pass").update("DELETE FROM of_machines").unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(client("machines", "writer", "w-pass").update("UPDATE of_machines SET v = 9").unwrap(), 1);
    for (database, user, password) in
        [("air", "boss", "b-pass"), ("machines", "anna", "a-pass"), ("nowhere", "anna", "wrong"), ("", "anna", "wrong")]
    {
        let error = client(database, user, password).info("SELECT 1").unwrap_err();
        assert_eq!(error.code(), Code::Unauthenticated, "{database} {user}: {error}");
    }
    let unnamed = client("", "anna", "a-pass").info("SELECT 1").unwrap_err();
    assert!(unnamed.message().ends_with("(available: air)"), "{unnamed}");
}

#[test]
fn a_database_without_users_is_open_beside_one_with_users() {
    let several = Several::with(&[], MACHINES, ServerOptions::default());
    several.execute("air", "CREATE TABLE of_air (a INT)");
    assert_eq!(several.post("/api/sql?db=air", "SELECT 1").status, 200);
    assert_eq!(several.post("/api/sql?db=machines", "SELECT 1").status, 401);
    let listed = several.send("GET", "/api/databases", &[], "");
    assert_eq!((listed.status, listed.text()), (200, "{\"databases\":[\"air\"]}"));
    let unknown = several.connect("user=me dbname=nowhere").map(drop).unwrap_err();
    assert_eq!(unknown.as_db_error().unwrap().hint(), Some("available: air"));
    // A page under a host name of its own could otherwise use the open one.
    let mut stream = TcpStream::connect(several.server.http_address().unwrap()).unwrap();
    write!(stream, "GET /api/databases HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(reply(stream).status, 403);
}

#[test]
fn users_of_all_databases_are_reloaded() {
    let several = several();
    for name in NAMES {
        UserStore::new(several.database(name).clone()).add("late", Role::Read, Some("l-pass")).unwrap();
    }
    several.server.reloader().reload().unwrap();
    for name in NAMES {
        let path = format!("/api/sql?db={name}");
        let reply = several.send("POST", &path, &[("Authorization", &basic("late", "l-pass"))], "SELECT 1");
        assert_eq!(reply.status, 200, "{name}: {reply:?}");
    }
}
