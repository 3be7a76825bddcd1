//! Requests of remote write, complete and truncated.

use atsdb_prom::remote::{MetricKind, WriteVersion, compress, decode_write, decompress};

/// `requests_total{code="200"}` with the value 1 at one second, a histogram, an exemplar, and metadata.
fn version_2() -> Vec<u8> {
    let mut body = Vec::new();
    for symbol in ["", "__name__", "requests_total", "code", "200", "How many."] {
        body.extend([0x22, symbol.len() as u8]);
        body.extend(symbol.as_bytes());
    }
    let mut series = b"\x0a\x04\x01\x02\x03\x04\x12\x0c\x09".to_vec();
    series.extend(1.0_f64.to_le_bytes());
    series.extend(b"\x10\xe8\x07\x1a\x00\x22\x00\x2a\x04\x08\x01\x18\x05");
    body.extend([0x2a, series.len() as u8]);
    body.extend(series);
    body
}

/// The same in version 1.
fn version_1() -> Vec<u8> {
    let mut body = b"\x0a\x38\x0a\x1a\x0a\x08__name__\x12\x0erequests_total\x0a\x0b\x0a\x04code\x12\x03200".to_vec();
    body.extend(b"\x12\x0c\x09");
    body.extend(1.0_f64.to_le_bytes());
    body.extend(b"\x10\xe8\x07\x1a\x00\x22\x00\x1a\x1d\x08\x01\x12\x0erequests_total\x22\x09How many.");
    body[1] = (body.len() - 2 - 31) as u8;
    body
}

#[test]
fn both_versions_say_the_same() {
    for (version, body) in [(WriteVersion::V1, version_1()), (WriteVersion::V2, version_2())] {
        let request = decode_write(&body, version, 1 << 20).unwrap();
        assert_eq!(request.samples.series().collect::<Vec<_>>(), ["requests_total{code=\"200\"}"], "{version:?}");
        assert_eq!(request.samples.iter().collect::<Vec<_>>(), [(1000, 0, 1.0)]);
        // An empty message is a histogram without observations.
        assert_eq!((request.histograms.len(), request.exemplars.len()), (1, 1));
        let [about] = request.metadata.as_slice() else { panic!("{:?}", request.metadata) };
        assert_eq!((about.metric.as_str(), about.kind), ("requests_total", MetricKind::Counter));
        assert_eq!(about.help, "How many.");
        assert_eq!(request.samples.to_batch().unwrap().num_rows(), 1);
    }
}

#[test]
fn a_body_that_is_cut_off_inside_a_field_is_refused() {
    let body = version_2();
    let whole: Vec<usize> =
        (0..=body.len()).filter(|end| decode_write(&body[..*end], WriteVersion::V2, 1 << 20).is_ok()).collect();
    // The body may end after each field: six symbols and the series.
    assert_eq!(whole.len(), 8, "{whole:?}");
    let squeezed = compress(&body).unwrap();
    for end in 0..squeezed.len() {
        assert!(decompress(&squeezed[..end], 1 << 20).is_err(), "{end}");
    }
    assert_eq!(decompress(&squeezed, body.len()).unwrap(), body);
    assert_eq!(decompress(&squeezed, body.len() - 1).unwrap_err().status(), 413);
}

#[test]
fn a_small_body_that_names_a_long_text_often_is_refused() {
    let long = "x".repeat(10_000);
    let mut body = Vec::new();
    for symbol in ["", "__name__", "m", "a", &long] {
        body.push(0x22);
        body.extend(varint(symbol.len()));
        body.extend(symbol.as_bytes());
    }
    for number in 0..200_u16 {
        let symbol = format!("{number}");
        body.extend([0x22, symbol.len() as u8]);
        body.extend(symbol.as_bytes());
    }
    // 200 series: `m{a="<long>",<number>="<long>"}`
    for number in 0..200 {
        let mut references = vec![1, 2, 3, 4];
        references.extend(varint(5 + number));
        references.push(4);
        let series = [&[0x0a, references.len() as u8], references.as_slice()].concat();
        body.extend([0x2a, series.len() as u8]);
        body.extend(series);
    }
    assert!(body.len() < 20_000, "{}", body.len());
    assert_eq!(decode_write(&body, WriteVersion::V2, 8 << 20).unwrap().samples.series().len(), 200);
    assert_eq!(decode_write(&body, WriteVersion::V2, 1 << 20).unwrap_err().status(), 413);
    // Empty samples take two bytes each.
    let mut series = b"\x0a\x04\x01\x02\x03\x04".to_vec();
    series.extend(b"\x12\x00".repeat(100_000));
    let mut body = b"\x22\x00\x22\x08__name__\x22\x01m\x22\x01a\x22\x01b\x2a".to_vec();
    body.extend(varint(series.len()));
    body.extend(series);
    assert_eq!(decode_write(&body, WriteVersion::V2, 8 << 20).unwrap().samples.len(), 100_000);
    assert_eq!(decode_write(&body, WriteVersion::V2, 1 << 20).unwrap_err().status(), 413);
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
