//! Tidiness as a test: documents name files that exist, no work is left open, and files and lines stay short.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, ending, found);
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

fn all(ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root(), ending, &mut found);
    assert!(!found.is_empty(), "no {ending} files below {}", root().display());
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn the_code_map_names_files_that_are_there() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let named = text.split(|letter: char| letter.is_whitespace() || "()[]`,".contains(letter));
    let named: Vec<&str> = named.filter(|word| word.starts_with("crates/")).collect();
    assert!(named.len() > 20, "the code map names {} files", named.len());
    for name in named {
        assert!(root().join(name.trim_end_matches(['.', ':', ';'])).exists(), "{name} is not there");
    }
}

#[test]
fn nothing_is_left_open_in_the_code() {
    // Written in two parts, so that this file does not contain them.
    let marks = [["TO", "DO"], ["FIX", "ME"], ["todo", "!("], ["unimpl", "emented!("], ["#[ig", "nore"]]
        .map(|mark| mark.concat());
    for (path, text) in all(".rs") {
        for (line, content) in text.lines().enumerate() {
            let open = marks.iter().any(|mark| content.contains(mark.as_str()));
            assert!(!open, "{}:{}: {content}", path.display(), line + 1);
        }
    }
}

#[test]
fn planted_bugs_fit_the_code() {
    let mut patches = Vec::new();
    files(&root().join("tests/planted"), ".patch", &mut patches);
    assert!(patches.len() > 20, "{} bugs to plant", patches.len());
    let check = |patch: &PathBuf| {
        let patch = patch.canonicalize().unwrap();
        Command::new("git").args(["apply", "--check"]).arg(patch).current_dir(root()).output()
    };
    // Without git nothing is checked: CI has it.
    let outdated = patches.iter().filter(|patch| check(patch).is_ok_and(|run| !run.status.success()));
    let outdated: Vec<&PathBuf> = outdated.collect();
    assert!(outdated.is_empty(), "these patches do not apply, because the code was rewritten: {outdated:#?}");
}

#[test]
fn planted_bugs_are_listed_with_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/develop/planted-bugs.md")).unwrap();
    let mut patches = Vec::new();
    files(&root().join("tests/planted"), ".patch", &mut patches);
    for patch in patches {
        let (name, text) = (patch.file_name().unwrap().to_string_lossy(), fs::read_to_string(&patch).unwrap());
        let command = text.lines().next().unwrap_or_default().strip_prefix("cargo test --release ").unwrap();
        let is_row = |line: &str| line.contains(&format!("/{name})")) && line.contains(&format!("`{command}`"));
        assert!(page.lines().any(is_row), "docs/develop/planted-bugs.md does not name {name} with {command}");
        let words: Vec<&str> = command.split(' ').collect();
        let (package, filter) = (words[1].strip_prefix("atsdb-").unwrap(), words[words.len() - 1]);
        if ["it", "--lib"].contains(&filter) {
            continue;
        }
        let part = if words.contains(&"--lib") { "src" } else { "tests" };
        let (folder, mut found) = (root().join("crates").join(package).join(part), Vec::new());
        files(&folder, ".rs", &mut found);
        // The filter is a part of the name of a module or of a test.
        let has_test = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            let is_module = path.strip_prefix(&folder).is_ok_and(|path| path.to_string_lossy().contains(filter));
            text.contains("#[test]") && (is_module || text.contains(&format!("fn {filter}")))
        };
        assert!(found.iter().any(has_test), "{name}: no test is called {filter}");
    }
}

#[test]
fn workarounds_name_what_they_wait_for() {
    const REASONS: [&str; 4] = ["/issues/", "/pull/", "pstream issue", "Part of [`"];
    let folder = root().join("crates/dialect/src/workarounds");
    let prose = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().take_while(|line| line.starts_with("//!")).collect::<Vec<_>>().join(" ")
    };
    let gives_reason = |path: &Path| REASONS.iter().any(|reason| prose(path).contains(reason));
    let mut found = Vec::new();
    files(&folder, ".rs", &mut found);
    assert!(found.len() > 50, "{} files of workarounds", found.len());
    for path in found {
        let of_folder = path.with_file_name("mod.rs");
        let is_explained = gives_reason(&path) || gives_reason(&of_folder);
        let is_shared = path.starts_with(folder.join("shared"));
        let of_others = path.ends_with("mod.rs");
        assert!(is_explained || is_shared || of_others, "{} names no issue", path.display());
    }
}

