//! Fuzz targets for the bytes that clients send to a server: PostgreSQL's protocol, and Arrow streams.

use super::corpus::without_checksum;
use crate::target::Target;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::ipc::writer::StreamWriter;
use atsdb_server::fuzz::{read_arrow, read_copy, read_pg_frames, read_pg_parameters, read_pg_startup, read_scram};
use std::sync::Arc;

pub(super) fn all() -> Vec<Target> {
    vec![
        target("pg-startup", 20_000, startup_packets, read_pg_startup),
        target("pg-frames", 5_000, frames, read_pg_frames),
        target("pg-parameters", 5_000, parameters, read_pg_parameters),
        target("scram", 2_000, logins, read_scram),
        target("copy", 5_000, copies, read_copy),
        target("arrow-upload", 5_000, arrow_streams, read_arrow),
    ]
}

fn target(name: &'static str, test_count: u64, corpus: fn() -> Vec<Vec<u8>>, read: fn(&[u8])) -> Target {
    Target { name, test_count, corpus, reseal: without_checksum, read }
}

/// A login, a request for encryption, and a request to cancel.
fn startup_packets() -> Vec<Vec<u8>> {
    vec![
        b"\0\0\0\x1e\0\x03\0\0user\0me\0database\0air\0\0".to_vec(),
        b"\0\0\0\x08\x04\xd2\x16\x2f".to_vec(),
        b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x07\0\0\0\x09".to_vec(),
    ]
}

fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short frame");
    [[kind].as_slice(), &length.to_be_bytes(), body].concat()
}

fn frames() -> Vec<Vec<u8>> {
    let catalogue = b"SELECT c.relname FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'v') ORDER BY 1\0";
    let extended = [
        frame(b'P', b"s\0SELECT $1::int + $2\0\0\x02\0\0\0\x17\0\0\0\0"),
        frame(b'B', b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff\0\x01\0\x01"),
        frame(b'D', b"Pp\0"),
        frame(b'E', b"p\0\0\0\0\x0a"),
        frame(b'C', b"Ss\0"),
        frame(b'H', b""),
        frame(b'S', b""),
    ];
    let copied = [frame(b'd', b"1\tx\n"), frame(b'c', b""), frame(b'f', b"no\0")];
    vec![
        frame(b'Q', b"SELECT time, 'x' FROM t WHERE n = 1; COMMIT\0"),
        frame(b'Q', catalogue),
        extended.concat(),
        copied.concat(),
        frame(b'p', b"SCRAM-SHA-256\0\0\0\0\x03n,,"),
        frame(b'X', b""),
    ]
}

/// Numbers as the protocol writes them in binary.
fn numbers(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn parameters() -> Vec<Vec<u8>> {
    let texts = [
        "12",
        "-1.5e3",
        "t",
        "2024-03-01 08:00:00.5+00",
        "1 day 02:00:00",
        "{1,NULL,\"a b\"}",
        "\\x01ff",
        "123e4567-e89b-12d3-a456-426614174000",
    ];
    let texts = texts.map(|text| text.as_bytes().to_vec());
    let binary = [
        12_i64.to_be_bytes().to_vec(),
        1.5_f64.to_be_bytes().to_vec(),
        // An array of two integers, of which one is NULL.
        numbers(&[1, 1, 23, 2, 1, 4, 7, -1]),
        // 12.5 as a decimal: the number of its digits of base 10,000, the weight of the first, the sign, the scale.
        b"\0\x02\0\0\0\0\0\x01\0\x0c\x13\x88".to_vec(),
    ];
    texts.into_iter().chain(binary).collect()
}

/// Two messages of a client, each a line. The reader puts the number of the server after `r=`.
fn logins() -> Vec<Vec<u8>> {
    vec![
        b"n,,n=anna,r=abcdef\nc=biws,r=,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=".to_vec(),
        b"p=tls-server-end-point,,n=,r=abcdef\nc=cD10bHMtc2VydmVyLWVuZC1wb2ludCwsZW5k,r=,p=v0X8v3Bz2T0=".to_vec(),
    ]
}

/// Rows of COPY. The first byte chooses the format, and the second one the length of the pieces.
fn copies() -> Vec<Vec<u8>> {
    let text = b"2024-03-01 08:00:00\tab\\tc\t1\t1.5\tt\t\\\\x01ff\t2024-03-01\n\\N\tx\t\\N\t\\N\t\\N\t\\N\t\\N\n\\.\n";
    let csv = b"c1,c2,c3,c4,c5,c6,c7\n2024-03-01,\"a \"\"b\"\"\",1,1.5,true,\\x01,2024-03-01\n";
    let mut binary = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x07".to_vec();
    let fields: [&[u8]; 7] =
        [&[0, 2, 178, 81, 62, 208, 0, 0], b"ab", &[0, 1], &1.5_f64.to_be_bytes(), &[1], &[1, 255], &[0, 0, 34, 126]];
    for field in fields {
        binary.extend(u32::try_from(field.len()).expect("a short field").to_be_bytes());
        binary.extend(field);
    }
    binary.extend([0xff, 0xff]);
    vec![
        [b"\0\x07".as_slice(), text].concat(),
        [b"\x02\x03".as_slice(), csv].concat(),
        [b"\x04\xc8".as_slice(), &binary].concat(),
    ]
}

fn arrow_streams() -> Vec<Vec<u8>> {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("bc")]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(-3)]));
    let rows = RecordBatch::try_from_iter([("s", texts), ("n", numbers)]).expect("columns of one length");
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).expect("a stream");
    for _ in 0..2 {
        writer.write(&rows).expect("rows of the schema");
    }
    vec![writer.into_inner().expect("a whole stream")]
}
