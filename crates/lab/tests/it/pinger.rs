//! The month of PingER: exactly the published counts, and the hosts of the published queries.

use atsdb_lab::generator::pinger::{
    DATA_ROWS, META_ROWS, Pinger, START_SECONDS, data_batches, meta_batch, write_pinger,
};
use std::collections::{HashMap, HashSet};

#[test]
fn counts_are_exact_for_every_seed() {
    for seed in [1, 2] {
        let pinger = Pinger::new(seed);
        assert_eq!(pinger.meta_rows().len(), META_ROWS);
        let mut keys = HashSet::new();
        for row in pinger.data_rows() {
            assert!((0..31 * 86_400).contains(&(row.timestamp - START_SECONDS)), "outside December 2001");
            assert!(keys.insert((row.meta_id, row.timestamp)), "metaID and timestamp are the key");
        }
        assert_eq!(keys.len(), DATA_ROWS);
    }
}

#[test]
fn twenty_two_sources_ask_four_to_nine_destinations() {
    let pinger = Pinger::new(1);
    let mut destinations: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (position, row) in pinger.meta_rows().iter().enumerate() {
        assert_eq!(row.meta_id as usize, position + 1);
        assert_ne!(row.ip_name_src, row.ip_name_dst);
        destinations.entry(row.ip_name_src).or_default().insert(row.ip_name_dst);
    }
    assert_eq!(destinations.len(), 22);
    assert!(destinations.values().all(|hosts| (4..=9).contains(&hosts.len())), "{destinations:?}");
    let to_slac = destinations.values().filter(|hosts| hosts.contains("slac.stanford.edu")).count();
    assert_eq!(to_slac, 21);
    assert!(["slac.stanford.edu", "bnl.gov", "hep.net"].iter().all(|host| destinations.contains_key(host)));
}

#[test]
fn files_and_batches_hold_the_same_month() {
    let folder = tempfile::tempdir().expect("a folder");
    let (meta, data) = write_pinger(folder.path(), 1).expect("two files");
    let meta = std::fs::read_to_string(meta).expect("metaData.csv");
    assert_eq!(meta.lines().count(), 1 + META_ROWS);
    assert_eq!(meta.lines().nth(1).map(|line| line.split(',').count()), Some(9));

    let pinger = Pinger::new(1);
    assert_eq!((meta_batch(&pinger).num_rows(), meta_batch(&pinger).num_columns()), (META_ROWS, 9));
    let text = std::fs::read_to_string(data).expect("data_200112.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let (mut rows, mut nulls) = (0, vec![0; names.len()]);
    for batch in data_batches(&pinger, 50_000) {
        assert_eq!(batch.schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), names);
        rows += batch.num_rows();
        nulls.iter_mut().zip(batch.columns()).for_each(|(count, column)| *count += column.null_count());
    }
    let mut empty = vec![0; names.len()];
    let line_count = lines
        .map(|line| {
            assert_eq!(line.split(',').count(), names.len(), "{line}");
            empty.iter_mut().zip(line.split(',')).for_each(|(count, field)| *count += usize::from(field.is_empty()));
        })
        .count();
    assert_eq!((rows, line_count), (DATA_ROWS, DATA_ROWS));
    assert_eq!(nulls, empty);
    assert_eq!((nulls[0], nulls[5]), (0, 0));
    assert!(nulls[1] > 0 && nulls[1] < DATA_ROWS / 50, "round trips are there but for dead lines");
    assert!(nulls[6..].iter().all(|count| *count > DATA_ROWS * 8 / 10), "mostly NULL after maxRtt: {nulls:?}");
}
