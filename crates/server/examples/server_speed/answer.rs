//! All rows of a table as an Arrow stream over HTTP: a time, two integers and a double.

use crate::served::Served;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The number of times that the rows are read. The first time is not measured.
const TIMES: u64 = 10;

pub(crate) fn run(rows: u64) {
    let served = Served::start();
    let mut client = served.connect();
    client
        .batch_execute("CREATE TABLE readings (time TIMESTAMPTZ, sensor BIGINT, value DOUBLE PRECISION, n BIGINT)")
        .unwrap();
    let insert = format!(
        "INSERT INTO readings SELECT to_timestamp(i), i % 1000, i * 0.5, i FROM generate_series(1, {rows}) AS g(i)"
    );
    client.batch_execute(&insert).unwrap();
    let byte_count = read(&served.http);
    println!("{rows} rows, {byte_count} bytes, {TIMES} times");
    let measured = served.measure(|| {
        for _ in 0..TIMES {
            assert_eq!(read(&served.http), byte_count);
        }
    });
    measured.print(rows * TIMES, "rows");
    measured.print(byte_count * TIMES, "bytes");
}

/// Reads all rows, and returns how many bytes they are.
fn read(address: &str) -> u64 {
    let mut stream = TcpStream::connect(address).unwrap();
    let path = "/api/sql?format=arrow&sql=SELECT+*+FROM+readings";
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let (mut buffer, mut byte_count) = (vec![0; 1 << 20], 0);
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return byte_count,
            read => byte_count += read as u64,
        }
    }
}
