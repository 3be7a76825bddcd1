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
    let options = "--contestants sqlite,atsdb --rows 2000 --repeat 1 --durability off -o r.json";
    let arguments: Vec<&str> = ["lab", "run", "series"].into_iter().chain(options.split(' ')).collect();
    let run = case.run(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let results: serde_json::Value = serde_json::from_str(&case.read("r.json")).unwrap();
    assert!(results.is_object(), "{results}");
    assert_eq!(case.run(&["lab", "report", "r.json"]).well().text(), run.text());
    let compared = case.run(&["lab", "report", "r.json", "r.json", "--html", "r.html"]).well().text();
    assert!(compared.contains("before") && compared.contains("single runs: unknown"), "{compared}");
    assert!(case.read("r.html").contains("Beside an earlier run"));
    assert!(!case.path("r.partial.json").exists(), "complete results leave no partial ones");
    case.run(&["lab", "run", "seres"]).failed(1, &["seres", "did you mean series?"]);
}

#[test]
fn advice_on_a_file_names_a_winner_for_each_measure() {
    let case = Case::new();
    let mut text = "time,sensor,value\n".to_owned();
    (0..2_000)
        .for_each(|row| text += &format!("{},s{},{}\n", 1_704_067_200 + row * 60, row % 7, f64::from(row % 50) / 4.0));
    case.write("air.csv", &text);
    let arguments =
        ["lab", "advise", "air.csv", "--contestants", "sqlite,atsdb", "--repeat", "1", "--durability", "off"];
    let run = case.run(&arguments);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown = run.text();
    assert!(shown.contains("to measure it again") && shown.contains("atsdb lab advise air.csv"), "{shown}");
    let json = case.run(&[&arguments[..], &["--format", "json"]].concat()).text();
    let advice: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(advice["winners"].as_array().map(Vec::len), Some(8), "{json}");
    case.run(&["lab", "advise", "none.csv"]).failed(2, &["none.csv"]);
}
