//! Searches all rows of a table for two with the same key, for a key that is added to a table with rows.
//!
//! Chunks whose ranges of the key's growing column overlap are a *cluster*: rows of different clusters have different
//! keys. If the time is part of the key, a cluster is within a slice. In a cluster the rows are compared by sorted
//! hashes of 64 bits, and only rows of equal hashes by their values. A cluster with more than [`HASHES_MAX`] rows is
//! read several times, each time for a part of the hashes. So memory is bounded however large the table is.

use crate::batch::keys::groups::{normal, nulls_of};
use crate::batch::keys::key::{Key, KeyColumns};
use crate::batch::keys::unread::integer;
use crate::chunk::missing::column_statistics;
use crate::read::scan::Scan;
use arrow::row::{RowConverter, Rows, SortField};
use atsdb_codec::stored_type;
use atsdb_core::Result;
use atsdb_core::parallel::parallel_map;
use hashbrown::{DefaultHashBuilder, HashSet};
use std::hash::BuildHasher;

/// The maximum number of hashes in memory: 128 MiB.
const HASHES_MAX: u64 = 16 << 20;
/// The maximum number of hashes that occur twice and are compared by their rows' values at a time.
const SUSPECTS_MAX: usize = 65_536;

/// A search for two rows with the same key.
pub(crate) struct DuplicateSearch<'a> {
    scan: &'a Scan,
    key: &'a Key,
    threads: usize,
    converter: RowConverter,
    hasher: DefaultHashBuilder,
    hashes_max: u64,
}

impl<'a> DuplicateSearch<'a> {
    /// A search in the chunks of a scan without predicates.
    pub(crate) fn new(scan: &'a Scan, key: &'a Key, threads: usize) -> Result<Self> {
        let columns = key.positions.iter().map(|position| &scan.table.definition.columns[*position]);
        let converter = RowConverter::new(columns.map(|column| SortField::new(stored_type(column))).collect())?;
        Ok(Self { scan, key, threads, converter, hasher: DefaultHashBuilder::default(), hashes_max: HASHES_MAX })
    }

