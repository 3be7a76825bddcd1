//! The lab from the command line; its workloads are its own crate's to test.

use crate::support::Case;

#[test]
fn the_lab_lists_what_it_has() {
    let text = Case::new().run(&["lab", "list"]).well().text();
    assert!(text.contains("series") && text.contains("sqlite"), "{text}");
}

#[test]
fn a_small_run_compares_and_can_be_shown_again() {
    let case = Case::new();
    let arguments = ["lab", "run", "series", "--rows", "2000", "--repeat", "1", "--durability", "off", "-o", "r.json"];
    let run = case.run(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let results: serde_json::Value = serde_json::from_str(&case.read("r.json")).unwrap();
    assert!(results.is_object(), "{results}");
    assert_eq!(case.run(&["lab", "report", "r.json"]).well().text(), run.text());
    case.run(&["lab", "run", "seres"]).failed(1, &["seres", "did you mean series?"]);
}
