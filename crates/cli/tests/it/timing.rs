//! `--timing`.

use crate::support::Case;

#[test]
fn each_statements_time_is_a_line_on_stderr() {
    let run = Case::new().run(&["sql", "memory:", "SELECT 1 AS a; SELECT 2 AS a", "--timing", "--format", "csv"]);
    assert_eq!((run.code, run.text().as_str()), (0, "a\n1\na\n2\n"));
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", run.stderr);
    for line in lines {
        let number = line.strip_prefix("Time: ").and_then(|rest| rest.strip_suffix(" ms")).expect(line);
        let (whole, fraction) = number.split_once('.').expect(line);
        assert!(
            whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) && fraction.len() == 3,
            "{line}"
        );
    }
}
