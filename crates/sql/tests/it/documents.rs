//! The examples of the reference pages on the catalogue, limits and declarations: they run, and answer what the page says.

use crate::scripts::answer;
use crate::stores::session;
use std::path::Path;

#[test]
fn the_examples_answer_what_the_pages_say() {
    for page in ["sql-catalogue.md", "sql-limits.md", "sql-declarations.md", "sql-change.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
        let text = std::fs::read_to_string(path).unwrap();
        let (session, _directory) = session("memory");
        let mut examples = 0;
        for block in text.split("```sql\n").skip(1) {
            let (sql, after) = block.split_once("```\n").unwrap();
            let found = answer(&session, sql).unwrap_or_else(|error| panic!("{page}: {error}\n{sql}"));
            if let Some(wanted) = after.strip_prefix("```\n") {
                let wanted: Vec<&str> = wanted.split_once("```").unwrap().0.lines().collect();
                assert_eq!(found, wanted, "{page}: {sql}");
            }
            examples += 1;
        }
        assert!(examples > 0, "{page}");
    }
}
