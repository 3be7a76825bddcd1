//! `advise`: a file of the user, which is loaded and queried in ways that its columns suggest. It is run by
//! `atsdb lab advise` and is not listed, because it needs the file.

use crate::advise::{AdviseInput, questions};
use crate::contestant::Contestant;
use crate::data::digest::RowDigest;
use crate::failure::Failure;
use crate::measure::{Figure, Measure, Unit, clock};
use crate::workload::{Bench, RunBound, Workload, per_second};
use std::time::Duration;

const fn measure(name: &'static str, title: &'static str, unit: Unit) -> Measure {
    Measure { name, title, unit }
}

const MEASURES: &[Measure] = &[
    measure("load", "insert: load the file", Unit::RowsPerSecond),
    measure("bytes", "size", Unit::BytesPerRow),
    measure("read", "read back every row", Unit::RowsPerSecond),
    measure("count", "count(*)", Unit::Milliseconds),
    measure("range", "a time range", Unit::Milliseconds),
    measure("series", "one series", Unit::Milliseconds),
    measure("hourly", "hourly means", Unit::Milliseconds),
    measure("last", "last values", Unit::Milliseconds),
];

/// The workload.
pub(super) struct Advise;

impl Workload for Advise {
    fn name(&self) -> &'static str {
        "advise"
    }

    fn summary(&self) -> &'static str {
        "a file of one's own: load it, read it back, and ask what its columns suggest"
    }

    fn rows_default(&self) -> u64 {
        0
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }

    fn bound(&self, rows: u64) -> RunBound {
        RunBound::of_rows(rows, (64, 1_000), (120, 300))
    }

    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure> {
        let Some(input) = bench.input.clone() else {
            return Err(Failure::cannot("no file; use: atsdb lab advise FILE"));
        };
        bench.progress("loading")?;
        let workspace = bench.workspace("file")?;
        let mut session = contestant.open(&workspace)?;
        bench.opened(session.as_ref())?;
        session.create_table(&input.table)?;
        let loaded = bench.attempt("load", || load(session.as_mut(), &input))?;
        let Some(expected) = loaded else { return Ok(()) };
        // The size in normal use: sealed, or with the indexes that a user would create.
        bench.progress("sealing or indexing")?;
        for made in [session.seal(), session.prepare_lookups(&input.table)] {
            match made {
                Ok(()) | Err(Failure::Cannot(_)) => {}
                Err(other) => return Err(other),
            }
        }
        drop(session);
        let rows = expected.rows.max(1);
        bench.attempt("bytes", || Ok((Figure::of(contestant.bytes(&workspace)? as f64 / rows as f64), ())))?;
        let mut session = contestant.open(&workspace)?;
        bench.progress("reading back")?;
        bench.attempt("read", || {
            let begin = clock::now();
            let digest = session.read_all(&input.table)?;
            let time = begin.elapsed();
            match digest == expected {
                true => Ok((Figure::of(per_second(digest.rows, time)), ())),
                false => Err(Failure::wrong(format!("read {} rows back that are not the {rows} loaded", digest.rows))),
            }
        })?;
        for (measure, question) in questions::all(&input, session.dialect()) {
            bench.progress(measure)?;
            match question {
                Ok(text) => bench.query(measure, || session.query(&text))?,
                Err(reason) => drop(bench.attempt::<()>(measure, || Err(Failure::Cannot(reason)))?),
            }
        }
        Ok(())
    }
}

fn load(session: &mut dyn crate::contestant::Session, input: &AdviseInput) -> Result<(Figure, RowDigest), Failure> {
    let (mut time, mut digest) = (Duration::ZERO, RowDigest::default());
    let begin = clock::now();
    let mut loader = session.loader(&input.table)?;
    time += begin.elapsed();
    crate::advise::read(input, &mut |batch| {
        digest.add_batch(batch)?;
        let begin = clock::now();
        loader.batch(batch)?;
        time += begin.elapsed();
        Ok(())
    })?;
    if digest.rows != input.rows {
        return Err(Failure::wrong(format!("{} rows were loaded of a file of {}", digest.rows, input.rows)));
    }
    let begin = clock::now();
    loader.finish()?;
    time += begin.elapsed();
    Ok((Figure::of(per_second(digest.rows, time)), digest))
}
