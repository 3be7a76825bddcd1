//! The month of PingER as two CSV files and as Arrow batches. NULL is the empty field.

use super::month::{DataRow, Detail, MetaRow, Pinger};
use arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use atsdb::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const META_COLUMNS: [&str; 9] =
    ["metaID", "ip_name_src", "ip_name_dst", "transport", "packetSize", "count", "packetInterval", "deadline", "ttl"];
const DATA_COLUMNS: [&str; 16] = [
    "metaID",
    "minRtt",
    "meanRtt",
    "medianRtt",
    "maxRtt",
    "timestamp",
    "minIpd",
    "meanIpd",
    "maxIpd",
    "duplicates",
    "outOfOrder",
    "clp",
    "iqrIpd",
    "lossPercent",
    "rtts",
    "seqNums",
];

const TRANSPORT: &str = "icmp";
/// count, packetInterval (s), deadline (s), ttl.
const PING_SETTINGS: [i32; 4] = [10, 1, 30, 255];

/// Writes `metaData.csv` and `data_200112.csv` into an existing folder. Returns their paths in this order.
///
/// # Errors
///
/// [`ErrorKind::Unavailable`] when a file cannot be written.
pub fn write_pinger(folder: &Path, seed: u64) -> Result<(PathBuf, PathBuf)> {
    let pinger = Pinger::new(seed);
    let meta = write_lines(folder.join("metaData.csv"), &META_COLUMNS, pinger.meta_rows().iter().map(meta_line))?;
    let data = write_lines(folder.join("data_200112.csv"), &DATA_COLUMNS, pinger.data_rows().map(data_line))?;
    Ok((meta, data))
}

/// The values of a row of `metaData` as SQL, between parentheses.
pub fn meta_values(row: &MetaRow) -> String {
    let MetaRow { meta_id, ip_name_src, ip_name_dst, packet_size, .. } = row;
    let [count, interval, deadline, ttl] = PING_SETTINGS;
    format!(
        "({meta_id},'{ip_name_src}','{ip_name_dst}','{TRANSPORT}',{packet_size},{count},{interval},{deadline},{ttl})"
    )
}

/// The values of a row of `data_200112` as SQL, between parentheses.
pub fn data_values(row: DataRow) -> String {
    let line = data_line(row);
    let fields: Vec<String> = line
        .split(',')
        .enumerate()
        .map(|(position, field)| match field {
            "" => "NULL".to_owned(),
            // The last two columns are text.
            text if position >= DATA_COLUMNS.len() - 2 => format!("'{text}'"),
            number => number.to_owned(),
        })
        .collect();
    format!("({})", fields.join(","))
}

fn write_lines(path: PathBuf, columns: &[&str], lines: impl Iterator<Item = String>) -> Result<PathBuf> {
    let write = || {
        let mut file = BufWriter::new(File::create(&path)?);
        writeln!(file, "{}", columns.join(","))?;
        for line in lines {
            writeln!(file, "{line}")?;
        }
        file.flush()
    };
    match write() {
        Ok(()) => Ok(path),
        Err(error) => {
            let message = format!("cannot write {}: {error}", path.display());
            Err(Error::new(ErrorKind::Unavailable, message).with_source(error))
        }
    }
}

fn meta_line(row: &MetaRow) -> String {
    let MetaRow { meta_id, ip_name_src, ip_name_dst, packet_size, .. } = row;
    let [count, interval, deadline, ttl] = PING_SETTINGS;
    format!("{meta_id},{ip_name_src},{ip_name_dst},{TRANSPORT},{packet_size},{count},{interval},{deadline},{ttl}")
}

fn data_line(row: DataRow) -> String {
    let [min, mean, median, max] = milliseconds_or_empty(row.round_trips_us);
    let detail = row.detail.as_ref().map_or_else(|| ",".repeat(9), detail_fields);
    format!("{},{min},{mean},{median},{max},{},{detail}", row.meta_id, row.timestamp)
}

fn detail_fields(detail: &Detail) -> String {
    let [min, mean, max, middle_half] = milliseconds_or_empty(detail.distances_us);
    let Detail { duplicates, out_of_order, conditional_loss_percent, loss_percent, .. } = detail;
    let (trips, numbers) = (trips_text(detail), numbers_text(detail));
    format!(
        "{min},{mean},{max},{duplicates},{out_of_order},{conditional_loss_percent},{middle_half},{loss_percent},{trips},{numbers}"
    )
}

