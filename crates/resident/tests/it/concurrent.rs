//! Readers while others load rows: each reader sees the table before or after a load, never in between.

use crate::support::{Row, all, append, residents, state};
use atsdb_core::ConflictPolicy;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn readers_see_whole_loads_only() {
    const LOADS: i32 = 40;
    const ROWS: i32 = 700;
    let residents = residents();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = 0;
                while !done.load(Ordering::Acquire) {
                    let state = state(&residents, false);
                    let rows = all(&state);
                    assert_eq!(rows.len() % ROWS as usize, 0, "a part of a load");
                    assert!(rows.len() >= seen, "rows that were there are gone");
                    seen = rows.len();
                    let loads: std::collections::BTreeSet<_> = rows.iter().map(|(row, _)| row.0).collect();
                    assert_eq!(loads.len() * ROWS as usize, rows.len());
                }
            });
        }
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let residents = &residents;
                scope.spawn(move || {
                    for load in 0..LOADS / 2 {
                        let rows: Vec<Row> =
                            (0..ROWS).map(|row| (Some(load * 2 + writer), Some(format!("text {row}")))).collect();
                        append(residents, false, &rows, ConflictPolicy::Error).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Release);
    });
    assert_eq!(state(&residents, false).row_count(), (LOADS * ROWS) as usize);
}
