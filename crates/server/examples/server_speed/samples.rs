//! Samples by remote write, version 1.0: 4,000 series, each with one sample in a request, as Prometheus sends them.

use crate::served::Served;

const SERIES: u64 = 4_000;

pub(crate) fn run(samples: u64, connections: u64) {
    let served = Served::start();
    let requests = samples / SERIES;
    let bodies: Vec<Vec<u8>> = (0..requests).map(body).collect();
    println!("{} samples, {connections} connections, {SERIES} samples a request", requests * SERIES);
    let headers = "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n\
                   X-Prometheus-Remote-Write-Version: 0.1.0\r\n";
    let measured = served.measure(|| served.post_all("/api/v1/write", headers, &bodies, connections));
    measured.print(requests * SERIES, "samples");
    let bytes = served.file_bytes() as f64 / (requests * SERIES) as f64;
    println!("{bytes:.1} bytes a sample in the store, before sealing");
}

/// A request with a sample of each series.
fn body(request: u64) -> Vec<u8> {
    let time = 1_700_000_000_000 + request * 15_000;
    let mut message = Vec::new();
    for series in 0..SERIES {
        let mut one = Vec::new();
        let host = format!("host-{}:9100", series / 40);
        let cpu = (series % 40).to_string();
        for (name, value) in [
            ("__name__", "node_cpu_seconds_total"),
            ("cpu", cpu.as_str()),
            ("instance", host.as_str()),
            ("job", "node"),
            ("mode", "user"),
        ] {
            let mut label = Vec::new();
            push_bytes(&mut label, 1, name.as_bytes());
            push_bytes(&mut label, 2, value.as_bytes());
            push_bytes(&mut one, 1, &label);
        }
        let mut sample = vec![1 << 3 | 1];
        sample.extend((request as f64 * 0.25 + series as f64).to_le_bytes());
        push_varint(&mut sample, 2 << 3);
        push_varint(&mut sample, time);
        push_bytes(&mut one, 2, &sample);
        push_bytes(&mut message, 1, &one);
    }
    snap::raw::Encoder::new().compress_vec(&message).unwrap()
}

/// A field of a protocol buffer with bytes.
fn push_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    push_varint(out, field << 3 | 2);
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}
