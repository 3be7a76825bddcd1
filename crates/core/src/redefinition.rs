//! The rule of the [`Store`](crate::Store) contract for several redefinitions in one change.

use crate::error::{Error, Result};
use crate::id::TableId;
use crate::refusal;
use crate::schema::TableDefinition;
use crate::store::Redefinition;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Returns the last definition of each table. `stored` returns the definition that a table has before the change.
///
/// Errors: a definition is invalid, or is not made from the one before it.
pub fn last_definitions<D: Borrow<TableDefinition>, E: From<Error>>(
    redefinitions: &[Redefinition],
    mut stored: impl FnMut(TableId) -> Result<D, E>,
) -> Result<BTreeMap<TableId, &TableDefinition>, E> {
    let mut last: BTreeMap<TableId, &TableDefinition> = BTreeMap::new();
    for Redefinition { table, from, to } in redefinitions {
        to.check()?;
        let is_same = match last.get(table) {
            Some(definition) => *definition == from,
            None => Borrow::<TableDefinition>::borrow(&stored(*table)?) == from,
        };
        if !is_same {
            return Err(refusal::table_changed(&from.name).into());
        }
        last.insert(*table, to);
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column_type::ColumnType;
    use crate::error::ErrorKind;

    fn definition(name: &str) -> TableDefinition {
        TableDefinition::new(name).with_column("x", ColumnType::Int64, None)
    }

    fn renamed(from: &str, to: &str) -> Redefinition {
        Redefinition { table: TableId(1), from: definition(from), to: definition(to) }
    }

    #[test]
    fn each_redefinition_begins_with_the_one_before_it() {
        let of_stored = |redefinitions: &[Redefinition]| {
            let last = last_definitions(redefinitions, |_| Ok::<_, Error>(definition("a")))?;
            Ok::<_, Error>(last.values().map(|definition| definition.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(of_stored(&[renamed("a", "b"), renamed("b", "c")]).unwrap(), ["c"]);
        assert_eq!(of_stored(&[renamed("a", "b"), renamed("a", "c")]).unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(of_stored(&[renamed("b", "c")]).unwrap_err().kind(), ErrorKind::Conflict);
    }
}
