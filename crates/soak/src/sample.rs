//! Samples: memory and open files of the workers, sizes of the files, and the reports of the workers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The figures of one moment, by name. All samples of a run have the same names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample(pub(crate) BTreeMap<String, f64>);

impl Sample {
    pub(crate) fn put(&mut self, name: impl Into<String>, value: f64) {
        self.0.insert(name.into(), value);
    }

    /// Adds a process's memory in MiB and its number of open files, if the system reports them.
    pub(crate) fn put_process(&mut self, worker: &str, id: u32) {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 = resident.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0);
        let files = fs::read_dir(format!("/proc/{id}/fd")).map_or(0, Iterator::count);
        self.put(format!("memory {worker}"), kib / 1_024.0);
        self.put(format!("files {worker}"), files as f64);
    }

    /// Adds the sizes in MiB of the store, its log, all other files next to it, and its copies.
    pub(crate) fn put_folder(&mut self, folder: &Path) {
        let mib =
            |name: &str| fs::metadata(folder.join(name)).map_or(0, |found| found.len()) as f64 / f64::from(1 << 20);
        self.put("disk store", mib("soak.db"));
        self.put("disk log", mib("soak.db-wal"));
        self.put("disk log index", mib("soak.db-shm"));
        self.put("disk copy", mib("copy.db"));
        self.put("disk copy log", mib("copy.db-wal"));
        self.put("disk archive", bytes_below(&folder.join("archive")) as f64 / f64::from(1 << 20));
        let known = ["soak.db", "soak.db-wal", "soak.db-shm", "copy.db", "copy.db-wal"];
        let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let is_other =
            |name: &String| name.contains(".db") && !name.starts_with("restored.db") && !known.contains(&name.as_str());
        let others = names.filter_map(|name| name.into_string().ok()).filter(is_other);
        self.put("disk others", others.map(|name| mib(&name)).sum());
    }

    /// Adds the median and the 99th percentile of the times of an operation, in milliseconds, and their number. Without
    /// any times, no figure is added.
    pub(crate) fn put_times(&mut self, what: &str, mut micros: Vec<u64>) {
        micros.sort_unstable();
        let at = |share: usize| micros.get((micros.len() * share / 100).min(micros.len().saturating_sub(1)));
        let ms = |found: Option<&u64>| found.map_or(f64::NAN, |micros| *micros as f64 / 1_000.0);
        self.put(format!("p50 {what}"), ms(at(50)));
        self.put(format!("p99 {what}"), ms(at(99)));
        self.put(format!("count {what}"), micros.len() as f64);
    }

    /// Adds the load of the machine.
    pub(crate) fn put_load(&mut self) {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = text.split(' ').next().and_then(|word| word.parse().ok());
        self.put("load", load.unwrap_or(f64::NAN));
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_below(&entry.path()),
        found => found.map_or(0, |found| found.len()),
    };
    entries.map(bytes).sum()
}

/// Returns samples as CSV: their names, then a line for each.
pub(crate) fn to_csv(samples: &[Sample]) -> String {
    let Some(first) = samples.first() else { return String::new() };
    let names: Vec<&str> = first.0.keys().map(String::as_str).collect();
    let mut text = names.join(",") + "\n";
    for sample in samples {
        let value = |value: &f64| if value.is_nan() { String::new() } else { format!("{value:.3}") };
        text += &(sample.0.values().map(value).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

/// Reads the output of [`to_csv`].
pub(crate) fn from_csv(text: &str) -> Vec<Sample> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let sample = |line: &str| {
        let values = line.split(',').map(|word| word.parse().unwrap_or(f64::NAN));
        Sample(names.iter().map(|name| (*name).to_owned()).zip(values).collect())
    };
    lines.map(sample).collect()
}
