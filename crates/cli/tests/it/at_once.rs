//! Several programs that write to one store at the same time.

use crate::support::Case;
use std::io::Write;
use std::process::Stdio;

#[test]
fn of_two_programs_that_insert_the_same_key_at_once_one_wins() {
    let case = Case::new();
    case.run(&["sql", "a.db", "CREATE TABLE t (id INT, time TIMESTAMP, who TEXT, PRIMARY KEY (id, time))"]).well();
    for round in 0..12 {
        // Each program also inserts rows of its own, so that chunks come from both.
        let start = |who: &str| {
            let own = if who == "one" { 1_000 } else { 2_000 } + round;
            let sql = format!("INSERT INTO t VALUES ({own}, '2024-01-01', '{who}'), ({round}, '2024-01-01', '{who}')");
            let mut command = case.command(&["sql", "a.db", &sql]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let running = [start("one"), start("two")];
        let ended = running.map(|child| child.wait_with_output().unwrap());
        let won = ended.iter().filter(|output| output.status.success()).count();
        assert_eq!(won, 1, "round {round}: {ended:?}");
        let lost = ended.iter().find(|output| !output.status.success()).unwrap();
        let message = String::from_utf8_lossy(&lost.stderr);
        assert!(message.contains(&format!("({round}, 2024-01-01")) && message.contains("already exists"), "{message}");
    }
    assert_eq!(case.query("a.db", "SELECT count(*), count(DISTINCT id) FROM t"), "24,24");
    // If both update the same row, both updates count.
    let bump = "INSERT INTO t VALUES (0, '2024-01-01', '') ON CONFLICT (id, time) DO UPDATE SET who = t.who || '+'";
    let start = || {
        let mut command = case.command(&["sql", "a.db", bump]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for _ in 0..6 {
        let running = [start(), start()];
        running.into_iter().for_each(|child| assert!(child.wait_with_output().unwrap().status.success()));
    }
    assert!(case.query("a.db", "SELECT who FROM t WHERE id = 0").ends_with(&"+".repeat(12)));
}

#[test]
fn an_import_says_that_another_program_created_its_table_meanwhile() {
    let case = Case::new();
    let import = ["import", "a.db", "t", "-"];
    let mut command = case.command(&import);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // No pipe holds 2 MiB. Once they are written, the import reads its rows, and has found no table.
    stdin.write_all("v\n".as_bytes()).unwrap();
    stdin.write_all("1\n".repeat(1 << 20).as_bytes()).unwrap();
    case.run(&["sql", "a.db", "CREATE TABLE t (v BIGINT)"]).well();
    drop(stdin);
    let ended = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{message}");
    for part in ["table t already exists", "another program created it", "run the command again"] {
        assert!(message.contains(part), "{part:?} is not in {message}");
    }
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "0");
    assert_eq!(case.run_with(&import, "v\n1\n2\n").code, 0);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "2");
}
