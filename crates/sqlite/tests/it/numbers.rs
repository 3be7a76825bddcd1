//! Numbers of chunks: they ascend in the order of commits, and none is given twice, although writers reserve several.

use crate::support::{LAYOUTS, NOW_MS, Scratch, create, open, visible};
use atsdb_core::{Change, ChunkId, Durability, Store};
use atsdb_testkit::sample::Plan;
use std::collections::BTreeSet;

/// The writer of each commit, and its number of chunks. Writers use up the numbers that they have reserved to the last
/// one, leave some to be skipped, and need more than they reserve at once.
const COMMITS: [(usize, u64); 16] = [
    (0, 1),
    (0, 31),
    (0, 1),
    (1, 1),
    (0, 1),
    (1, 1),
    (1, 30),
    (1, 1),
    (1, 1),
    (0, 32),
    (0, 1),
    (1, 33),
    (1, 1),
    (0, 40),
    (1, 31),
    (0, 2),
];

#[test]
fn numbers_of_chunks_ascend_in_the_order_of_commits_by_two_writers() {
    for layout in LAYOUTS {
        let scratch = Scratch::new();
        let writers = [0, 1].map(|_| open(&scratch.path("t"), layout, Durability::Off));
        let table = create(&writers[0], "t");
        let (mut known, mut seed) = (BTreeSet::<ChunkId>::new(), 0);
        for (step, (writer, count)) in COMMITS.into_iter().enumerate() {
            let add = (seed..seed + count).map(|seed| Plan::new(seed).chunk(table)).collect();
            seed += count;
            let change = Change { add, ..Change::default() };
            writers[writer].commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
            let all: BTreeSet<ChunkId> = visible(&writers[1 - writer], table).iter().map(|chunk| chunk.id).collect();
            let new: BTreeSet<ChunkId> = all.difference(&known).copied().collect();
            assert_eq!(new.len() as u64, count, "{layout:?}, commit {step}");
            assert!(known.last() < new.first(), "{layout:?}, commit {step}: {new:?} after {:?}", known.last());
            known = all;
        }
        assert_eq!(writers[0].verify().unwrap(), []);
    }
}
