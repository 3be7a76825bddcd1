//! Runs the examples of `docs/reference`: every fence of a page marked `sql`, from top to bottom in one session. If a
//! fence marked `text` follows, it is compared with the last answer. `ATSDB_SLT_WRITE=1` rewrites these answers.

use crate::render::printed_lines;
use crate::scripts::{ROOT, answer_in};
use crate::stores::session;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_example_of_the_reference_runs_and_answers_what_the_page_says() {
    let pages = fs::read_dir(Path::new(ROOT).join("docs/reference")).unwrap();
    let mut pages: Vec<PathBuf> = pages.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    let is_written = std::env::var_os("ATSDB_SLT_WRITE").is_some();
    let (mut examples, mut failures) = (0, Vec::new());
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let (session, _directory) = session("memory");
        let mut written = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("```sql\n") {
            let (sql, after) = after.split_once("```").unwrap();
            written.push_str(&format!("{before}```sql\n{sql}```"));
            examples += 1;
            let found = answer_in(&session, sql, printed_lines).map(|lines| lines.join("\n"));
            let place = || format!("{}:\n{sql}", page.file_name().unwrap().to_string_lossy());
            rest = match (after.strip_prefix("\n\n```text\n").and_then(|after| after.split_once("\n```")), found) {
                (_, Err(error)) => {
                    failures.push(format!("{}{error}", place()));
                    after
                }
                (None, Ok(_)) => after,
                (Some((wanted, after)), Ok(found)) => {
                    written.push_str(&format!("\n\n```text\n{found}\n```"));
                    if wanted != found {
                        failures.push(format!("{}found\n{found}\nwanted\n{wanted}", place()));
                    }
                    after
                }
            };
        }
        if is_written {
            fs::write(&page, written + rest).unwrap();
        }
    }
    assert!(is_written || failures.is_empty(), "\n{}", failures.join("\n\n"));
    assert!(examples > 5);
}
