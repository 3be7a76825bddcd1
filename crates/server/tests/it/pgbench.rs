//! PostgreSQL's own benchmark, unchanged: its tables in both ways that it has, its queries in each of the protocols,
//! and its transactions, which retry after conflicts.

use crate::support::Served;
use atsdb_testkit::server::postgres_program;
use std::process::Command;

/// Runs pgbench; what it prints. Nothing where it is not there.
fn pgbench(served: &Served, arguments: &[&str]) -> Option<String> {
    let Some(program) = postgres_program("pgbench") else {
        eprintln!("skipped: there is no pgbench here");
        return None;
    };
    let mut command = Command::new(program);
    command.args(["-h", "127.0.0.1", "-U", "me", "-p"]).arg(served.pg().port().to_string());
    let output = command.args(arguments).arg("air").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {shown}");
    Some(shown)
}

#[test]
fn its_tables_are_made_and_filled() {
    let served = Served::new();
    for steps in [["-I", "dtGvp"], ["-I", "dtgvp"]] {
        let Some(shown) = pgbench(&served, &[&["-i", "-s", "1", "-q"], steps.as_slice()].concat()) else { return };
        assert!(shown.contains("storage parameter \"fillfactor\" is ignored"), "{shown}");
        let counts = ["accounts", "branches", "tellers"].map(|table| served.count(&format!("pgbench_{table}")));
        assert_eq!(counts, [100_000, 1, 10], "{steps:?}");
    }
    let definition = served.rows("SELECT count(DISTINCT aid), min(bid), max(bid), min(aid) FROM pgbench_accounts");
    assert!(definition.contains("| 100000 ") && definition.contains("| 1 "), "{definition}");
}

#[test]
fn its_queries_and_transactions_run() {
    let served = Served::new();
    if pgbench(&served, &["-i", "-s", "1", "-q"]).is_none() {
        return;
    }
    for protocol in ["simple", "extended", "prepared"] {
        let shown = pgbench(&served, &["-S", "-M", protocol, "-c", "2", "-t", "20"]).unwrap();
        assert!(shown.contains("number of transactions actually processed: 40/40"), "{protocol}: {shown}");
    }
    // Each transaction changes the one branch, so all of them are in conflict.
    let arguments = ["-c", "4", "-t", "5", "--max-tries=10000", "-M", "prepared"];
    let shown = pgbench(&served, &arguments).unwrap();
    assert!(shown.contains("number of transactions actually processed: 20/20"), "{shown}");
    assert!(shown.contains("number of failed transactions: 0 "), "{shown}");
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = sum(delta) AND (SELECT sum(tbalance) FROM \
                pgbench_tellers) = sum(delta) AND (SELECT sum(bbalance) FROM pgbench_branches) = sum(delta) AS same, \
                count(*) AS n FROM pgbench_history";
    let sums = served.rows(sums);
    assert!(sums.contains("| true | 20 |"), "{sums}");
}
