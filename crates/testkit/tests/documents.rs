//! The documentation as a whole: each link leads to a file and a heading that exist, in the site as well, each page is
//! in the table of contents, fences and tables are well-formed, and the lab's tables are those of the committed
//! results.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Collects the pages below a folder, without hidden folders and build output.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            pages(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

fn all_pages() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    pages(&root(), &mut found);
    found.sort();
    assert!(found.len() > 40, "{} pages below {}", found.len(), root().display());
    found.into_iter().map(|page| (page.clone(), prose(&fs::read_to_string(page).unwrap()))).collect()
}

/// Returns the lines of a page outside of fences.
fn prose(text: &str) -> String {
    let mut is_fenced = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the targets of a page's links and pictures.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' ')).collect()
}

/// Returns the anchors that git hosts and mdBook give the headings of a page: lower case, dashes for blanks, no other
/// signs.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in text.lines().filter(|line| line.starts_with('#')) {
        let letters = heading.trim_start_matches('#').trim().chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter.to_ascii_lowercase()),
            _ => None,
        });
        let anchor: String = letters.collect();
        let further = (1..).map(|count| format!("{anchor}-{count}"));
        let free = std::iter::once(anchor.clone()).chain(further).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for (page, text) in all_pages() {
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let is_page = target.extension().is_some_and(|ending| ending == "md");
            let has_anchor = || anchors(&prose(&fs::read_to_string(&target).unwrap())).contains(anchor);
            let leads = target.exists() && (anchor.is_empty() || !is_page || has_anchor());
            if !leads {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: BTreeSet<PathBuf> =
        links(&summary).iter().map(|link| docs.join(link).canonicalize().unwrap_or_default()).collect();
    assert_eq!(listed.len(), links(&summary).len(), "pages that docs/SUMMARY.md lists, each once");
    for (page, _) in all_pages() {
        let is_listed = listed.contains(&page) || page.ends_with("docs/SUMMARY.md");
        assert!(is_listed, "{} is not in docs/SUMMARY.md", page.display());
    }
}

/// Returns the first lines of fences that are not closed.
fn open_fences(text: &str) -> Vec<&str> {
    let (mut open, mut found) = (None, Vec::new());
    for line in text.lines().map(str::trim).filter(|line| line.starts_with("```")) {
        open = match open {
            // A line that names a language opens a fence, so the fence before it is not closed.
            Some(before) if line != "```" => {
                found.push(before);
                Some(line)
            }
            Some(_) => None,
            None => Some(line),
        };
    }
    found.extend(open);
    found
}

/// Returns the rows of tables that have more or fewer cells than the first row.
fn uneven_rows(prose: &str) -> Vec<&str> {
    let (mut cells, mut found) = (None, Vec::new());
    for line in prose.lines().map(str::trim) {
        if !line.starts_with('|') {
            cells = None;
            continue;
        }
        // An escaped line is text, also inside of backticks.
        let count = line.replace("\\|", "").matches('|').count();
        if *cells.get_or_insert(count) != count {
            found.push(line);
        }
    }
    found
}

#[test]
fn fences_are_closed_and_rows_have_the_cells_of_their_heading() {
    for (page, prose) in all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        let (fences, rows) = (open_fences(&text), uneven_rows(&prose));
        assert!(fences.is_empty(), "{}: these fences are not closed: {fences:#?}", page.display());
        assert!(rows.is_empty(), "{}: these rows have another number of cells: {rows:#?}", page.display());
    }
}

#[test]
fn open_fences_and_uneven_rows_are_seen() {
    assert_eq!(open_fences("```sh\nls\n```\n```sql\nSELECT 1\n```rust\nfn f() {}\n```\n```"), ["```sql", "```"]);
    assert_eq!(uneven_rows("| a | b |\n|---|---|\n| `x \\| y` | 1 |\n| 2 |\n\n| c |\n|---|"), ["| 2 |"]);
}

