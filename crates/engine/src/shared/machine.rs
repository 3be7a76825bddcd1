//! The memory of the machine, from which defaults follow.

use std::fs;
use std::path::{Path, PathBuf};

/// The assumed memory, if the system does not report how much there is.
const BYTES_ASSUMED: usize = 4 << 30;
/// The folders in which Linux shows its control groups, each with the name of the file that states a group's limit: of
/// version 2, then of version 1.
const GROUPS: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];

/// The memory that this process may use, in bytes: that of the machine, or the limit of its container or service if
/// that is less.
pub fn machine_memory_bytes() -> usize {
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_bytes(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|file| limit_bytes(&fs::read_to_string(file).ok()?));
    // Version 1 states a limit of nearly 2^63 bytes where there is none.
    limits.fold(of_machine.unwrap_or(BYTES_ASSUMED), usize::min)
}

fn total_bytes(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let bytes = line.split_whitespace().next()?.parse::<usize>().ok()?.checked_mul(1 << 10);
    bytes.filter(|bytes| *bytes > 0)
}

/// The files that may state a limit: for the groups of a process, which are given as `/proc/self/cgroup` lists them,
/// and for all groups around these. Some do not exist: in a container the list may name groups as they are outside of
/// it, and the container's own group is the root.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    // A line is the number of a hierarchy, its controllers, which are none in version 2, and the path of a group.
    let lines = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (mut unified, mut of_memory) = ("", "");
    for (controllers, group) in lines {
        if controllers.is_empty() {
            unified = group;
        } else if controllers.split(',').any(|controller| controller == "memory") {
            of_memory = group;
        }
    }
    let mut files = Vec::new();
    for ((root, file), group) in GROUPS.into_iter().zip([unified, of_memory]) {
        let groups = Path::new(group.trim_start_matches('/')).ancestors();
        files.extend(groups.map(|group| Path::new(root).join(group).join(file)));
    }
    files
}

/// `None` for `max`, which is not a limit.
fn limit_bytes(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_read_in_bytes() {
        assert_eq!(total_bytes("MemFree: 1 kB\nMemTotal:   16384 kB\n"), Some(16 << 20));
        for text in
            ["", "nothing", "MemTotal:\n", "MemTotal: -1 kB", "MemTotal: 0 kB", "MemTotal: 18446744073709551615 kB"]
        {
            assert_eq!(total_bytes(text), None, "{text}");
        }
        assert_eq!(limit_bytes("536870912\n"), Some(512 << 20));
        for text in ["", "max\n", "0\n", "-1\n", "99999999999999999999\n"] {
            assert_eq!(limit_bytes(text), None, "{text}");
        }
        assert!(machine_memory_bytes() > 0);
    }

    #[test]
    fn limits_of_all_groups_around_the_process_are_read() {
        let files = |groups: &str| -> Vec<String> {
            limit_files(groups).into_iter().map(|file| file.display().to_string()).collect()
        };
        let roots = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        for groups in ["", "0::/\n", "nonsense\n1:cpu:/a\n", "4:memory:/\n0::/\n"] {
            assert_eq!(files(groups), roots, "{groups}");
        }
        let service = "/sys/fs/cgroup/system.slice/atsdb.service/memory.max";
        let files_of_service = [service, "/sys/fs/cgroup/system.slice/memory.max", roots[0], roots[1]];
        assert_eq!(files("0::/system.slice/atsdb.service\n"), files_of_service);
        let container = "/sys/fs/cgroup/memory/docker/a:b/memory.limit_in_bytes";
        let files_of_container = [roots[0], container, "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", roots[1]];
        assert_eq!(files("5:cpu:/c\n4:hugetlb,memory:/docker/a:b\n0::/\n"), files_of_container);
    }
}
