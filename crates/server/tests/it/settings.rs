//! SHOW and SET, with PostgreSQL 15's answers.

use crate::support::Served;
use atsdb_server::{Role, ServerOptions};

#[test]
fn settings_that_tools_read_have_values() {
    let served = Served::with_options(&[], ServerOptions { connections_max: 77, ..ServerOptions::default() });
    for (statement, expected) in [
        ("SHOW max_connections", "77"),
        ("SHOW max_prepared_transactions", "0"),
        ("SHOW enable_seqscan", "on"),
        ("SHOW Max_Index_Keys", "32"),
        ("SELECT setting, context, vartype FROM pg_settings WHERE name = 'max_connections'", "77|postmaster|integer"),
        ("SELECT count(*) > 150 FROM pg_settings WHERE short_desc <> ''", "t"),
        ("SELECT current_setting('work_mem')", "4MB"),
    ] {
        let Some(found) = served.psql(&["-t", "-c", statement], "") else { return };
        assert_eq!(found.trim(), expected, "{statement}");
    }
    let all = served.psql(&["-t", "-c", "SHOW ALL"], "").unwrap();
    let line = "enable_seqscan|on|Enables the planner's use of sequential-scan plans.";
    assert!(all.lines().any(|found| found == line), "{all}");
}

#[test]
fn settings_are_refused_as_by_postgresql() {
    let served = Served::with_users(&[("boss", Role::Admin, "b"), ("writer", Role::Write, "w")], None);
    for (user, statement, expected) in [
        ("boss", "SHOW nothing", "ERROR:  42704: unrecognized configuration parameter \"nothing\""),
        ("boss", "SET nothing = 1", "ERROR:  42704: unrecognized configuration parameter \"nothing\""),
        (
            "boss",
            "SET max_connections = 5",
            "ERROR:  55P02: parameter \"max_connections\" cannot be changed without restarting the server",
        ),
        ("boss", "SET server_version = 5", "ERROR:  55P02: parameter \"server_version\" cannot be changed"),
        ("boss", "SET autovacuum = on", "ERROR:  55P02: parameter \"autovacuum\" cannot be changed now"),
        ("boss", "SET enable_sort = maybe", "ERROR:  22023: parameter \"enable_sort\" requires a Boolean value"),
        ("boss", "SET work_mem = 'much'", "ERROR:  22023: invalid value for parameter \"work_mem\": \"much\""),
        ("boss", "SET session_replication_role = replica", ""),
        (
            "writer",
            "SET session_replication_role = replica",
            "ERROR:  42501: permission denied to set parameter \"session_replication_role\"",
        ),
        ("writer", "SET random_page_cost = 1.1", ""),
    ] {
        let password = &user[..1];
        let Some(found) = served.psql_as(&format!("user={user}"), password, statement) else { return };
        assert_eq!(found.trim(), expected, "{statement} as {user}");
    }
}

#[test]
fn a_setting_of_the_client_lasts_until_its_transaction_ends() {
    let script = "BEGIN;\n\
         SET LOCAL my.tenant = 'one';\n\
         SELECT current_setting('my.tenant');\n\
         COMMIT;\n\
         SELECT '(' || current_setting('my.tenant', true) || ')';\n";
    let served = Served::with_tables();
    let Some(found) = served.psql(&["-t"], script) else { return };
    assert_eq!(found.trim(), "one\n()");
}