    /// A row whose key an earlier row has, as its key's columns in stored form and its number in them.
    pub(crate) fn find(&self) -> Result<Option<(KeyColumns, usize)>> {
        for cluster in self.clusters() {
            let row_count: u64 = cluster.iter().map(|chunk| u64::from(self.row_count(*chunk))).sum();
            let part_count = row_count.div_ceil(self.hashes_max).max(1);
            for part in 0..part_count {
                let suspects = self.equal_hashes(&cluster, part, part_count)?;
                for suspects in suspects.chunks(SUSPECTS_MAX) {
                    if let Some(found) = self.compare(&cluster, suspects)? {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The chunks by position, in groups such that rows of different groups have different keys. Chunks all of whose
    /// rows differ from every other row are left out.
    fn clusters(&self) -> Vec<Vec<usize>> {
        let definition = &self.scan.table.definition;
        let growing = self.key.growing(definition);
        let (mut bounded, mut unbounded) = (Vec::new(), Vec::new());
        for (at, chunk) in self.scan.chunks().iter().enumerate() {
            let columns = self.key.positions.iter().map(|position| &definition.columns[*position]);
            let statistics: Vec<_> = columns.map(|column| column_statistics(&chunk.descriptor, column)).collect();
            let is_null = statistics.iter().any(|column| column.null_count >= chunk.entry.row_count);
            if is_null && !self.key.nulls_equal {
                continue;
            }
            let grown = growing.map(|growing| &statistics[growing]);
            let grown = grown.filter(|column| column.null_count == 0 || !self.key.nulls_equal);
            match grown.and_then(|column| Some((integer(&column.min)?, integer(&column.max)?))) {
                Some((least, greatest)) => bounded.push((least, greatest, at)),
                None => unbounded.push(at),
            }
        }
        if !unbounded.is_empty() {
            unbounded.extend(bounded.into_iter().map(|(.., at)| at));
            return vec![unbounded];
        }
        bounded.sort_unstable();
        let (mut clusters, mut reach): (Vec<Vec<usize>>, i64) = (Vec::new(), i64::MIN);
        for (least, greatest, at) in bounded {
            match clusters.last_mut().filter(|_| least <= reach) {
                Some(cluster) => cluster.push(at),
                None => clusters.push(vec![at]),
            }
            reach = reach.max(greatest);
        }
        clusters
    }

    /// The hashes, of one of several equal parts of all hashes, that occur several times.
    fn equal_hashes(&self, cluster: &[usize], part: u64, part_count: u64) -> Result<Vec<u64>> {
        let mut hashes: Vec<u64> = Vec::new();
        // A few chunks at a time, so that no second copy of all hashes is in memory.
        for chunks in cluster.chunks(self.threads.max(1) * 4) {
            let of_chunk = |chunk: &usize| {
                let (_, rows, has_null) = self.read(*chunk)?;
                let hashes = self.hashes(&rows, &has_null).map(|(_, hash)| hash);
                let is_in_part = |hash: &u64| (u128::from(*hash) * u128::from(part_count)) >> 64 == u128::from(part);
                Ok(hashes.filter(is_in_part).collect::<Vec<u64>>())
            };
            parallel_map(self.threads, chunks, of_chunk)?.into_iter().for_each(|more| hashes.extend(more));
        }
        hashes.sort_unstable();
        let mut equal: Vec<u64> = hashes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        equal.dedup();
        Ok(equal)
    }

    /// The first row whose key an earlier row has, among the rows of these hashes.
    fn compare(&self, cluster: &[usize], suspects: &[u64]) -> Result<Option<(KeyColumns, usize)>> {
        let suspects: HashSet<u64> = suspects.iter().copied().collect();
        let mut known: HashSet<Box<[u8]>> = HashSet::new();
        for chunk in cluster {
            let (columns, rows, has_null) = self.read(*chunk)?;
            let suspected = self.hashes(&rows, &has_null).filter(|(_, hash)| suspects.contains(hash));
            for (row, _) in suspected {
                if !known.insert(rows.row(row).as_ref().into()) {
                    return Ok(Some((columns, row)));
                }
            }
        }
        Ok(None)
    }

    /// A chunk's key columns, the same as bytes, and for each row whether its key has a NULL.
    fn read(&self, chunk: usize) -> Result<(KeyColumns, Rows, Vec<bool>)> {
        let columns = self.scan.read_stored(chunk, &self.key.positions)?;
        let rows = self.converter.convert_columns(&normal(&columns))?;
        let has_null = nulls_of(&columns);
        Ok((columns, rows, has_null))
    }

    /// The rows that may equal others, each with the hash of its key.
    fn hashes<'r>(&'r self, rows: &'r Rows, has_null: &'r [bool]) -> impl Iterator<Item = (usize, u64)> + 'r {
        let keyed = has_null.iter().enumerate().filter(|(_, has_null)| self.key.nulls_equal || !**has_null);
        keyed.map(|(row, _)| (row, self.hasher.hash_one(rows.row(row).as_ref())))
    }

    fn row_count(&self, chunk: usize) -> u32 {
        self.scan.chunks()[chunk].entry.row_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, EngineOptions};
    use crate::read::scan::ScanRequest;
    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use atsdb_core::{ColumnId, ColumnType, MapWidth, TableDefinition, Unique};
    use atsdb_memory::MemoryStore;
    use std::sync::Arc;

    /// The number of clusters, and the row whose key was found to be a duplicate, if the hashes are searched in parts
    /// of `hashes_max`.
    fn found(chunks: &[&[(i64, &str)]], columns: &[u16], hashes_max: u64) -> (usize, Option<i64>) {
        let options = EngineOptions { maintenance: false, ..EngineOptions::default() };
        let engine = Engine::new(Arc::new(MemoryStore::new([7; 16])), options).unwrap();
        let definition = TableDefinition::new("t").with_column("n", ColumnType::Int64, None);
        let definition = definition.with_column("s", ColumnType::Text, Some(MapWidth::U32));
        let table = engine.create_table(&definition).unwrap();
        for rows in chunks {
            let mut batch = engine.batch(None);
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)));
            batch.append(&table, &RecordBatch::try_from_iter([("n", numbers), ("s", texts)]).unwrap()).unwrap();
            batch.commit().unwrap();
        }
        let scan = engine.snapshot().unwrap().scan(&table, &ScanRequest::all(&table)).unwrap();
        let unique = Unique::new(columns.iter().copied().map(ColumnId).collect());
        let key = Key::of(&table.definition, &unique).unwrap();
        let mut search = DuplicateSearch::new(&scan, &key, 2).unwrap();
        search.hashes_max = hashes_max;
        let found = search.find().unwrap().map(|(columns, row)| {
            use arrow::array::AsArray;
            columns[0].as_primitive::<arrow::datatypes::Int64Type>().value(row)
        });
        (search.clusters().len(), found)
    }

    #[test]
    fn only_chunks_that_overlap_are_compared() {
        let apart: [&[(i64, &str)]; 3] = [&[(1, "a"), (5, "a")], &[(11, "a"), (15, "a")], &[(6, "a"), (9, "a")]];
        assert_eq!(found(&apart, &[0], 100), (3, None));
        let chained: [&[(i64, &str)]; 3] = [&[(1, "a"), (5, "a")], &[(9, "b"), (15, "a")], &[(5, "b"), (9, "a")]];
        assert_eq!(found(&chained, &[0, 1], 100), (1, None));
        assert_eq!(found(&chained, &[0], 100).0, 1);
        assert!(found(&chained, &[0], 100).1.is_some());
    }

    #[test]
    fn a_duplicate_is_found_in_whichever_part_of_the_hashes_it_is() {
        let rows: Vec<(i64, &str)> = (0..1_000).map(|number| (number, "a")).collect();
        for twice in [0, 7, 500, 999] {
            let again = [(twice, "a")];
            assert_eq!(found(&[&rows, &again], &[0], 10), (1, Some(twice)));
        }
        assert_eq!(found(&[&rows, &[(7, "b")]], &[0, 1], 10), (1, None));
    }
}
