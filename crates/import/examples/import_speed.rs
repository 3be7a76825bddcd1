//! Measures the import of separated values: writes a file of 9 columns, reads it into nothing, prints rows a second.
//!
//! `cargo run --release -p atsdb-import --example import_speed [ROWS [iso|epoch]]`

#![expect(clippy::disallowed_methods, reason = "it measures")]

use arrow::record_batch::RecordBatch;
use atsdb_core::{Result, TableDefinition};
use atsdb_import::{Input, Options, Sink, import};
use std::io::{BufWriter, Write};
use std::time::Instant;

struct Nothing {
    begins: usize,
}

impl Sink for Nothing {
    fn begin(&mut self, _: &TableDefinition) -> Result<()> {
        self.begins += 1;
        Ok(())
    }

    fn rows(&mut self, _: RecordBatch) -> Result<()> {
        Ok(())
    }
}

fn write_file(path: &std::path::Path, row_count: usize, is_iso: bool) -> std::io::Result<u64> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    writeln!(file, "time,sensor,status,count1,count2,count3,count4,count5,count6")?;
    let mut counters = vec![[0_i64; 6]; 5_000];
    let mut state = 1_u64;
    for row in 0..row_count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (sensor, time) = (row % 5_000, 1_700_000_000 + (row / 5_000 * 60) as i64 + (state >> 60) as i64);
        let counters = &mut counters[sensor];
        for (position, counter) in counters.iter_mut().enumerate() {
            *counter += (state >> (8 * position + 8) & 7) as i64 - 4;
        }
        let status = if state >> 54 == 0 { "failed" } else { "ok" };
        match is_iso {
            true => {
                let text = atsdb_core::time::format_time(time, atsdb_core::TimeUnit::Second);
                write!(file, "{text},sensor_{sensor:04},{status}")?;
            }
            false => write!(file, "{time},sensor_{sensor:04},{status}")?,
        }
        for counter in counters {
            write!(file, ",{}", *counter + 1_000)?;
        }
        writeln!(file)?;
    }
    file.flush()?;
    Ok(file.get_ref().metadata()?.len())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let row_count: usize = arguments.next().map_or(Ok(2_000_000), |text| text.parse())?;
    let is_iso = arguments.next().is_none_or(|text| text == "iso");
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("speed.csv");
    let byte_count = write_file(&path, row_count, is_iso)?;
    let mut out = std::io::stdout();
    for _ in 0..3 {
        let mut sink = Nothing { begins: 0 };
        let start = Instant::now();
        let report = import("speed", vec![Input::Path(path.clone())], &Options::default(), None, &mut sink, &|_| {})?;
        let seconds = start.elapsed().as_secs_f64();
        writeln!(
            out,
            "{} rows, {} begins, {seconds:.3} s: {:.2} million rows/s, {:.0} MB/s",
            report.row_count,
            sink.begins,
            report.row_count as f64 / seconds / 1e6,
            byte_count as f64 / seconds / 1e6
        )?;
    }
    Ok(())
}
