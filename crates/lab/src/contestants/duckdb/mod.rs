//! DuckDB through its program, behind a pipe: it reads statements and answers in lines of JSON. Bulk rows are passed as
//! Parquet files, which is the fastest interface of the program; the library's appender, which passes rows in memory,
//! would avoid that. It has only one tier: a commit is in its log, and the log is on disk.

mod pipe;
mod session;

use crate::contestant::{Contestant, Session, Workspace};
use crate::failure::Failure;
use crate::process;
use crate::server::ServerUrls;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that may name the program.
const VARIABLE: &str = "ATSDB_LAB_DUCKDB";

/// DuckDB.
pub(crate) struct Duckdb;

/// The program: the one that the variable names, or else the one on the path, or else the one in the folders of its
/// installers.
fn program() -> Result<PathBuf, Failure> {
    let folder = |variable: &str, rest: &str| std::env::var_os(variable).map(|path| PathBuf::from(path).join(rest));
    let named = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|path| path.is_file());
    let found = named.or_else(|| process::on_path("duckdb")).or_else(|| {
        let usual =
            [("VIRTUAL_ENV", "bin/duckdb"), ("HOME", ".local/bin/duckdb"), ("HOME", ".duckdb/cli/latest/duckdb")];
        usual.into_iter().filter_map(|(variable, rest)| folder(variable, rest)).find(|path| path.is_file())
    });
    let install = || Failure::cannot(format!("pip install duckdb-cli, or set {VARIABLE} to the program"));
    found.map(|path| without_wrapper(&path)).ok_or_else(install)
}

/// The real program for a path. pip installs a script on the path, which starts Python and then the program next to it.
fn without_wrapper(path: &Path) -> PathBuf {
    let Some(root) = path.canonicalize().ok().and_then(|path| Some(path.parent()?.parent()?.to_owned())) else {
        return path.to_owned();
    };
    let pythons = std::fs::read_dir(root.join("lib")).into_iter().flatten().flatten();
    let programs = pythons.map(|python| python.path().join("site-packages/duckdb_cli/duckdb"));
    programs.into_iter().find(|program| program.is_file()).unwrap_or_else(|| path.to_owned())
}

impl Contestant for Duckdb {
    fn name(&self) -> &'static str {
        "duckdb"
    }

    fn summary(&self) -> &'static str {
        "DuckDB's program behind a pipe, loaded from Parquet files"
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        let output = Command::new(program()?).arg("--version").output().map_err(Failure::broken)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(format!("DuckDB {}", text.split_whitespace().next().unwrap_or("unknown").trim_start_matches('v')))
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::DuckdbSession::open(&program()?, workspace)?))
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a program of its own, whose start is not timed"))
    }
}
