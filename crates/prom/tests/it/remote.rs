//! Requests of remote write, complete and truncated.

use atsdb_prom::remote::{MetricKind, SentSeries, SeriesCache, WriteVersion, compress, decode_write, decompress};

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
        let request = decode_write(&body, version, 1 << 20, &SeriesCache::default()).unwrap();
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
    let whole: Vec<usize> = (0..=body.len())
        .filter(|end| decode_write(&body[..*end], WriteVersion::V2, 1 << 20, &SeriesCache::default()).is_ok())
        .collect();
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
    assert_eq!(
        decode_write(&body, WriteVersion::V2, 8 << 20, &SeriesCache::default()).unwrap().samples.series().len(),
        200
    );
    assert_eq!(decode_write(&body, WriteVersion::V2, 1 << 20, &SeriesCache::default()).unwrap_err().status(), 413);
    // Empty samples take two bytes each.
    let mut series = b"\x0a\x04\x01\x02\x03\x04".to_vec();
    series.extend(b"\x12\x00".repeat(100_000));
    let mut body = b"\x22\x00\x22\x08__name__\x22\x01m\x22\x01a\x22\x01b\x2a".to_vec();
    body.extend(varint(series.len()));
    body.extend(series);
    assert_eq!(decode_write(&body, WriteVersion::V2, 8 << 20, &SeriesCache::default()).unwrap().samples.len(), 100_000);
    assert_eq!(decode_write(&body, WriteVersion::V2, 1 << 20, &SeriesCache::default()).unwrap_err().status(), 413);
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

/// A field with bytes, all of them shorter than 128.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

/// A label of version 1.
fn label(name: &str, value: &str) -> Vec<u8> {
    field(1, &[field(1, name.as_bytes()), field(2, value.as_bytes())].concat())
}

/// A sample of version 1 with the value 0.
fn sample(milliseconds: usize) -> Vec<u8> {
    field(2, &[vec![0x10], varint(milliseconds)].concat())
}

/// The samples of a request of version 1, each with its series as text, and the reason why series are refused.
fn decoded(cache: &SeriesCache, series: &[Vec<Vec<u8>>]) -> (Vec<(String, i64)>, String) {
    let body: Vec<u8> = series.iter().flat_map(|parts| field(1, &parts.concat())).collect();
    let request = decode_write(&body, WriteVersion::V1, 1 << 20, cache).unwrap();
    let texts: Vec<&str> = request.samples.series().collect();
    let samples = request.samples.iter().map(|(time, series, _)| (texts[series as usize].to_owned(), time)).collect();
    (samples, request.refused.reason)
}

#[test]
fn a_series_is_the_same_however_its_labels_are_sent_and_whatever_was_sent_before() {
    let (name, job, zone) = (label("__name__", "up"), label("job", "x"), label("zone", "7"));
    let requests = [
        vec![name.clone(), job.clone(), zone.clone(), sample(1)],
        vec![zone.clone(), name.clone(), label("empty", ""), job.clone(), sample(2)],
        // Labels may come after samples, and fields of newer versions between them.
        vec![name.clone(), sample(3), job.clone(), field(9, b"new"), zone.clone()],
        vec![sample(4), job.clone(), zone.clone(), name.clone()],
        vec![name.clone(), field(9, b"new"), job.clone(), zone.clone(), sample(5)],
    ];
    let cache = SeriesCache::default();
    let expected = |time| ("up{job=\"x\",zone=\"7\"}".to_owned(), time);
    for _ in 0..2 {
        for (request, time) in requests.iter().zip(1..) {
            let (samples, reason) = decoded(&cache, std::slice::from_ref(request));
            assert_eq!((samples, reason), (vec![expected(time)], String::new()));
        }
        let (samples, _) = decoded(&cache, &requests);
        assert_eq!(samples, (1..6).map(expected).collect::<Vec<_>>(), "all in one request are one series");
    }
    // The same bytes, but for the end of the labels.
    let (samples, _) = decoded(&cache, &[vec![name.clone(), job.clone(), sample(1)], vec![name.clone(), sample(2)]]);
    assert_eq!(samples, [("up{job=\"x\"}".to_owned(), 1), ("up".to_owned(), 2)]);
}

