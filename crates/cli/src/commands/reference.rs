//! `docs/reference/cli.md`, from the same declaration as `--help`.

use crate::args::Cli;
use clap::{Command, CommandFactory};

const LEAD: &str = "\
# The command line

Made by `atsdb man --reference`; a test compares it with what the program says.

Results go to stdout, everything else to stderr. NULL is empty in csv and tsv (empty text is `\"\"`), `NULL` in table and
markdown, `null` in json and jsonl. Times are ISO 8601 with as many digits of a second as they need, and `Z`; floats are
the shortest text that reads back to the same value, `NaN`, `inf` and `-inf` (texts in JSON); integers are exact; binary
is `\\x` and hexadecimal digits. Parquet has no seconds: a TIMESTAMP(0) is written in milliseconds. Arrow is a file with
`-o`, a stream on stdout. `--format` is table where nothing else is said, also in a pipe.
";

/// The whole page.
pub(super) fn page() -> String {
    let mut program = Cli::command().term_width(100);
    program.build();
    let mut page = LEAD.to_owned();
    add(&mut page, &mut program, "atsdb", 2);
    page
}

fn add(page: &mut String, command: &mut Command, name: &str, level: usize) {
    let help = command.clone().render_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n{} {name}\n\n```text\n{}\n```\n", "#".repeat(level), help.join("\n").trim_end()));
    for verb in command.get_subcommands_mut() {
        let name = format!("{name} {}", verb.get_name());
        add(page, verb, &name, 2);
    }
}