fn milliseconds_or_empty(values_us: Option<[i64; 4]>) -> [String; 4] {
    values_us.map_or_else(Default::default, |values| values.map(milliseconds_text))
}

fn milliseconds_text(value_us: i64) -> String {
    let sign = if value_us < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", value_us.abs() / 1_000, value_us.abs() % 1_000)
}

fn trips_text(detail: &Detail) -> String {
    detail.round_trips_us.iter().map(|value| milliseconds_text(*value)).collect::<Vec<_>>().join(" ")
}

fn numbers_text(detail: &Detail) -> String {
    detail.sequence_numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// `metaData` as a batch: 32-bit integers and text.
pub fn meta_batch(pinger: &Pinger) -> RecordBatch {
    let rows = pinger.meta_rows();
    let integers =
        |value: fn(&MetaRow) -> i32| Arc::new(Int32Array::from_iter_values(rows.iter().map(value))) as ArrayRef;
    let texts = |value: fn(&MetaRow) -> &'static str| {
        Arc::new(StringArray::from_iter_values(rows.iter().map(value))) as ArrayRef
    };
    batch(
        &META_COLUMNS,
        vec![
            integers(|row| row.meta_id),
            texts(|row| row.ip_name_src),
            texts(|row| row.ip_name_dst),
            texts(|_| TRANSPORT),
            integers(|row| row.packet_size),
            integers(|_| PING_SETTINGS[0]),
            integers(|_| PING_SETTINGS[1]),
            integers(|_| PING_SETTINGS[2]),
            integers(|_| PING_SETTINGS[3]),
        ],
    )
}

/// `data_200112` as batches of at most `batch_rows`: 32-bit integers, 64-bit floats in milliseconds, the timestamp a
/// 64-bit integer of seconds, text.
pub fn data_batches(pinger: &Pinger, batch_rows: usize) -> impl Iterator<Item = RecordBatch> {
    let mut rows = pinger.data_rows();
    std::iter::from_fn(move || {
        let chunk: Vec<DataRow> = rows.by_ref().take(batch_rows.max(1)).collect();
        (!chunk.is_empty()).then(|| data_batch(&chunk))
    })
}

fn data_batch(rows: &[DataRow]) -> RecordBatch {
    let milliseconds = |value_us: i64| value_us as f64 / 1_000.0;
    let trips = |position: usize| {
        let values = rows.iter().map(|row| row.round_trips_us.map(|values| milliseconds(values[position])));
        Arc::new(values.collect::<Float64Array>()) as ArrayRef
    };
    let distances = |position: usize| {
        let of = |detail: &Detail| detail.distances_us.map(|values| milliseconds(values[position]));
        Arc::new(rows.iter().map(|row| row.detail.as_ref().and_then(of)).collect::<Float64Array>()) as ArrayRef
    };
    let integers = |value: fn(&Detail) -> i32| {
        Arc::new(rows.iter().map(|row| row.detail.as_ref().map(value)).collect::<Int32Array>()) as ArrayRef
    };
    // In the CSV form the empty list is the empty field, which is NULL.
    let texts = |value: fn(&Detail) -> String| {
        let of = |row: &DataRow| row.detail.as_ref().map(value).filter(|text| !text.is_empty());
        Arc::new(rows.iter().map(of).collect::<StringArray>()) as ArrayRef
    };
    batch(
        &DATA_COLUMNS,
        vec![
            Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.meta_id))),
            trips(0),
            trips(1),
            trips(2),
            trips(3),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.timestamp))),
            distances(0),
            distances(1),
            distances(2),
            integers(|detail| detail.duplicates),
            integers(|detail| detail.out_of_order),
            integers(|detail| detail.conditional_loss_percent),
            distances(3),
            integers(|detail| detail.loss_percent),
            texts(trips_text),
            texts(numbers_text),
        ],
    )
}

fn batch(names: &[&str], columns: Vec<ArrayRef>) -> RecordBatch {
    let nullable = true;
    let columns = names.iter().zip(columns).map(|(name, column)| (*name, column, nullable));
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
}
