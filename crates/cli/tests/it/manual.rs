//! Completions, man pages and the reference are generated from one declaration.

use crate::support::Case;
use std::path::Path;

const VERBS: [&str; 20] = [
    "user",
    "sql",
    "import",
    "export",
    "tables",
    "schema",
    "slices",
    "stats",
    "recompress",
    "rollup",
    "retain",
    "doctor",
    "verify",
    "copy",
    "serve",
    "backup",
    "restore",
    "lab",
    "completions",
    "man",
];

#[test]
fn completions_know_every_verb() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Case::new().run(&["completions", shell]).well().text();
        for verb in VERBS {
            assert!(script.contains(verb), "{shell}: {verb}");
        }
    }
}

#[test]
fn the_man_page_knows_every_verb_and_each_has_its_own() {
    let case = Case::new();
    let page = case.run(&["man"]).well().text();
    assert!(page.contains(".TH"), "{page}");
    case.run(&["man", "--dir", "pages"]).well();
    for verb in VERBS {
        assert!(page.contains(verb), "{verb}");
        assert!(case.path("pages").join(format!("atsdb-{verb}.1")).exists(), "{verb}");
    }
}

#[test]
fn the_reference_is_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let page = Case::new().run(&["man", "--reference"]).well().text();
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/reference/cli.md is out of date: atsdb man --reference > docs/reference/cli.md");
}

#[test]
fn the_list_of_functions_is_what_the_program_knows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/functions.md");
    let page = Case::new().run(&["man", "--functions"]).well().text();
    assert!(page.contains("| `time_bucket(") && page.contains("| `row_number("), "{page}");
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "docs/reference/functions.md is out of date: atsdb man --functions > docs/reference/functions.md"
    );
}