/// Runs a script of the documentation that checks what it would write.
fn check_by(script: &str, verb: &str) {
    // Without Python nothing is checked: CI has it.
    if let Ok(run) = Command::new("python3").arg(root().join(script)).arg(verb).output() {
        assert!(run.status.success(), "{script}: {}", String::from_utf8_lossy(&run.stderr));
    }
}

#[test]
fn tables_and_plots_are_those_of_the_committed_results() {
    check_by("docs/lab/make_headline.py", "--check");
    check_by("docs/pictures/speed_and_size.py", "--check");
}

#[test]
fn links_lead_somewhere_in_the_site() {
    check_by("docs/book/links.py", "check");
}

#[test]
fn anchors_are_those_of_git_hosts() {
    let found = anchors("# What it costs\n## `a_b`, C-d (e)\n## What it costs");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a_b-c-d-e", "what-it-costs", "what-it-costs-1"]);
}

#[test]
fn every_fault_that_was_found_names_a_test_that_exists() {
    let page = root().join("docs/develop/regressions.md");
    let text = fs::read_to_string(&page).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.rsplit_once(" | "));
    let (mut count, mut missing) = (0, Vec::new());
    for file in cells.flat_map(|(_, found_by)| found_by.split("](").skip(1)) {
        let (path, names) = file.split_once("): ").unwrap_or_else(|| panic!("{file}: it names no test"));
        let content = fs::read_to_string(page.parent().unwrap().join(path)).unwrap();
        // A name is between two backticks; the next file begins with a bracket.
        for name in names.split("; [").next().unwrap_or_default().split('`').skip(1).step_by(2) {
            count += 1;
            if !content.contains(name) {
                missing.push(format!("{path}: {name}"));
            }
        }
    }
    assert!(count > 100 && missing.is_empty(), "{count} tests, of which these are not there: {missing:#?}");
}

/// Collects the source files at a path, or below it.
fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| sources(&entry.unwrap().path(), found));
    } else if path.extension().is_some_and(|ending| ending == "rs") && path.exists() {
        found.push(path.to_owned());
    }
}

/// Returns whether `cargo test` with these arguments runs a test: `-p PACKAGE`, then `--test TARGET` or `--lib`, then a
/// part of the name of a test or of its module.
fn run_some_test(arguments: &str) -> bool {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let (package, code, filter) = match words.as_slice() {
        ["-p", package] => (*package, String::new(), None),
        ["-p", package, "--lib", filter] => (*package, "src".to_owned(), Some(*filter)),
        ["-p", package, "--test", target] => (*package, format!("tests/{target}"), None),
        ["-p", package, "--test", target, filter] => (*package, format!("tests/{target}"), Some(*filter)),
        _ => return false,
    };
    let folder = root().join("crates").join(package.trim_start_matches("atsdb-"));
    let mut files = Vec::new();
    sources(&folder.join(&code), &mut files);
    sources(&folder.join(format!("{code}.rs")), &mut files);
    files.iter().any(|file| {
        let Some(filter) = filter else { return true };
        let text = fs::read_to_string(file).unwrap();
        let is_module = file.strip_prefix(&folder).is_ok_and(|path| path.to_string_lossy().contains(filter));
        is_module || text.lines().any(|line| line.trim_start().starts_with("fn ") && line.contains(filter))
    })
}

#[test]
fn every_command_that_runs_tests_runs_some() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in ["docs/testing.md", "docs/develop/planted-bugs.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        for code in text.split('`').skip(1).step_by(2) {
            let Some(at) = code.find("-p atsdb") else { continue };
            count += 1;
            if !run_some_test(&code[at..]) {
                wrong.push(format!("{page}: {code}"));
            }
        }
    }
    assert!(count > 50 && wrong.is_empty(), "{count} commands, of which these run no test: {wrong:#?}");
}

#[test]
fn commands_that_run_no_test_are_seen() {
    assert!(run_some_test("-p atsdb-testkit --test documents every_link") && run_some_test("-p atsdb-testkit"));
    for wrong in ["-p atsdb-nothing", "-p atsdb-testkit --test nothing", "-p atsdb-testkit --test tidy nothing_of_it"] {
        assert!(!run_some_test(wrong), "{wrong}");
    }
}
