//! Runs an import of text files: sample, plan, build. If later values do not fit the plan, the import restarts with a
//! better one.

use crate::batches::schema::schema;
use crate::build::column_values::Inexact;
use crate::build::{Builder, Built, BuiltRows, Uncounted};
use crate::facts::distinct::Distinct;
use crate::facts::nulls::{NullCounts, NullTexts};
use crate::infer::kept_words::{WordUse, kept_words};
use crate::infer::slices::slice_width;
use crate::input::blocks::AllBlocks;
use crate::input::pipeline::run_in_order;
use crate::input::source::Source;
use crate::observe::{Observed, observe_all, sample};
use crate::options::{Options, Progress, Report, SKIPPED_SHOWN_MAX, Sink, Skipped};
use crate::plan::Plan;
use crate::plan::column::MapRule;
use crate::records::error::{RecordError, shown};
use crate::run::null_notes::null_notes;
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{ColumnType, Error, MapWidth, Result, TableDefinition};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of bytes of text in a block, unless one record is longer.
const BLOCK_BYTES_MAX: usize = 6 << 20;

/// Maximum size in bytes of the arrays of a block, estimated from the sample.
const ARRAY_BYTES_MAX: usize = 16 << 20;

/// The maximum number of distinct texts that are counted in all columns together. Beyond it, the column with the most
/// is no longer counted.
const DISTINCT_TOTAL_MAX: usize = 2_500_000;

/// The counters while rows are built.
struct Tally {
    row_count: u64,
    time_bounds: Option<(i64, i64)>,
    distinct: Vec<Option<(Distinct, u64)>>,
    nulls: Vec<NullCounts>,
    inexact: Vec<Inexact>,
    skipped: Vec<Skipped>,
    skipped_count: u64,
}

impl Tally {
    fn take(&mut self, rows: &BuiltRows, uncounted: &Uncounted) {
        self.row_count += rows.batch.num_rows() as u64;
        if let Some((min, max)) = rows.time_bounds {
            let (old_min, old_max) = self.time_bounds.unwrap_or((min, max));
            self.time_bounds = Some((old_min.min(min), old_max.max(max)));
        }
        self.skip(&rows.skipped);
        self.nulls.iter_mut().zip(&rows.nulls).for_each(|(all, new)| all.add_all(new));
        self.inexact.iter_mut().zip(&rows.inexact).for_each(|(all, new)| all.add(new));
        for (position, new) in rows.distinct.iter().enumerate() {
            let Some((new, value_count)) = new else { continue };
            let (all, all_values) = self.distinct[position].get_or_insert_with(Default::default);
            all.add_all(new);
            *all_values += value_count;
            if all.count().is_none() {
                uncounted.add(position);
            }
        }
        let count = |entry: &Option<(Distinct, u64)>| entry.as_ref().and_then(|(all, _)| all.count()).unwrap_or(0);
        while self.distinct.iter().map(count).sum::<usize>() > DISTINCT_TOTAL_MAX {
            if let Some(Some((largest, _))) = self.distinct.iter_mut().max_by_key(|entry| count(entry)) {
                largest.give_up();
            }
        }
    }

    fn skip(&mut self, skipped: &[Skipped]) {
        self.skipped_count += skipped.len() as u64;
        let room = SKIPPED_SHOWN_MAX.saturating_sub(self.skipped.len());
        self.skipped.extend(skipped.iter().take(room).cloned());
    }
}

enum Outcome {
    Done(Tally),
    Misfit(RecordError),
}

