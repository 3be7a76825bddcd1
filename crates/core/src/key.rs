//! The unique keys of a definition: their names, and what a new definition forbids that an older one allowed.

use crate::column::Column;
use crate::error::{Error, ErrorKind, Result};
use crate::name::{name_key, same_name};
use crate::schema::{ConflictPolicy, TableDefinition, Unique};
use std::collections::HashSet;

impl TableDefinition {
    /// Returns the name of a key: the declared one, or the one that PostgreSQL gives to a key without a name.
    pub fn key_name(&self, key: &Unique) -> String {
        if let Some(name) = &key.name {
            return name.clone();
        }
        if key.primary {
            return format!("{}_pkey", self.local_name());
        }
        let columns = key.columns.iter().filter_map(|id| self.column_by_id(*id));
        let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
        let suffix = if key.index { "idx" } else { "key" };
        format!("{}_{}_{suffix}", self.local_name(), names.join("_"))
    }

    /// Refuses [`ConflictPolicy::Merge`] if the table has several keys: a row could then merge with several rows. A
    /// table with CHECK constraints merges no rows either.
    pub fn check_merge(&self, policy: ConflictPolicy) -> Result<()> {
        self.check_merge_with_conditions(policy)?;
        if policy != ConflictPolicy::Merge || self.unique.len() < 2 {
            return Ok(());
        }
        Err(Error::usage(format!("table {} has several keys: rows merge by one key only", self.name))
            .with_hint("use on_conflict = 'replace', or declare one key"))
    }

    /// Returns the position in [`unique`](Self::unique) of the key with this name, compared without case.
    pub fn key_position(&self, name: &str) -> Option<usize> {
        self.unique.iter().position(|key| same_name(&self.key_name(key), name))
    }

    /// Refuses two indexes or keys with the same name.
    pub(crate) fn check_index_names(&self) -> Result<()> {
        let keys = self.unique.iter().filter_map(|key| key.name.as_ref());
        let (mut all, mut names) = (keys.chain(self.indexes.iter().map(|index| &index.name)), HashSet::new());
        match all.find(|name| !names.insert(name_key(name))) {
            Some(name) => Err(Error::usage(format!("table {} has two indexes or keys named {name}", self.name))),
            None => Ok(()),
        }
    }

    /// Returns the keys that rows may break that were added under an older definition of the table. A key that has all
    /// columns of an older key holds for them.
    pub fn keys_added_to(&self, older: &Self) -> Vec<&Unique> {
        self.unique.iter().filter(|key| !older.unique.iter().any(|held| older.implies(held, key))).collect()
    }

    /// Returns whether rows that obey `held`, a key of this definition, obey `key` of a newer one.
    fn implies(&self, held: &Unique, key: &Unique) -> bool {
        let has_no_null =
            || held.columns.iter().all(|id| self.column_by_id(*id).is_some_and(|column| !column.nullable));
        held.columns.iter().all(|id| key.columns.contains(id))
            && (held.nulls_equal || !key.nulls_equal || has_no_null())
    }

    /// Returns the columns that do not accept NULL, and in which rows that were added under an older definition of the
    /// table may have one.
    pub fn not_null_added_to(&self, older: &Self) -> Vec<&Column> {
        let may_have_null = |column: &&Column| match older.column_by_id(column.id) {
            Some(before) => before.nullable,
            None => column.missing.is_none(),
        };
        self.columns.iter().filter(|column| !column.nullable).filter(may_have_null).collect()
    }

    /// The error for a key that cannot be added because two rows have it, given the values of its columns.
    pub fn duplicated_key(&self, key: &Unique, values: &[String]) -> Error {
        let columns = key.columns.iter().filter_map(|id| self.column_by_id(*id));
        let names: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
        let (name, names, values) = (self.key_name(key), names.join(", "), values.join(", "));
        let message = format!("could not create unique index \"{name}\": Key ({names})=({values}) is duplicated");
        Error::new(ErrorKind::DuplicateKey, message)
    }

    /// The error for a column that cannot refuse NULL because a row has one.
    pub fn contains_null(&self, column: &Column) -> Error {
        Error::invalid(format!("column \"{}\" of table \"{}\" contains null values", column.name, self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column_type::ColumnType;
    use crate::id::ColumnId;

    fn definition(keys: &[(&[u16], bool)]) -> TableDefinition {
        let mut definition = TableDefinition::new("t");
        for name in ["a", "b", "c"] {
            definition = definition.with_column(name, ColumnType::Int64, None);
        }
        let key = |(columns, nulls_equal): &(&[u16], bool)| {
            let columns = columns.iter().copied().map(ColumnId).collect();
            Unique { nulls_equal: *nulls_equal, ..Unique::new(columns) }
        };
        definition.unique = keys.iter().map(key).collect();
        definition
    }

    #[test]
    fn a_key_with_all_columns_of_an_older_one_holds_already() {
        let added = |older: &[(&[u16], bool)], newer: &[(&[u16], bool)]| {
            definition(newer).keys_added_to(&definition(older)).len()
        };
        assert_eq!(added(&[], &[(&[0], false)]), 1);
        assert_eq!(added(&[(&[0], false)], &[(&[0], false), (&[1, 0], false), (&[1], false)]), 1);
        assert_eq!(added(&[(&[0, 1], false)], &[(&[0], false)]), 1);
        assert_eq!(added(&[(&[0], true)], &[(&[0, 1], true), (&[0, 1], false)]), 0);
        assert_eq!(added(&[(&[0], false)], &[(&[0, 1], true)]), 1, "two rows may have NULL in the older key");
        let mut older = definition(&[(&[0], false)]);
        older.columns[0].nullable = false;
        assert!(definition(&[(&[0, 1], true)]).keys_added_to(&older).is_empty());
    }

    #[test]
    fn only_a_column_that_accepted_null_may_contain_one() {
        let older = definition(&[]);
        let mut newer = older.clone().with_column("d", ColumnType::Int64, None);
        newer.columns[1].nullable = false;
        newer.columns[3].nullable = false;
        let names = |newer: &TableDefinition, older: &TableDefinition| -> Vec<String> {
            newer.not_null_added_to(older).iter().map(|column| column.name.clone()).collect()
        };
        assert_eq!(names(&newer, &older), ["b", "d"]);
        assert!(names(&newer, &newer).is_empty());
        newer.columns[3].missing = Some(crate::value::Value::Int(1));
        assert_eq!(names(&newer, &older), ["b"]);
    }

    #[test]
    fn keys_without_a_name_have_that_of_postgresql() {
        let mut definition = definition(&[(&[0, 1], false), (&[2], false)]);
        definition.unique[0].primary = true;
        definition.unique.push(Unique { name: Some("Own".into()), ..Unique::new(vec![ColumnId(1)]) });
        let names: Vec<String> = definition.unique.iter().map(|key| definition.key_name(key)).collect();
        assert_eq!(names, ["t_pkey", "t_c_key", "Own"]);
        assert_eq!(definition.key_position("own"), Some(2));
        definition.check_index_names().unwrap();
        definition.add_index(Some("OWN"), vec![ColumnId(0)]);
        assert!(definition.check_index_names().is_err());
        let error = definition.duplicated_key(&definition.unique[0], &["1".into(), "x".into()]);
        assert_eq!(error.message(), "could not create unique index \"t_pkey\": Key (a, b)=(1, x) is duplicated");
    }
}
