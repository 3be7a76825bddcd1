//! `atsdb user`.

use crate::support::Case;

#[test]
fn users_come_and_go() {
    let case = Case::new();
    case.run_with(&["user", "add", "air.db", "anna", "--role", "admin"], "secret\nmore\n").well();
    case.write("password", "other\n");
    case.run(&["user", "add", "air.db", "ben", "--role", "READ", "--password-file", "password"]).well();
    case.run(&["user", "add", "air.db", "telegraf", "--role", "write", "--no-password"]).well();
    let token = case.run(&["user", "token", "air.db", "telegraf"]).well().text();
    assert!(token.starts_with("atsdb_") && token.trim_end().len() == 70, "{token}");
    case.run(&["user", "token", "air.db", "telegraf", "--name", "second"]).well();
    let list = case.run(&["user", "list", "air.db"]).well().text();
    for part in ["anna", "admin", "default, second", "read"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let json = case.run(&["user", "list", "air.db", "--format", "json"]).well().text();
    assert!(json.contains("\"password\": false") && !json.contains("SCRAM") && !json.contains("atsdb_"), "{json}");
    case.run(&["user", "revoke", "air.db", "telegraf", "second"]).well();
    case.run(&["user", "role", "air.db", "ben", "write"]).well();
    case.run_with(&["user", "password", "air.db", "ben"], "new\n").well();
    case.run(&["user", "drop", "air.db", "anna"]).well();
    let list = case.run(&["user", "list", "air.db"]).well().text();
    assert!(!list.contains("anna") && !list.contains("second") && list.contains("write"), "{list}");
    // Users are not rows that SQL can see, but verify checks them.
    assert!(!case.run(&["tables", "air.db"]).well().text().contains("atsdb_access"));
    case.run(&["sql", "air.db", "SELECT * FROM atsdb_access"]).failed(3, &["no table"]);
    case.run(&["verify", "air.db"]).well();
    // The file contains no part of a password or a token.
    let file = std::fs::read(case.path("air.db")).unwrap();
    for secret in ["secret", "other", token.trim_end()] {
        assert!(!file.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
    }
}

#[test]
fn a_backup_has_the_users() {
    let case = Case::new().with_store();
    case.run_with(&["user", "add", "a.db", "anna", "--role", "admin"], "secret\n").well();
    assert_eq!(case.run(&["backup", "a.db", "kept"]).code, 0);
    assert_eq!(case.run(&["restore", "kept", "b.db"]).code, 0);
    let list = case.run(&["user", "list", "b.db"]).well().text();
    assert!(list.contains("anna") && list.contains("admin"), "{list}");
    assert_eq!(case.run(&["copy", "a.db", "c.db"]).code, 0);
    assert!(case.run(&["user", "list", "c.db"]).well().text().contains("anna"));
}

#[test]
fn impossible_requests_are_named() {
    let case = Case::new();
    case.run(&["user", "list", "air.db"]).failed(2, &["air.db"]);
    case.run(&["user", "drop", "air.db", "anna"]).failed(2, &["air.db"]);
    case.run_with(&["user", "add", "air.db", "anna", "--role", "root"], "x\n")
        .failed(1, &["unknown role root", "read, write or admin"]);
    case.run_with(&["user", "add", "air.db", "a:b", "--role", "read"], "x\n").failed(1, &["colon"]);
    case.run_with(&["user", "add", "air.db", "anna", "--role", "read"], "\n")
        .failed(1, &["the password is empty", "--password-file"]);
    case.run_with(&["user", "add", "air.db", "anna", "--role", "read"], "x\n").well();
    case.run_with(&["user", "add", "air.db", "anna", "--role", "read"], "x\n").failed(2, &["user anna already exists"]);
    case.run(&["user", "drop", "air.db", "ben"]).failed(2, &["there is no user ben"]);
    case.run(&["user", "revoke", "air.db", "anna", "x"]).failed(2, &["no token named x"]);
    case.run(&["user", "password", "air.db", "anna", "--password-file", "missing"]).failed(1, &["missing"]);
    case.run(&["user", "drop", "air.db", "anna"]).well();
    assert_eq!(case.run(&["user", "list", "air.db"]).well().text(), "there are no users\n");
}
