//! Runs an import of text files: sample, plan, build. If later values do not fit the plan, the import restarts with a
//! better one.

use crate::batches::rows::schema;
use crate::build::{Builder, Built, UncountedColumns};
use crate::facts::nulls::NullTexts;
use crate::input::blocks::AllBlocks;
use crate::input::pipeline::run_in_order;
use crate::input::source::ImportFile;
use crate::observe::{Observed, observe_all, sample};
use crate::options::report::{Progress, Report};
use crate::options::{Options, Sink};
use crate::plan::Plan;
use crate::records::error::RecordError;
use crate::run::notes::{comment_note, empty_note, header_note, inexact_notes, null_notes};
use crate::run::revision::revised;
use crate::run::tally::Tally;
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{Error, Result, TableDefinition};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of bytes of text in a block, unless one record is longer.
const BLOCK_BYTES_MAX: usize = 6 << 20;

/// Maximum size in bytes of the arrays of a block, estimated from the sample.
const ARRAY_BYTES_MAX: usize = 16 << 20;

enum Outcome {
    Done(Tally),
    Misfit(RecordError),
}

/// One import of text files.
pub(crate) struct TextImport<'a> {
    /// The table's name.
    pub(crate) name: &'a str,
    /// The files in order.
    pub(crate) sources: Vec<ImportFile>,
    /// The caller's options.
    pub(crate) options: &'a Options,
    /// The existing table, if there is one.
    pub(crate) existing: Option<&'a TableDefinition>,
    /// Called with the progress.
    pub(crate) progress: &'a dyn Fn(Progress),
    /// Threads that read.
    pub(crate) threads: usize,
}

