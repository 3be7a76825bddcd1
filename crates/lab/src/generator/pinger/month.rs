//! The rows for a seed: which host pings which, when, and the replies.

use crate::generator::random::Random;
use atsdb::time::DAY_SECONDS;
use std::collections::HashSet;

/// Rows of `metaData`.
pub const META_ROWS: usize = 210;
/// Rows of `data_200112`.
pub const DATA_ROWS: usize = 325_720;
/// The first second of December 2001, UTC.
pub const START_SECONDS: i64 = 1_007_164_800;

const DAYS: i64 = 31;
const STEP_SECONDS: i64 = 1_800;
const STEPS: i64 = DAYS * DAY_SECONDS / STEP_SECONDS;
const PACKET_SIZES: [i32; 2] = [100, 1_000];
const PINGS: u64 = 10;

/// The sources, and how many destinations each has. The first is pinged by all others.
const SOURCES: [(&str, usize); 22] = [
    ("slac.stanford.edu", 7),
    ("bnl.gov", 9),
    ("hep.net", 9),
    ("fnal.gov", 5),
    ("cern.ch", 5),
    ("desy.de", 5),
    ("rl.ac.uk", 5),
    ("anl.gov", 4),
    ("arm.gov", 4),
    ("carleton.ca", 4),
    ("cmu.edu", 4),
    ("cnaf.infn.it", 4),
    ("dl.ac.uk", 4),
    ("ifh.de", 4),
    ("in2p3.fr", 4),
    ("jlab.org", 4),
    ("kek.jp", 4),
    ("lbl.gov", 4),
    ("ornl.gov", 4),
    ("triumf.ca", 4),
    ("umd.edu", 4),
    ("wisc.edu", 4),
];

/// Hosts that only answer.
const OTHER_HOSTS: [&str; 10] = [
    "caltech.edu",
    "ihep.ac.cn",
    "itep.ru",
    "mit.edu",
    "nikhef.nl",
    "tifr.res.in",
    "ucl.ac.uk",
    "unam.mx",
    "usp.br",
    "yale.edu",
];

/// The sources that report more than round trips.
const DETAILED: [&str; 2] = ["hep.net", "umd.edu"];

/// A row of `metaData`: who pings whom, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaRow {
    /// The number of the pair, from 1.
    pub meta_id: i32,
    /// The host that sends the pings.
    pub ip_name_src: &'static str,
    /// The host that answers.
    pub ip_name_dst: &'static str,
    /// Bytes of a packet: 100 or 1,000.
    pub packet_size: i32,
    /// Round trips rise from here, in microseconds.
    base_us: i64,
    /// Seconds after the full step.
    offset_seconds: i64,
    detailed: bool,
}

/// A row of `data_200112`. Times of packets are in microseconds; the table has milliseconds with three digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataRow {
    /// The number of the pair in `metaData`.
    pub meta_id: i32,
    /// The time in seconds since the epoch.
    pub timestamp: i64,
    /// minRtt, meanRtt, medianRtt, maxRtt; `None` if no packet came back.
    pub round_trips_us: Option<[i64; 4]>,
    /// Further values, which only two sources report.
    pub detail: Option<Detail>,
}

/// The columns that are mostly NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// minIpd, meanIpd, maxIpd, iqrIpd: how far the distance between packets changed. None when no packet came back.
    pub distances_us: Option<[i64; 4]>,
    /// The number of packets that arrived twice.
    pub duplicates: i32,
    /// The number of packets that arrived out of order.
    pub out_of_order: i32,
    /// Packets lost after a lost one, in percent.
    pub conditional_loss_percent: i32,
    /// Packets lost, in percent.
    pub loss_percent: i32,
    /// The round trip of each packet that came back.
    pub round_trips_us: Vec<i64>,
    /// The number of each packet that came back, from 1.
    pub sequence_numbers: Vec<i32>,
}

/// The month of a seed.
#[derive(Debug, Clone)]
pub struct Pinger {
    meta: Vec<MetaRow>,
    /// Time and position in `meta` of each data row, by time.
    schedule: Vec<(i64, u16)>,
    seed: u64,
}

impl Pinger {
    /// The month of a seed. The counts of rows are the same for every seed.
    pub fn new(seed: u64) -> Self {
        let meta = meta_rows(&mut Random::new(seed, 10));
        let schedule = schedule(&meta, &mut Random::new(seed, 11));
        Self { meta, schedule, seed }
    }

    /// The rows of `metaData`, by number.
    pub fn meta_rows(&self) -> &[MetaRow] {
        &self.meta
    }

    /// The rows of `data_200112`, by time.
    pub fn data_rows(&self) -> impl Iterator<Item = DataRow> {
        let mut random = Random::new(self.seed, 12);
        self.schedule.iter().map(move |(time, meta)| data_row(*time, &self.meta[usize::from(*meta)], &mut random))
    }
}

