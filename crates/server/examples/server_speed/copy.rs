//! Rows by COPY in binary over one connection: a time, two texts and ten doubles.

use crate::served::Served;
use std::io::Write;

/// The rows that are encoded, and sent again and again.
const ROWS: u64 = 100_000;
const DOUBLES: u16 = 10;
const SECONDS_TO_2000: u64 = 946_684_800;

pub(crate) fn run(rows: u64) {
    let served = Served::start();
    let mut client = served.connect();
    let doubles: Vec<String> = (0..DOUBLES).map(|number| format!("v{number} DOUBLE PRECISION")).collect();
    let columns = doubles.join(", ");
    client
        .batch_execute(&format!("CREATE TABLE readings (time TIMESTAMPTZ, host TEXT, region TEXT, {columns})"))
        .unwrap();
    let (body, times) = (body(), rows.div_ceil(ROWS));
    println!("{} rows of {} bytes", times * ROWS, body.len() as u64 / ROWS);
    let measured = served.measure(|| {
        let mut writer = client.copy_in("COPY readings FROM STDIN (FORMAT binary)").unwrap();
        writer.write_all(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0").unwrap();
        for _ in 0..times {
            for part in body.chunks(1 << 16) {
                writer.write_all(part).unwrap();
            }
        }
        writer.write_all(&(-1_i16).to_be_bytes()).unwrap();
        assert_eq!(writer.finish().unwrap(), times * ROWS);
    });
    measured.print(times * ROWS, "rows");
}

/// Rows as COPY writes them in binary.
fn body() -> Vec<u8> {
    let mut out = Vec::new();
    for row in 0..ROWS {
        out.extend_from_slice(&(3 + DOUBLES).to_be_bytes());
        let microseconds = (1_700_000_000 - SECONDS_TO_2000 + row) * 1_000_000;
        push_field(&mut out, &microseconds.to_be_bytes());
        push_field(&mut out, format!("host-{}", row % 1_000).as_bytes());
        push_field(&mut out, format!("region-{}", row % 7).as_bytes());
        for number in 0..DOUBLES {
            push_field(&mut out, &((row * u64::from(number + 1) % 1_000) as f64 / 8.0).to_be_bytes());
        }
    }
    out
}

fn push_field(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
    out.extend_from_slice(bytes);
}
