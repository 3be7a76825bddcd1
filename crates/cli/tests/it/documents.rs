//! Runs the commands of the README, the tutorial and the how-tos: every fence marked `sh`, from top to bottom in one
//! folder. If a fence marked `text` follows, it is compared with the output; one marked `output` has times and sizes in
//! it and is not compared. `ATSDB_DOCUMENTS_WRITE=1` rewrites both.

use crate::support::Case;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_command_of_the_documents_runs_and_answers_what_the_page_says() {
    let is_written = std::env::var_os("ATSDB_DOCUMENTS_WRITE").is_some();
    let mut failures = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let (written, found) = run_page(&text);
        failures.extend(found.iter().map(|failure| format!("{}: {failure}", page.display())));
        if is_written {
            fs::write(&page, written).expect("a page");
        }
    }
    assert!(failures.is_empty() || is_written, "\n{}", failures.join("\n\n"));
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let howtos =
        fs::read_dir(root.join("docs/howto")).expect("the how-tos").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> = howtos.chain([root.join("README.md"), root.join("docs/tutorial.md")]).collect();
    pages.sort();
    pages
}

/// Returns the page with the real output of its commands, and a list of failures.
fn run_page(text: &str) -> (String, Vec<String>) {
    let case = Case::new();
    std::os::unix::fs::symlink(Path::new(ROOT).join("examples"), case.path("examples")).expect("a link");
    let (mut written, mut failures, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once("```sh\n") {
        let (commands, after) = after.split_once("```\n").expect("the end of a fence");
        written.push_str(&format!("{before}```sh\n{commands}```\n"));
        let found = run(&case, commands).unwrap_or_else(|failure| {
            failures.push(format!("{failure}\n{commands}"));
            String::new()
        });
        rest = after;
        for kind in ["text", "output"] {
            let shown = after.strip_prefix(&format!("\n```{kind}\n")).and_then(|after| after.split_once("```\n"));
            let Some((wanted, after)) = shown else { continue };
            if kind == "text" && wanted != found {
                failures.push(format!("{commands}answers\n{found}and not\n{wanted}"));
            }
            written.push_str(&format!("\n```{kind}\n{found}```\n"));
            rest = after;
        }
    }
    (written + rest, failures)
}

/// Returns both output streams of the commands, without the name of the folder and without trailing blanks.
fn run(case: &Case, commands: &str) -> Result<String, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_atsdb")).parent().expect("a folder");
    let mut path = OsString::from(program);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let folder = case.path("");
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &format!("exec 2>&1\n{commands}")]).current_dir(&folder).env("PATH", path);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ATSDB_")) {
        shell.env_remove(name);
    }
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        shell.env_remove(name);
    }
    shell.env("HOME", &folder).env("NO_COLOR", "1").stdin(Stdio::null());
    let output = shell.output().map_err(|error| error.to_string())?;
    let text =
        String::from_utf8_lossy(&output.stdout).replace(folder.to_string_lossy().trim_end_matches('/'), "/home/me");
    let lines: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    if output.status.success() { Ok(lines) } else { Err(format!("{}\n{lines}", output.status)) }
}
