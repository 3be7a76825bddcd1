//! Lines of line protocol, as in a known benchmark: 4,000 hosts report every ten seconds, with ten tags and ten
//! integers, which walk.

use crate::served::Served;
use std::fmt::Write as _;

const HOSTS: u64 = 4_000;

pub(crate) fn run(lines: u64, connections: u64, per_request: u64) {
    let served = Served::start();
    let bodies = bodies(lines, per_request);
    let byte_count: usize = bodies.iter().map(Vec::len).sum();
    println!(
        "{lines} lines of {} bytes, {connections} connections, {per_request} lines a request",
        byte_count as u64 / lines
    );
    let measured = served.measure(|| served.post_all("/write?db=d", "", &bodies, connections));
    measured.print(lines, "lines");
    measured.print(10 * lines, "values");
    println!("{:.1} bytes a line in the store, before sealing", served.file_bytes() as f64 / lines as f64);
}

fn bodies(lines: u64, per_request: u64) -> Vec<Vec<u8>> {
    let mut walks = vec![[50_u64; 10]; HOSTS as usize];
    let mut state = 7_u64;
    let names = ["user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];
    let mut bodies = Vec::new();
    let mut body = String::new();
    for line in 0..lines {
        let (host, step) = (line % HOSTS, line / HOSTS);
        let _ = write!(
            body,
            "cpu,hostname=host_{host},region=eu-central-{},datacenter=eu-central-{}a,rack={},os=Ubuntu16.10,arch=x64,\
             team=SF,service={},service_version={},service_environment=production ",
            host % 3,
            host % 3,
            host % 97,
            host % 19,
            host % 2
        );
        for (at, name) in names.iter().enumerate() {
            // A linear congruential step; its high bits are random enough.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let walk = &mut walks[host as usize][at];
            *walk = (*walk + (state >> 62)).saturating_sub(1).min(100);
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(body, "{comma}usage_{name}={walk}i");
        }
        let _ = writeln!(body, " {}", 1_451_606_400_000_000_000 + step * 10_000_000_000);
        if (line + 1) % per_request == 0 || line + 1 == lines {
            bodies.push(std::mem::take(&mut body).into_bytes());
        }
    }
    bodies
}