#[test]
fn tests_compile_every_crate_lightly() {
    let light = fs::read_to_string(root().join(".ci/light.toml")).unwrap();
    let mut crates: Vec<PathBuf> =
        fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    crates.extend(["python", "adbc"].map(|folder| root().join(folder)));
    for folder in crates {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let name = manifest.split_once("name = \"").and_then(|(_, rest)| rest.split_once('"')).unwrap().0;
        assert!(light.contains(&format!("[profile.release.package.{name}]\n")), ".ci/light.toml lacks {name}");
    }
}

#[test]
fn files_keep_to_one_subject() {
    // A ratchet: the list may only shrink.
    const LONGER: [&str; 0] = [];
    for (path, text) in all(".rs") {
        let lines = text.lines().count();
        let allowed = LONGER.iter().any(|longer| path.ends_with(longer));
        assert!(lines <= 500 || allowed, "{} has {lines} lines", path.display());
    }
}

/// The maximum width of comments, equal to `max_width` of code in rustfmt.toml, because rustfmt leaves comments as they
/// are.
const COMMENT_WIDTH: usize = 120;

#[test]
fn comments_are_no_wider_than_code() {
    let mut wide = Vec::new();
    for (path, text) in all(".rs") {
        for (line, content) in text.lines().enumerate() {
            // A row of a table cannot be wrapped.
            let comment = content.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!', ' ']));
            if comment.is_some_and(|comment| !comment.starts_with('|')) && content.chars().count() > COMMENT_WIDTH {
                wide.push(format!("{}:{}", path.display(), line + 1));
            }
        }
    }
    assert!(wide.is_empty(), "comments wider than {COMMENT_WIDTH} characters: {wide:#?}");
}

#[test]
fn types_have_the_names_of_the_field() {
    // Type names that do not show what a type is for.
    const VAGUE: [&str; 52] = [
        "Added",
        "Again",
        "Ahead",
        "Asked",
        "Away",
        "Caretaker",
        "Decided",
        "Demand",
        "Either",
        "Entry",
        "Focus",
        "Form",
        "Found",
        "Given",
        "Gone",
        "Growing",
        "Held",
        "Kind",
        "Left",
        "Listed",
        "Looked",
        "Marker",
        "Member",
        "Misfit",
        "Mix",
        "Moved",
        "Mover",
        "Needs",
        "Parsed",
        "Part",
        "Place",
        "Places",
        "Registered",
        "Resources",
        "Rest",
        "Said",
        "Seen",
        "Shown",
        "Side",
        "Source",
        "State",
        "Step",
        "Task",
        "Told",
        "Trouble",
        "Uncounted",
        "Undecided",
        "Unknown",
        "Wanted",
        "Weighed",
        "Whole",
        "Yield",
    ];
    for (path, text) in all(".rs") {
        for (line, content) in text.lines().enumerate() {
            let mut words = content.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let declares = words.by_ref().any(|word| matches!(word, "struct" | "enum" | "trait"));
            let is_vague = declares && words.next().is_some_and(|name| VAGUE.contains(&name));
            assert!(!is_vague, "{}:{}: {content}", path.display(), line + 1);
        }
    }
}

/// The number of casts to a narrower type, by crate, without tests. A ratchet: the numbers may only shrink. Convert by
/// `try_from` instead, or by `from` if every value fits.
const NARROWING_CASTS: [(&str, usize); 23] = [
    ("adbc", 1),
    ("crates/archive", 3),
    ("crates/codec", 22),
    ("crates/core", 7),
    ("crates/dialect", 21),
    ("crates/engine", 34),
    ("crates/export", 1),
    ("crates/fuzz", 4),
    ("crates/import", 21),
    ("crates/lab", 35),
    ("crates/lineproto", 6),
    ("crates/memory", 1),
    ("crates/mysql", 1),
    ("crates/prom", 8),
    ("crates/resident", 19),
    ("crates/server", 30),
    ("crates/simulator", 7),
    ("crates/sql", 15),
    ("crates/sqlite", 3),
    ("crates/sqlstore", 1),
    ("crates/testkit", 20),
    ("python", 11),
    ("sqlite-extension", 7),
];

