//! Rows in any order, grouped by chunk, so that each chunk is read once.

use datafusion::arrow::array::UInt32Array;
use std::collections::HashMap;

/// The locations of rows.
pub(super) struct RowsByChunk {
    /// The position of each chunk in the scan, and the numbers of the rows in it.
    pub(super) chunks: Vec<(usize, UInt32Array)>,
    /// The rows in order, each as the position of its chunk in `chunks` and its own position among the chunk's rows.
    pub(super) rows: Vec<(usize, usize)>,
}

impl RowsByChunk {
    /// Groups rows by the positions of their chunks. `numbers` are the rows' numbers in the chunks.
    pub(super) fn new(positions: &[u32], numbers: &[u32]) -> Self {
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut chunks: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut rows = Vec::with_capacity(positions.len());
        for (position, number) in positions.iter().zip(numbers) {
            let place = *places.entry(*position).or_insert_with(|| {
                chunks.push((*position as usize, Vec::new()));
                chunks.len() - 1
            });
            let of_chunk = &mut chunks[place].1;
            rows.push((place, of_chunk.len()));
            of_chunk.push(*number);
        }
        let chunks = chunks.into_iter().map(|(position, numbers)| (position, UInt32Array::from(numbers))).collect();
        Self { chunks, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chunk_comes_once_and_each_row_finds_its_place() {
        let grouped = RowsByChunk::new(&[7, 2, 7, 7, 2], &[30, 5, 10, 30, 4]);
        let chunks: Vec<(usize, Vec<u32>)> =
            grouped.chunks.iter().map(|(position, numbers)| (*position, numbers.values().to_vec())).collect();
        assert_eq!(chunks, [(7, vec![30, 10, 30]), (2, vec![5, 4])]);
        assert_eq!(grouped.rows, [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1)]);
    }
}