fn meta_rows(random: &mut Random) -> Vec<MetaRow> {
    let mut meta = Vec::with_capacity(META_ROWS);
    let hosts: Vec<&'static str> = SOURCES.iter().map(|(host, _)| *host).chain(OTHER_HOSTS).collect();
    for (source, destination_count) in SOURCES {
        let mut destinations = Vec::with_capacity(destination_count);
        if source != hosts[0] {
            destinations.push(hosts[0]);
        }
        while destinations.len() < destination_count {
            let host = hosts[random.below(hosts.len() as u64) as usize];
            if host != source && !destinations.contains(&host) {
                destinations.push(host);
            }
        }
        for destination in destinations {
            let base_us = random.between(1_500, 20_000) * random.between(1, 12);
            let offset_seconds = random.between(0, 599);
            for packet_size in PACKET_SIZES {
                let late = i64::from(packet_size == PACKET_SIZES[1]) * 30;
                meta.push(MetaRow {
                    meta_id: meta.len() as i32 + 1,
                    ip_name_src: source,
                    ip_name_dst: destination,
                    packet_size,
                    base_us: base_us + i64::from(packet_size) * 3 / 2,
                    offset_seconds: offset_seconds + late,
                    detailed: DETAILED.contains(&source),
                });
            }
        }
    }
    meta
}

/// All measurement times, without the missing ones.
fn schedule(meta: &[MetaRow], random: &mut Random) -> Vec<(i64, u16)> {
    let mut planned = Vec::new();
    for step in 0..STEPS {
        for (position, row) in meta.iter().enumerate() {
            let halves: &[i64] = if row.ip_name_src == SOURCES[0].0 { &[0, STEP_SECONDS / 2] } else { &[0] };
            for half in halves {
                planned.push((step * STEP_SECONDS + half + row.offset_seconds, position as u16));
            }
        }
    }
    let missing = outages(meta, &planned, planned.len() - DATA_ROWS, random);
    planned.retain(|planned_row| !missing.contains(planned_row));
    for (time, _) in &mut planned {
        *time += START_SECONDS + random.between(0, 4);
    }
    planned.sort_unstable();
    planned
}

/// Sources fail, one after another, for half an hour to a day, until this many rows are missing.
fn outages(meta: &[MetaRow], planned: &[(i64, u16)], count: usize, random: &mut Random) -> HashSet<(i64, u16)> {
    let mut missing = HashSet::with_capacity(count);
    while missing.len() < count {
        let source = SOURCES[random.below(SOURCES.len() as u64) as usize].0;
        let first = random.between(0, STEPS - 1) * STEP_SECONDS;
        let end = first + random.between(1, 48) * STEP_SECONDS;
        let during = planned.iter().filter(|(time, position)| {
            (first..end).contains(time) && meta[usize::from(*position)].ip_name_src == source
        });
        for planned_row in during {
            if missing.len() < count {
                missing.insert(*planned_row);
            }
        }
    }
    missing
}

fn data_row(time: i64, meta: &MetaRow, random: &mut Random) -> DataRow {
    let packets = packets(time, meta, random);
    let mut sorted: Vec<i64> = packets.iter().map(|(_, round_trip_us)| *round_trip_us).collect();
    sorted.sort_unstable();
    let round_trips_us = (!sorted.is_empty()).then(|| {
        let (last, middle) = (sorted.len() - 1, sorted.len() / 2);
        let mean = sorted.iter().sum::<i64>() / sorted.len() as i64;
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[middle]) / 2;
        [sorted[0], mean, median, sorted[last]]
    });
    let detail = meta.detailed.then(|| detail(&packets, random));
    DataRow { meta_id: meta.meta_id, timestamp: time, round_trips_us, detail }
}

/// Number and round trip of each packet that came back. Networks are busier by day, and occasionally a packet is
/// delayed.
fn packets(time: i64, meta: &MetaRow, random: &mut Random) -> Vec<(i32, i64)> {
    let hour = time / 3_600 % 24;
    let busy_us = (12 - (hour - 14).abs().min(12)) * meta.base_us / 200;
    let lossy = random.chance(1, 30);
    let dead = random.chance(1, 400);
    (1..=PINGS as i32)
        .filter_map(|number| {
            let wait_us = random.below(meta.base_us as u64 / 50 + 200) as i64;
            let burst_us = if random.chance(1, 60) { random.below(meta.base_us as u64) as i64 } else { 0 };
            let lost = dead || (lossy && random.chance(1, 5));
            (!lost).then_some((number, meta.base_us + busy_us + wait_us + burst_us))
        })
        .collect()
}

fn detail(packets: &[(i32, i64)], random: &mut Random) -> Detail {
    let mut changes: Vec<i64> = packets.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    changes.sort_unstable();
    let distances_us = (!changes.is_empty()).then(|| {
        let quarter = changes.len() / 4;
        let mean = changes.iter().sum::<i64>() / changes.len() as i64;
        let middle_half = changes[changes.len() - 1 - quarter] - changes[quarter];
        [changes[0], mean, changes[changes.len() - 1], middle_half]
    });
    let sequence_numbers: Vec<i32> = packets.iter().map(|(number, _)| *number).collect();
    let lost: Vec<i32> = (1..=PINGS as i32).filter(|number| !sequence_numbers.contains(number)).collect();
    let again = lost.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    Detail {
        distances_us,
        duplicates: i32::from(random.chance(1, 2_000)),
        out_of_order: i32::from(random.chance(1, 1_000)),
        conditional_loss_percent: (100 * again).checked_div(lost.len()).unwrap_or(0) as i32,
        loss_percent: lost.len() as i32 * 100 / PINGS as i32,
        round_trips_us: packets.iter().map(|(_, round_trip_us)| *round_trip_us).collect(),
        sequence_numbers,
    }
}
