//! The rows of `tsbs`: the measurement `cpu` of TSBS's data for DevOps. Every ten seconds each host reports ten shares
//! of its processors' time in percent; ten tags describe the host.
//!
//! As there, a share starts anywhere from 0 to 100, walks by steps that are normally distributed with a deviation of
//! 1, stays within these bounds, and is reported as a whole number. Steps here are a quarter of the number of ones
//! among 64 random bits, less its mean: that has the same deviation and needs integers only.

use crate::generator::random::Random;
use arrow::array::{ArrayRef, DictionaryArray, Float64Array, RecordBatch, StringArray, TimestampSecondArray};
use arrow::datatypes::UInt8Type;
use std::sync::Arc;

/// Seconds between two reports of a host.
pub const INTERVAL_SECONDS: i64 = 10;
/// The first report: 2016-01-01T00:00:00Z, in seconds since the epoch.
pub const START_SECONDS: i64 = 1_451_606_400;
/// The maximum number of hosts.
pub const HOSTS_MAX: u64 = 100;
const HOSTS_MIN: u64 = 10;
/// With fewer reports of a host than this, six hours, there are fewer hosts.
const REPORTS: u64 = 2_160;

/// The metrics that a host reports.
pub const METRICS: [&str; 10] = [
    "usage_user",
    "usage_system",
    "usage_idle",
    "usage_nice",
    "usage_iowait",
    "usage_irq",
    "usage_softirq",
    "usage_steal",
    "usage_guest",
    "usage_guest_nice",
];
/// The tags of a host; the first is its name.
pub const TAGS: [&str; 10] = [
    "hostname",
    "region",
    "datacenter",
    "rack",
    "os",
    "arch",
    "team",
    "service",
    "service_version",
    "service_environment",
];

/// Regions, and how many data centres each has.
const REGIONS: [(&str, u64); 9] = [
    ("us-east-1", 5),
    ("us-west-1", 2),
    ("us-west-2", 3),
    ("eu-west-1", 3),
    ("eu-central-1", 2),
    ("ap-southeast-1", 2),
    ("ap-southeast-2", 2),
    ("ap-northeast-1", 2),
    ("sa-east-1", 3),
];
const SYSTEMS: [&str; 3] = ["Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"];
const ARCHITECTURES: [&str; 2] = ["x64", "x86"];
const TEAMS: [&str; 4] = ["SF", "NYC", "LON", "CHI"];
const ENVIRONMENTS: [&str; 3] = ["production", "staging", "test"];
const RACKS: u64 = 100;
const SERVICES: u64 = 20;
const VERSIONS: u64 = 2;

/// A share is kept in quarters of a percent.
const QUARTERS: i64 = 4;

/// The number of hosts in a table of this many rows.
pub fn hosts_of(rows: u64) -> u64 {
    (rows / REPORTS).clamp(HOSTS_MIN, HOSTS_MAX)
}

/// The name of a host.
pub fn host_name(host: u64) -> String {
    format!("host_{host}")
}

/// Makes reports, in the order of arrival: all hosts, then all hosts ten seconds later.
#[derive(Debug, Clone)]
pub struct HostsGenerator {
    steps: Random,
    /// Each host's tags, column by column.
    tags: [Arc<StringArray>; TAGS.len()],
    /// Each host's shares, in quarters of a percent.
    shares: Vec<[i64; METRICS.len()]>,
    report: i64,
    next: usize,
}

impl HostsGenerator {
    /// Creates the generator of a seed, for a table of this many rows.
    pub fn new(seed: u64, rows: u64) -> Self {
        let (mut random, hosts) = (Random::new(seed, 50), hosts_of(rows));
        let tags: Vec<[String; TAGS.len()]> = (0..hosts).map(|host| tags(host, &mut random)).collect();
        let share = |random: &mut Random| random.between(0, 100 * QUARTERS);
        Self {
            steps: Random::new(seed, 51),
            shares: (0..hosts).map(|_| std::array::from_fn(|_| share(&mut random))).collect(),
            tags: std::array::from_fn(|tag| {
                Arc::new(StringArray::from_iter_values(tags.iter().map(|host| host[tag].as_str())))
            }),
            report: 0,
            next: 0,
        }
    }

    /// The next rows, as a batch: the time, the tags, the shares. Tags are dictionary arrays, as a program that has
    /// few distinct ones keeps them.
    pub fn batch(&mut self, rows: usize) -> RecordBatch {
        let (mut times, mut hosts) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let mut shares: [Vec<f64>; METRICS.len()] = std::array::from_fn(|_| Vec::with_capacity(rows));
        for _ in 0..rows {
            times.push(START_SECONDS + self.report * INTERVAL_SECONDS);
            hosts.push(self.next as u8);
            for (share, column) in self.shares[self.next].iter_mut().zip(&mut shares) {
                let step = i64::from(self.steps.bits().count_ones()) - 32;
                *share = (*share + step).clamp(0, 100 * QUARTERS);
                column.push((*share / QUARTERS) as f64);
            }
            self.next += 1;
            if self.next == self.shares.len() {
                (self.next, self.report) = (0, self.report + 1);
            }
        }
        let mut columns: Vec<(&str, ArrayRef)> =
            vec![("time", Arc::new(TimestampSecondArray::from(times).with_timezone("UTC")))];
        for (name, values) in TAGS.iter().zip(&self.tags) {
            let keys = hosts.iter().copied().collect();
            columns.push((name, Arc::new(DictionaryArray::<UInt8Type>::new(keys, Arc::clone(values) as ArrayRef))));
        }
        for (name, values) in METRICS.iter().zip(shares) {
            columns.push((name, Arc::new(Float64Array::from(values))));
        }
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    }
}

fn tags(host: u64, random: &mut Random) -> [String; TAGS.len()] {
    let mut choice = |texts: &[&str]| texts[random.below(texts.len() as u64) as usize].to_owned();
    let texts = [SYSTEMS.as_slice(), ARCHITECTURES.as_slice(), TEAMS.as_slice(), ENVIRONMENTS.as_slice()];
    let [system, architecture, team, environment] = texts.map(&mut choice);
    let (region, centres) = REGIONS[random.below(REGIONS.len() as u64) as usize];
    let centre = format!("{region}{}", char::from(b'a' + random.below(centres) as u8));
    let mut number = |end| random.below(end).to_string();
    let [rack, service, version] = [RACKS, SERVICES, VERSIONS].map(&mut number);
    let [host, region] = [host_name(host), region.to_owned()];
    [host, region, centre, rack, system, architecture, team, service, version, environment]
}
