//! Transfers the chunks that the target of a copy lacks: other threads read them, and the calling thread writes them
//! into the stage.

use crate::copy::cut::{Cut, CutChunk};
use crate::copy::lease::Lease;
use crate::copy::options::{CopyOptions, CopyProgress, CopyReport};
use crate::copy::stage::{CopyStage, TargetTable};
use atsdb_core::{Error, NewChunk, Result, TableId};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The approximate size in bytes of a group of chunks that are written together.
const GROUP_BYTES: u64 = 4 << 20;
/// Maximum number of chunks in a group if several threads read, so that each thread gets a group.
const GROUP_CHUNKS_MAX: usize = 16;
/// A group of chunks that was read, each with the position of its table in the cut.
type ReadGroup = Result<Vec<(usize, NewChunk)>>;

impl CopyStage<'_> {
    /// Transfers the missing chunks in order: other threads read them, and this one writes them.
    pub(super) fn transfer(
        &mut self,
        cut: &Cut,
        missing: &[(usize, &CutChunk)],
        all: &mut [TargetTable],
        lease: &Lease,
        options: &CopyOptions,
        report: &mut CopyReport,
    ) -> Result<()> {
        if missing.is_empty() {
            return Ok(());
        }
        self.open()?;
        let owners: Vec<TableId> = all.iter().map(|target| target.id).collect();
        let bytes_total = missing.iter().map(|(_, source)| source.byte_count()).sum();
        let mut progress = CopyProgress { bytes_total, ..CopyProgress::default() };
        let groups = groups(missing, if cut.readers > 1 { GROUP_CHUNKS_MAX } else { usize::MAX });
        let (groups, owners) = (groups.as_slice(), owners.as_slice());
        std::thread::scope(|scope| {
            let count = cut.readers.clamp(1, groups.len());
            // A single reader reads one group ahead of the writer. Several readers each hold one group ready.
            let ahead = usize::from(count == 1);
            let start = |first: usize| {
                let (sender, receiver) = sync_channel(ahead);
                let share = groups.iter().skip(first).step_by(count);
                let reader = std::thread::Builder::new().name("atsdb-copy".into());
                reader.spawn_scoped(scope, move || read_each(cut, share, owners, &sender)).map_err(Error::no_thread)?;
                Ok(receiver)
            };
            let readers: Vec<Receiver<ReadGroup>> = (0..count).map(start).collect::<Result<_>>()?;
            let is_gone = || Error::internal("a reading thread of the copy has ended");
            let in_order = (0..groups.len()).map(|at| readers[at % count].recv().unwrap_or_else(|_| Err(is_gone())));
            self.write_groups(in_order, all, lease, options, &mut progress, report)
        })
    }

    fn write_groups(
        &self,
        groups: impl Iterator<Item = ReadGroup>,
        all: &mut [TargetTable],
        lease: &Lease,
        options: &CopyOptions,
        progress: &mut CopyProgress,
        report: &mut CopyReport,
    ) -> Result<()> {
        let stage = self.stage.ok_or_else(|| Error::internal("the copy has no stage"))?;
        for group in groups {
            let group = group?;
            lease.require()?;
            for (number, chunk) in &group {
                all[*number].descriptors.push((chunk.descriptor_bytes.clone(), true));
                report.chunks += 1;
                report.rows += u64::from(chunk.descriptor.row_count);
                report.bytes += chunk.descriptor.byte_count();
            }
            self.store.stage(stage, group.into_iter().map(|(_, chunk)| chunk).collect(), self.environment.now_ms())?;
            (progress.bytes, progress.rows) = (report.bytes, report.rows);
            options.on_progress.as_ref().map_or(Ok(()), |callback| callback(progress))?;
        }
        Ok(())
    }
}

/// Groups consecutive chunks that are read and written together.
fn groups<'m, 'c>(mut missing: &'m [(usize, &'c CutChunk)], chunks_max: usize) -> Vec<&'m [(usize, &'c CutChunk)]> {
    let mut groups = Vec::new();
    while !missing.is_empty() {
        let mut bytes = 0;
        let fits = |(_, source): &&(usize, &CutChunk)| {
            let is_more = bytes < GROUP_BYTES;
            bytes += match source {
                // The size of rows in memory is not known.
                CutChunk::Resident(..) => GROUP_BYTES,
                CutChunk::Whole(..) | CutChunk::Partial(..) => source.byte_count(),
            };
            is_more
        };
        let count = missing.iter().take(chunks_max).take_while(fits).count();
        let (group, rest) = missing.split_at(count);
        groups.push(group);
        missing = rest;
    }
    groups
}

/// Reads groups of chunks and sends them to the writer.
fn read_each<'m>(
    cut: &Cut,
    groups: impl Iterator<Item = &'m &'m [(usize, &'m CutChunk)]>,
    owners: &[TableId],
    done: &SyncSender<ReadGroup>,
) {
    let read = |(number, source): &(usize, &CutChunk)| {
        let chunks = cut.read(&cut.tables()[*number], source, owners[*number])?;
        Ok(chunks.into_iter().map(|chunk| (*number, chunk)).collect::<Vec<_>>())
    };
    for group in groups {
        let chunks: Result<Vec<_>> = group.iter().map(read).collect();
        // The receiver no longer exists if writing or another reader has failed.
        if done.send(chunks.map(|chunks| chunks.into_iter().flatten().collect())).is_err() {
            return;
        }
    }
}