#[test]
fn casts_that_may_lose_digits_become_fewer() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in all(".rs") {
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let Some((owner, _)) = path.split_once("/src/") else { continue };
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        *counts.entry(owner.to_owned()).or_default() += lines.map(narrowing_casts).sum::<usize>();
    }
    for (owner, count) in counts {
        let allowed = NARROWING_CASTS.iter().find(|(name, _)| *name == owner).map_or(0, |(_, allowed)| *allowed);
        assert!(count <= allowed, "{owner} has {count} casts to a narrower type, {allowed} are allowed: use try_from");
    }
}

/// The number of casts in a line whose type is narrower than most numbers.
fn narrowing_casts(line: &str) -> usize {
    let ends = |at: usize| !line[at..].starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let casts = [" as u8", " as u16", " as u32", " as i8", " as i16", " as i32", " as f32"];
    casts.iter().flat_map(|cast| line.match_indices(cast)).filter(|(at, cast)| ends(at + cast.len())).count()
}

#[test]
fn casts_are_counted() {
    assert_eq!(narrowing_casts("let a = (b as u8, c as u16) as f32;"), 3);
    assert_eq!(narrowing_casts("let a = b as u8_type; c as u64; d as usize; e as i128"), 0);
}

/// A function of more lines than this has more than one concern.
const FUNCTION_LINES: usize = 60;

/// The number of functions that are longer, by crate, without tests. A ratchet: the numbers may only shrink. Split a
/// function by its concerns instead.
const LONG_FUNCTIONS: [(&str, usize); 8] = [
    ("crates/cli", 3),
    ("crates/dialect", 11),
    ("crates/import", 9),
    ("crates/lab", 2),
    ("crates/prom", 3),
    ("crates/server", 18),
    ("crates/simulator", 5),
    ("crates/testkit", 1),
];

#[test]
fn long_functions_become_fewer() {
    let mut long: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in all(".rs") {
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let Some((owner, _)) = path.split_once("/src/") else { continue };
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let longer = function_lengths(code).into_iter().filter(|(_, count)| *count > FUNCTION_LINES);
        let names = longer.map(|(line, count)| format!("{path}:{line}: {count} lines"));
        long.entry(owner.to_owned()).or_default().extend(names);
    }
    for (owner, functions) in long {
        let allowed = LONG_FUNCTIONS.iter().find(|(name, _)| *name == owner).map_or(0, |(_, allowed)| *allowed);
        let count = functions.len();
        assert!(count <= allowed, "{owner} has {count} long functions, {allowed} are allowed: {functions:#?}");
    }
}

/// The first line of each function with a body of several lines, counted from 1, and its number of lines. The code is
/// formatted: the brace that closes a function is the first one that is indented as its first line.
fn function_lengths(code: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    // In a trait, a declaration over several lines ends with a semicolon after its parenthesis.
    let is_declared = |line: &str| line.trim_start().starts_with(')') && line.ends_with(';');
    let mut lengths = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if !begins_function(line) || line.ends_with(['}', ';']) {
            continue;
        }
        let ends = |other: &&str| indent(other) == indent(line) && (other.trim() == "}" || is_declared(other));
        let end = lines[at + 1..].iter().position(ends);
        if let Some(end) = end.filter(|end| !is_declared(lines[at + 1 + end])) {
            lengths.push((at + 1, end + 2));
        }
    }
    lengths
}

/// Returns whether a line is the first one of a function.
fn begins_function(line: &str) -> bool {
    const QUALIFIERS: [&str; 5] = ["const", "async", "unsafe", "extern", "default"];
    let is_qualifier =
        |word: &str| word.starts_with("pub") || word.starts_with("crate::") || QUALIFIERS.contains(&word);
    line.split_once("fn ").is_some_and(|(before, _)| before.split_whitespace().all(is_qualifier))
}

#[test]
fn lines_of_functions_are_counted() {
    let code =
        "fn a() {\n    b();\n}\n\nimpl C {\n    pub(crate) fn d(\n        &self,\n    ) -> u8 {\n        1\n    }\n}\n";
    assert_eq!(function_lengths(code), [(1, 3), (6, 5)]);
    let others = "trait A {\n    fn b(\n        &self,\n    ) -> u8;\n    fn c(&self) {}\n    // fn d() {\n}\n";
    assert!(function_lengths(others).is_empty());
}