#[test]
fn series_that_cannot_be_stored_are_refused_each_time() {
    let cache = SeriesCache::default();
    let name = label("__name__", "up");
    let good = vec![name.clone(), sample(1)];
    for (bad, reason) in [
        (vec![label("job", "x"), sample(2)], "a series has no metric name"),
        (
            vec![name.clone(), label("job", "x"), label("job", "y"), sample(2)],
            "label \"job\" occurs twice in one series",
        ),
        (vec![name.clone(), label("", "x"), sample(2)], "a label has no name"),
        (vec![sample(2)], "a series has no metric name"),
    ] {
        for _ in 0..2 {
            let (samples, refused) = decoded(&cache, &[good.clone(), bad.clone()]);
            assert_eq!((samples, refused.as_str()), (vec![("up".to_owned(), 1)], reason));
        }
    }
    let body = field(1, &[field(1, &field(2, b"\xff")), sample(1)].concat());
    for _ in 0..2 {
        assert_eq!(decode_write(&body, WriteVersion::V1, 1 << 20, &cache).unwrap_err().status(), 400);
    }
}

#[test]
fn a_cached_series_counts_as_much_as_a_new_one() {
    let parts = [label("__name__", "up"), label("job", &"x".repeat(50)), sample(1)];
    let body = field(1, &parts.concat());
    let cache = SeriesCache::default();
    let sizes = (0..2).map(|_| decode_write(&body, WriteVersion::V1, 1 << 20, &cache).unwrap().byte_count());
    let sizes: Vec<usize> = sizes.collect();
    assert_eq!(sizes[0], sizes[1]);
    for bytes_max in 0..300 {
        let fresh = decode_write(&body, WriteVersion::V1, bytes_max, &SeriesCache::default()).is_ok();
        assert_eq!(decode_write(&body, WriteVersion::V1, bytes_max, &cache).is_ok(), fresh, "{bytes_max} bytes");
    }
}

#[test]
fn a_series_counts_once_with_its_size() {
    let series = |name: &str| field(1, &[label("__name__", name), sample(1)].concat());
    let size = |series: &[Vec<u8>]| {
        decode_write(&series.concat(), WriteVersion::V1, 1 << 20, &SeriesCache::default()).unwrap().byte_count()
    };
    let (one, again) = (size(&[series("a")]), size(&[series("a"), series("a")]));
    assert!(again - one < size_of::<SentSeries>(), "{one} bytes, then {again}");
    let other = size(&[series("a"), series("b")]);
    assert!(other - again > size_of::<SentSeries>(), "{again} bytes, then {other}");
}

#[test]
fn both_versions_share_a_cache() {
    let cache = SeriesCache::default();
    for _ in 0..2 {
        for (version, body) in [(WriteVersion::V1, version_1()), (WriteVersion::V2, version_2())] {
            let request = decode_write(&body, version, 1 << 20, &cache).unwrap();
            assert_eq!(request.samples.series().collect::<Vec<_>>(), ["requests_total{code=\"200\"}"], "{version:?}");
            assert_eq!(request.metadata[0].metric, "requests_total");
        }
    }
}

#[test]
fn times_that_no_table_accepts_are_refused() {
    let series = |time| field(1, &[label("__name__", "up"), sample(time)].concat());
    let status = |time| decode_write(&series(time), WriteVersion::V1, 1 << 20, &SeriesCache::default()).err();
    assert_eq!(status(8_210_266_876_799_999), None);
    assert_eq!(status(8_210_266_876_800_000).map(|error| error.status()), Some(400));
}