impl TextImport<'_> {
    /// Runs the import.
    pub(crate) fn run(&self, sink: &mut dyn Sink) -> Result<Report> {
        let nulls = NullTexts::new(&self.options.null);
        let mut observed = sample(&self.sources, self.options, &nulls, self.existing)?;
        if self.options.begin_once && !observed.is_complete() {
            self.plan_of_observe_all(&mut observed, &nulls)?;
        }
        let mut plan = match Plan::new(self.name, &observed, self.options, &nulls, self.existing) {
            Err(_) if !observed.is_complete() => self.plan_of_observe_all(&mut observed, &nulls)?,
            Ok(plan) if plan.has_open_commas && !plan.is_definitive => {
                self.plan_of_observe_all(&mut observed, &nulls)?
            }
            plan => plan?,
        };
        loop {
            match self.build(&plan, &observed, &nulls, sink)? {
                Outcome::Misfit(record_error) if plan.is_definitive => return Err(record_error.into_error()),
                Outcome::Misfit(_) => plan = self.plan_of_observe_all(&mut observed, &nulls)?,
                Outcome::Done(tally) => match revised(&plan, &tally, &nulls) {
                    Some(revised) => plan = revised,
                    None => return Ok(self.report(plan, &observed, tally, &nulls)),
                },
            }
        }
    }

    fn byte_total(&self) -> u64 {
        self.sources.iter().map(|source| source.byte_count).sum()
    }

    fn plan_of_observe_all(&self, observed: &mut Observed, nulls: &NullTexts) -> Result<Plan> {
        let read = Arc::new(AtomicU64::new(0));
        let bytes_total = self.byte_total();
        let progress = || {
            let bytes_read = read.load(Ordering::Relaxed);
            (self.progress)(Progress { bytes_read, bytes_total, row_count: 0 });
        };
        *observed = observe_all(&self.sources, observed, self.options, nulls, self.threads, &read, &progress)?;
        Plan::new(self.name, observed, self.options, nulls, self.existing)
    }

    fn build(&self, plan: &Plan, observed: &Observed, nulls: &NullTexts, sink: &mut dyn Sink) -> Result<Outcome> {
        sink.begin(&plan.definition)?;
        let uncounted = UncountedColumns::new(plan);
        let builder = Builder {
            plan,
            parsers: observed.files.iter().map(|file| &file.parser).collect(),
            stems: observed.files.iter().map(|file| file.stem.as_str()).collect(),
            schema: schema(&plan.definition),
            nulls,
            options: self.options,
            uncounted: &uncounted,
        };
        let read = Arc::new(AtomicU64::new(0));
        let bytes_total = self.byte_total();
        let formats = observed.files.iter().map(|file| file.parser.format).collect();
        let byte_counts =
            observed.files.iter().map(|file| block_bytes(file.row_count, file.byte_count, plan)).collect();
        let mut blocks = AllBlocks::new(&self.sources, formats, byte_counts, &read);
        let mut tally = Tally::new(plan.columns.len());
        let mut misfit = None;
        let outcome = run_in_order(
            self.threads,
            || blocks.next(),
            |block| {
                let parser = builder.parsers[block.file];
                builder.build(parser.read(block, false)?)
            },
            |built| {
                let rows = match built {
                    Built::Rows(rows) => rows,
                    Built::Misfit(record_error) => {
                        misfit = Some(*record_error);
                        return Err(Error::internal("a value that does not fit must end the pass"));
                    }
                };
                tally.add(&rows, &uncounted);
                let row_count = rows.batch.num_rows();
                for start in (0..row_count).step_by(CHUNK_ROWS_MAX) {
                    sink.rows(rows.batch.slice(start, CHUNK_ROWS_MAX.min(row_count - start)))?;
                }
                let bytes_read = read.load(Ordering::Relaxed);
                (self.progress)(Progress { bytes_read, bytes_total, row_count: tally.row_count });
                Ok(())
            },
        );
        match misfit {
            Some(record_error) => Ok(Outcome::Misfit(record_error)),
            None => outcome.map(|()| Outcome::Done(tally)),
        }
    }

    fn report(&self, plan: Plan, observed: &Observed, tally: Tally, nulls: &NullTexts) -> Report {
        let for_query = self.options.for_query;
        let mut notes = if for_query { Vec::new() } else { notes_of_layout(&plan, observed, &tally) };
        notes.extend(header_note(tally.header_count));
        notes.extend(null_notes(&plan.columns, &tally.nulls, nulls, for_query));
        notes.extend(inexact_notes(&plan.columns, &tally.inexact, for_query));
        if tally.row_count == 0 && !for_query {
            notes.push("there are no rows".to_owned());
        }
        let is_new = self.existing.is_none();
        Report {
            are_types_unknown: is_new && tally.row_count == 0 && tally.skipped.count == 0,
            definition: plan.definition,
            row_count: tally.row_count,
            bytes_read: self.sources.iter().map(ImportFile::bytes_read).sum(),
            skipped: tally.skipped.first,
            skipped_count: tally.skipped.count,
            notes,
        }
    }
}

/// Notes about the plan, and about files and lines without records.
fn notes_of_layout(plan: &Plan, observed: &Observed, tally: &Tally) -> Vec<String> {
    let mut notes = plan.notes.clone();
    let empty = observed.files.iter().filter(|file| file.is_complete && file.parser.names.is_empty());
    notes.extend(empty_note(&empty.map(|file| file.parser.file.as_str()).collect::<Vec<_>>()));
    let dialects = observed.files.iter().filter_map(|file| file.parser.dialect.as_ref());
    notes.extend(comment_note(dialects.map(|dialect| dialect.comment_count).sum::<u64>() + tally.comment_count));
    notes
}

/// The size of a block of a file's text in bytes: about the rows of one chunk, fewer if they would take much memory.
fn block_bytes(row_count: u64, byte_count: u64, plan: &Plan) -> usize {
    let row_bytes = (byte_count / row_count.max(1)).max(1) as usize;
    // Eight bytes for the value, eight for the location of its field.
    let array_bytes = plan.columns.len() * 16 + row_bytes;
    let rows = (ARRAY_BYTES_MAX / array_bytes).clamp(1, CHUNK_ROWS_MAX);
    (rows * row_bytes).clamp(64 << 10, BLOCK_BYTES_MAX)
}
