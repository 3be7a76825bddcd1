//! The `atsdb` program, which the wheel ships inside the extension module.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program with its arguments, the first of which is its name; returns its exit code. `command` starts the
/// program as a new process.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>, command: Vec<String>) -> u8 {
    py.detach(|| atsdb_cli::run_as(&arguments, command))
}
