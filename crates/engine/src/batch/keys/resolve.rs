//! Applies the conflict policy to rows whose keys exist, as if the rows had been added one after the other.

use crate::batch::keys::groups::Groups;
use atsdb_core::ConflictPolicy;

/// A row whose key another row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Duplicate {
    pub(crate) row: usize,
    /// The position of the key among the table's keys.
    pub(crate) key: usize,
}

/// Decides for each row whether it is added. `stored` has a flag for each key and group: whether the store has a row of
/// it.
pub(crate) fn resolve(
    row_count: usize,
    keys: &[Groups],
    stored: &[Vec<bool>],
    policy: ConflictPolicy,
) -> Result<Vec<bool>, Duplicate> {
    let mut stays = vec![true; row_count];
    let mut last_rows: Vec<Vec<Option<usize>>> = keys.iter().map(|groups| vec![None; groups.count()]).collect();
    for row in 0..row_count {
        for (key, groups) in keys.iter().enumerate() {
            let Some(group) = groups.group(row) else { continue };
            let last_row = last_rows[key][group as usize];
            match policy {
                ConflictPolicy::Replace | ConflictPolicy::Merge => {
                    if let Some(last_row) = last_row {
                        stays[last_row] = false;
                    }
                }
                _ if last_row.is_none() && !stored[key][group as usize] => {}
                ConflictPolicy::Keep => stays[row] = false,
                ConflictPolicy::Error => return Err(Duplicate { row, key }),
            }
        }
        if stays[row] {
            let groups = keys.iter().enumerate().filter_map(|(key, groups)| Some((key, groups.group(row)?)));
            groups.for_each(|(key, group)| last_rows[key][group as usize] = Some(row));
        }
    }
    Ok(stays)
}