/// One import of text files.
pub(crate) struct TextImport<'a> {
    /// The table's name.
    pub(crate) name: &'a str,
    /// In order.
    pub(crate) sources: Vec<Source>,
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
            plan => plan?,
        };
        loop {
            match self.build(&plan, &observed, &nulls, sink)? {
                Outcome::Misfit(record_error) if plan.is_definitive => return Err(record_error.into_error()),
                Outcome::Misfit(_) => plan = self.plan_of_observe_all(&mut observed, &nulls)?,
                Outcome::Done(tally) => match self.revised(&plan, &tally, &nulls) {
                    Some(revised) => plan = revised,
                    None => return Ok(self.report(plan, tally, &nulls)),
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
        let uncounted = Uncounted::new(plan);
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
        let mut tally = Tally {
            row_count: 0,
            time_bounds: None,
            distinct: vec![None; plan.columns.len()],
            nulls: vec![NullCounts::default(); plan.columns.len()],
            inexact: vec![Inexact::default(); plan.columns.len()],
            skipped: Vec::new(),
            skipped_count: 0,
        };
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
                tally.take(&rows, &uncounted);
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

    /// The plan that all rows require, if it differs from the present one.
    fn revised(&self, plan: &Plan, tally: &Tally, nulls: &NullTexts) -> Option<Plan> {
        let mut revised = plan.clone();
        let is_kept_anew = nulls.have_words() && !plan.is_definitive && revise_words(&mut revised, tally);
        for (position, counted) in tally.distinct.iter().enumerate() {
            let column = &plan.columns[position];
            if let Some((distinct, value_count)) = counted
                && column.map_rule != MapRule::Fixed
            {
                // The state after the words that are added or removed.
                let (without, with) = (column.kept_words, revised.columns[position].kept_words);
                let ((kinds_before, before), (kinds_after, after)) =
                    (tally.nulls[position].within(without), tally.nulls[position].within(with));
                let distinct = distinct.count().map(|count| count - kinds_before.min(count) + kinds_after);
                set_map(&mut revised, position, column.map_rule.map(distinct, value_count - before + after));
            }
        }
        if plan.is_slice_free && plan.definition.time.is_some() {
            let scale = plan.definition.time_scale() as f64 / plan.definition.time_unit().per_second() as f64;
            let span = tally.time_bounds.map_or(0.0, |(min, max)| (max as f64 - min as f64) * scale);
            revised.definition.slice = slice_width(tally.row_count, span);
        }
        (is_kept_anew || revised.definition != plan.definition).then_some(revised)
    }

    fn report(&self, plan: Plan, tally: Tally, nulls: &NullTexts) -> Report {
        let mut notes = plan.notes;
        notes.extend(null_notes(&plan.columns, &tally.nulls, nulls));
        for (column, inexact) in plan.columns.iter().zip(&tally.inexact) {
            if let Some(first) = &inexact.first {
                let (name, values) = (&column.column.name, if inexact.count == 1 { "value" } else { "values" });
                if matches!(column.column.column_type, ColumnType::Timestamp(_)) {
                    notes.push(format!(
                        "column {name}: {} {values} that clocks showed twice, when they were set back, the first is {}: \
                         the earlier time is taken",
                        inexact.count,
                        shown(first)
                    ));
                    continue;
                }
                notes.push(format!(
                    "column {name}: {} {values} of more than 17 digits rounded to DOUBLE, the first is {}; --map {name} \
                     keeps all digits, as text",
                    inexact.count,
                    shown(first)
                ));
            }
        }
        if tally.row_count == 0 {
            notes.push("there are no rows".to_owned());
        }
        Report {
            definition: plan.definition,
            row_count: tally.row_count,
            bytes_read: self.byte_total(),
            skipped: tally.skipped,
            skipped_count: tally.skipped_count,
            notes,
        }
    }
}

/// Decides which words the text columns keep after all rows were seen. Whether the rows are others by that.
fn revise_words(plan: &mut Plan, tally: &Tally) -> bool {
    let columns = plan.columns.iter().zip(&tally.nulls).zip(&tally.distinct);
    let uses = columns.map(|((column, counts), distinct)| {
        let (kinds, count) = counts.within(column.kept_words);
        let others = distinct.as_ref().map_or((None, 0), |(distinct, value_count)| {
            (distinct.count().map(|distinct| distinct - kinds.min(distinct)), value_count - count)
        });
        WordUse { counts, texts: column.may_keep_words.then_some(others) }
    });
    let kept = kept_words(&uses.collect::<Vec<_>>());
    let mut is_other = false;
    for ((column, kept), counts) in plan.columns.iter_mut().zip(kept).zip(&tally.nulls) {
        is_other |= counts.within(column.kept_words) != counts.within(kept);
        column.kept_words = kept;
    }
    is_other
}

fn set_map(plan: &mut Plan, position: usize, map: Option<MapWidth>) {
    plan.columns[position].column.map = map;
    plan.definition.columns[position].map = map;
}

/// The size of a block of a file's text in bytes: about the rows of one chunk, fewer if they would take much memory.
fn block_bytes(row_count: u64, byte_count: u64, plan: &Plan) -> usize {
    let row_bytes = (byte_count / row_count.max(1)).max(1) as usize;
    // Eight bytes for the value, eight for the location of its field.
    let array_bytes = plan.columns.len() * 16 + row_bytes;
    let rows = (ARRAY_BYTES_MAX / array_bytes).clamp(1, CHUNK_ROWS_MAX);
    (rows * row_bytes).clamp(64 << 10, BLOCK_BYTES_MAX)
}
