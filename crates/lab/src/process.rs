//! What the system tells of this process and this machine. Linux tells it in `/proc`; elsewhere it is not known.

use serde::{Deserialize, Serialize};
use std::fs;

/// The machine a run was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The model of the processor.
    pub processor: String,
    /// How many threads run at once.
    pub cores: usize,
    /// Main memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The operating system's kernel and its version.
    pub kernel: String,
}

impl Machine {
    /// This one.
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

/// The most memory that this process has had at once since it started or since [`forget_memory_peak`].
pub(crate) fn memory_peak_bytes() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM")
}

/// Starts the peak anew. Where the system does not allow it, the peak stays that of the whole run.
pub(crate) fn forget_memory_peak() {
    // 5 resets the peak resident set size (proc(5), clear_refs).
    let _ = fs::write("/proc/self/clear_refs", "5");
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
