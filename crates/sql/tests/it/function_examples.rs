//! Runs the examples of functions. Each answers what the list of functions says, and an alias answers what its original
//! does.

use crate::render::printed_lines;
use crate::scripts::answer_in;
use crate::stores::session;
use atsdb_sql::{FunctionInfo, functions};

#[test]
fn every_function_has_an_example_that_answers_what_the_list_says() {
    let functions = functions().unwrap();
    let (session, _directory) = session("memory");
    let mut failures = Vec::new();
    // Functions that read files are shown with files, in the page about queries.
    let reads_files = |function: &&FunctionInfo| function.name.starts_with("read_");
    for function in functions.iter().filter(|function| !reads_files(function)) {
        let Some((sql, wanted)) = example(function, &functions) else {
            failures.push(format!("{} has no example", function.name));
            continue;
        };
        match answer_in(&session, &sql, printed_lines) {
            // The first line has the names of the columns.
            Ok(found) if found.get(1..) == Some(wanted) => {}
            found => failures.push(format!("{sql}\nfound {found:?}\nwanted {wanted:?}")),
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
    assert!(functions.len() > 400);
}

/// The statements of a function's example and the rows of their answer. An alias without an example has that of its
/// original.
fn example<'a>(function: &'a FunctionInfo, functions: &'a [FunctionInfo]) -> Option<(String, &'a [String])> {
    if let Some(example) = &function.example {
        return Some((example.statements(), &example.rows[..]));
    }
    let original = function.alias_of()?;
    let of_original = functions.iter().find(|other| other.name == original && other.kind == function.kind)?;
    let example = of_original.example.as_ref()?;
    let statements = example.statements();
    let renamed = renamed(&statements, original, &function.name);
    (renamed != statements).then_some((renamed, &example.rows[..]))
}

/// The statements with calls of another function.
fn renamed(sql: &str, from: &str, to: &str) -> String {
    let (mut renamed, mut rest) = (String::new(), sql);
    while let Some((before, after)) = rest.split_once(&format!("{from}(")) {
        let is_end_of_name = before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        renamed.push_str(&format!("{before}{}(", if is_end_of_name { from } else { to }));
        rest = after;
    }
    renamed + rest
}

#[test]
fn names_are_replaced_where_they_are_called() {
    assert_eq!(renamed("SELECT avg(v), array_avg(avg(v))", "avg", "mean"), "SELECT mean(v), array_avg(mean(v))");
}
