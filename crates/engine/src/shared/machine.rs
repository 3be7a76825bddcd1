//! The memory of the machine, from which defaults follow.

use std::fs;

/// Assumed where the system does not say how much memory there is.
const BYTES_ASSUMED: usize = 4 << 30;
/// Files in which Linux states the limit of a container, of its two kinds of control groups.
const LIMITS: [&str; 2] = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// The memory that this process may use, in bytes: that of the machine, or of the container if it has less.
pub fn machine_memory_bytes() -> usize {
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_bytes(&text));
    let limits = LIMITS.iter().filter_map(|file| limit_bytes(&fs::read_to_string(file).ok()?));
    limits.chain(of_machine).min().unwrap_or(BYTES_ASSUMED)
}

fn total_bytes(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1 << 10)
}

/// `None` for `max`, which is no limit.
fn limit_bytes(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_read_in_bytes() {
        assert_eq!(total_bytes("MemFree: 1 kB\nMemTotal:   16384 kB\n"), Some(16 << 20));
        assert_eq!(total_bytes("nothing"), None);
        assert_eq!(limit_bytes("536870912\n"), Some(512 << 20));
        assert_eq!(limit_bytes("max\n"), None);
        assert!(machine_memory_bytes() > 0);
    }
}
