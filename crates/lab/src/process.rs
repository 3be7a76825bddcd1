//! Facts about processes and this machine, which Linux reports in `/proc`. On other systems they are unknown.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The machine a run was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The model of the processor.
    pub processor: String,
    /// The number of threads that can run at once.
    pub cores: usize,
    /// Main memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The operating system's kernel and its version.
    pub kernel: String,
}

impl Machine {
    /// Returns the machine on which this process runs.
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let unknown = || "unknown".to_owned();
        let processor = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown);
        let release = read("/proc/sys/kernel/osrelease");
        Self {
            processor,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: kibibytes(&read("/proc/meminfo"), "MemTotal"),
            kernel: format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned(),
        }
    }
}

/// The peak memory of this process since it started or since [`forget_memory_peak`].
pub(crate) fn memory_peak_bytes() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM")
}

/// Resets the peak. Where the system does not allow that, the peak is that of the whole run.
pub(crate) fn forget_memory_peak() {
    // 5 resets the peak resident set size (proc(5), clear_refs).
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Main memory, in bytes.
pub(crate) fn memory_bytes() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal")
}

/// Returns whether a process is running. A zombie process is not.
pub(crate) fn is_alive(process: u32) -> bool {
    match (Stat::of(process), Path::new("/proc/self").exists()) {
        (Some(stat), _) => stat.state != "Z",
        (None, has_proc) => !has_proc,
    }
}

/// A program that the path leads to.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The resources that several processes used together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// Time on processors.
    pub(crate) cpu_seconds: f64,
    /// The peak memory; shared memory is counted once.
    pub(crate) memory_peak_bytes: u64,
}

/// The resources that a process and its descendants have used so far. `None` if the system does not report them.
pub(crate) fn usage_of_tree(process: u32) -> Option<Usage> {
    let members = tree(process)?;
    let (mut ticks, mut own, mut shared) = (0, 0, 0);
    for member in &members {
        // One that ends meanwhile is in its parent's figures.
        let Some(stat) = Stat::of(*member) else { continue };
        ticks += stat.ticks;
        let status = fs::read_to_string(format!("/proc/{member}/status")).unwrap_or_default();
        let resident = kibibytes(&status, "VmHWM").unwrap_or(0);
        let common = kibibytes(&status, "RssShmem").unwrap_or(0);
        own += resident.saturating_sub(common);
        shared = shared.max(common);
    }
    Some(Usage { cpu_seconds: ticks as f64 / TICKS_PER_SECOND, memory_peak_bytes: own + shared })
}

/// The processor time of this process, in seconds.
pub(crate) fn cpu_seconds() -> Option<f64> {
    Stat::of(std::process::id()).map(|stat| stat.own_ticks as f64 / TICKS_PER_SECOND)
}

/// The running descendants of this process.
pub(crate) fn descendants() -> Vec<u32> {
    let own = std::process::id();
    tree(own).unwrap_or_default().into_iter().filter(|process| *process != own).collect()
}

/// Resets the peak of other processes, where that is allowed.
pub(crate) fn forget_memory_peak_of_tree(process: u32) {
    for member in tree(process).unwrap_or_default() {
        let _ = fs::write(format!("/proc/{member}/clear_refs"), "5");
    }
}

/// `USER_HZ`, which Linux fixes at 100 in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;
/// The unit in which processor time is counted.
pub(crate) const TICK_SECONDS: f64 = 1.0 / TICKS_PER_SECOND;

struct Stat {
    state: String,
    parent: u32,
    /// Includes those of ended children.
    ticks: u64,
    own_ticks: u64,
}

impl Stat {
    fn of(process: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name is in parentheses and may contain any character.
        let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
        let own_ticks = number(11)? + number(12)?;
        let ticks = own_ticks + number(13)? + number(14)?;
        Some(Self { state: (*fields.first()?).to_owned(), parent: number(1)? as u32, ticks, own_ticks })
    }
}

/// A process and all that it started, as far as they run.
fn tree(root: u32) -> Option<Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(stat) = Stat::of(process) {
            children.entry(stat.parent).or_default().push(process);
        }
    }
    let mut members = vec![root];
    let mut next = 0;
    while next < members.len() {
        members.extend(children.remove(&members[next]).unwrap_or_default());
        next += 1;
    }
    Some(members)
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let value = field(text, name)?;
    value.split_whitespace().next()?.parse::<u64>().ok().map(|count| count * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc_are_read_in_bytes() {
        assert_eq!(kibibytes("Name:\tx\nVmHWM:\t   12 kB\n", "VmHWM"), Some(12 * 1_024));
        assert_eq!(kibibytes("Name:\tx\n", "VmHWM"), None);
    }
}
