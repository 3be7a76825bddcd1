//! What becomes of rows whose keys others have: as if the rows had come one after the other.

use crate::batch::keys::groups::Groups;
use atsdb_core::ConflictPolicy;

/// A row whose key another row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Duplicate {
    pub(crate) row: usize,
    /// Which of the keys.
    pub(crate) key: usize,
}

/// For each row whether it stays. `stored` says of each key and group whether the store has a row of it.
pub(crate) fn resolve(
    row_count: usize,
    keys: &[Groups],
    stored: &[Vec<bool>],
    policy: ConflictPolicy,
) -> Result<Vec<bool>, Duplicate> {
    let mut stays = vec![true; row_count];
    let mut holders: Vec<Vec<Option<usize>>> = keys.iter().map(|groups| vec![None; groups.count()]).collect();
    for row in 0..row_count {
        for (key, groups) in keys.iter().enumerate() {
            let Some(group) = groups.group(row) else { continue };
            let holder = holders[key][group as usize];
            match policy {
                ConflictPolicy::Replace => {
                    if let Some(holder) = holder {
                        stays[holder] = false;
                    }
                }
                _ if holder.is_none() && !stored[key][group as usize] => {}
                ConflictPolicy::Keep => stays[row] = false,
                ConflictPolicy::Error => return Err(Duplicate { row, key }),
            }
        }
        if stays[row] {
            let groups = keys.iter().enumerate().filter_map(|(key, groups)| Some((key, groups.group(row)?)));
            groups.for_each(|(key, group)| holders[key][group as usize] = Some(row));
        }
    }
    Ok(stays)
}
