//! The file of the shell's history: `atsdb/history` in the XDG state folder.

use std::env::var_os;
use std::path::PathBuf;

/// The path of the file. Its folder is created. Returns `None` if that is not possible; the shell then runs without a
/// history.
pub(super) fn file() -> Option<PathBuf> {
    let absolute = |variable: &str| var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    let folder = state.join("atsdb");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}
