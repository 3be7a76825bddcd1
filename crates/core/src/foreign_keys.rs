//! The foreign keys of a definition: their names, the parents that they can have, what a new definition forbids that an
//! older one allowed, and the errors. Not owned: when rows are looked up in the parent (`engine`).

use crate::column::Column;
use crate::column_type::ColumnType;
use crate::error::{Error, ErrorKind, Result};
use crate::foreign_key::ForeignKey;
use crate::id::ColumnId;
use crate::name::{check_name, name_key, same_name};
use crate::schema::{TableDefinition, Unique};
use std::collections::HashSet;

impl TableDefinition {
    /// Returns the position in [`foreign_keys`](Self::foreign_keys) of the one with this name, compared without case.
    pub fn foreign_key_position(&self, name: &str) -> Option<usize> {
        self.foreign_keys.iter().position(|key| same_name(&key.name, name))
    }

    /// Returns the foreign keys that refer to a table of this definition.
    pub fn foreign_keys_to<'a>(&'a self, parent: &'a Self) -> impl Iterator<Item = &'a ForeignKey> {
        self.foreign_keys.iter().filter(|key| key.parent.is_of(parent))
    }

    /// Returns the foreign keys that rows may break that were added under an older definition of the table. What
    /// happens when a parent's row goes means nothing for them.
    pub fn foreign_keys_added_to(&self, older: &Self) -> Vec<&ForeignKey> {
        let is_held = |key: &&ForeignKey| older.foreign_keys.iter().any(|held| held.allows_same_rows(key));
        self.foreign_keys.iter().filter(|key| !is_held(key)).collect()
    }

    /// Returns the foreign keys that all rows must satisfy now, and that an older definition did not have or did not
    /// require of all rows.
    pub fn foreign_keys_validated_since(&self, older: &Self) -> Vec<&ForeignKey> {
        let is_held =
            |key: &&ForeignKey| older.foreign_keys.iter().any(|held| !held.not_valid && held.allows_same_rows(key));
        self.foreign_keys.iter().filter(|key| !key.not_valid && !is_held(key)).collect()
    }

    /// Returns whether a row that gets another value in this column is removed and added again. Rows in memory always
    /// are. The slice of a stored row, or whether its key is allowed, may depend on the value. If constraints need not
    /// hold for older rows, all changed rows are: a chunk of new rows has only rows that must satisfy them.
    pub fn moves_rows(&self, column: ColumnId) -> bool {
        self.is_in_memory()
            || self.time.is_some_and(|time| time.column == column)
            || self.unique.iter().any(|unique| unique.columns.contains(&column))
            || self.has_unvalidated()
    }

    /// Returns whether there are constraints that older rows need not satisfy.
    fn has_unvalidated(&self) -> bool {
        self.foreign_keys.iter().any(|key| key.not_valid) || self.checks.iter().any(|check| check.not_valid)
    }

    /// Returns the name that PostgreSQL gives to a foreign key without a name over these columns.
    pub fn free_foreign_key_name(&self, columns: &[ColumnId]) -> String {
        let names = columns.iter().filter_map(|id| self.column_by_id(*id)).map(|column| column.name.as_str());
        let names: Vec<&str> = names.collect();
        self.free_constraint_name(format!("{}_{}_fkey", self.local_name(), names.join("_")))
    }

    /// Returns whether a constraint has this name, compared without case.
    pub(crate) fn has_constraint(&self, name: &str) -> bool {
        self.check_position(name).is_some()
            || self.key_position(name).is_some()
            || self.foreign_key_position(name).is_some()
    }

    /// Removes the foreign keys that have a column, which is dropped.
    pub fn drop_foreign_keys_of(&mut self, column: ColumnId) {
        self.foreign_keys.retain(|key| !key.columns.contains(&column));
    }

    /// Refuses a foreign key of this table, or of one that will have this definition, that its parent cannot have.
    pub fn check_reference(&self, key: &ForeignKey, parent: &Self) -> Result<()> {
        let name = parent.local_name();
        let refuse = |problem: &str, hint: &str| {
            let message = format!("foreign key constraint \"{}\": {problem}", key.name);
            Err(Error::new(ErrorKind::Sql, message).with_hint(hint.to_owned()))
        };
        if parent.view.is_some() || parent.sequence || parent.rollup.is_some() || parent.system {
            let message = format!("referenced relation \"{name}\" is not a table");
            return Err(Error::new(ErrorKind::Sql, message).with_hint("name a table that has a key"));
        }
        if parent.is_in_memory() {
            return refuse(
                &format!("table \"{name}\" is in memory, which is not supported"),
                "refer to a stored table",
            );
        }
        if parent.retention.is_some() {
            let problem = format!("table \"{name}\" has a retention, which is not supported");
            return refuse(
                &problem,
                "rows that expire cannot be referred to: leave out the retention, or the reference",
            );
        }
        let columns = key.parent_columns.iter().map(|column| parent.referenced_column(column));
        let columns = columns.collect::<Result<Vec<&Column>>>()?;
        let own = key.columns.iter().map(|id| {
            let no_column = || Error::internal(format!("table {}: no column {} of a foreign key", self.name, id.0));
            self.column_by_id(*id).ok_or_else(no_column)
        });
        let own = own.collect::<Result<Vec<&Column>>>()?;
        if own.len() != columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(Error::new(ErrorKind::Sql, message).with_hint("name as many columns of the other table"));
        }
        if parent.key_over(&columns).is_none() {
            let message = format!("there is no unique constraint matching given keys for referenced table \"{name}\"");
            return Err(Error::new(ErrorKind::Sql, message).with_hint("refer to its primary key, or declare UNIQUE"));
        }
        match own.iter().zip(&columns).find(|(own, other)| !can_refer(own.column_type, other.column_type)) {
            None => Ok(()),
            Some((own, other)) => {
                let message = format!(
                    "foreign key constraint \"{}\" cannot be implemented: Key columns \"{}\" and \"{}\" are of \
                     incompatible types: {} and {}",
                    key.name,
                    own.name,
                    other.name,
                    own.column_type.sql_name(),
                    other.column_type.sql_name()
                );
                Err(Error::new(ErrorKind::Sql, message).with_hint("give both columns the same type"))
            }
        }
    }

    fn referenced_column(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|column| same_name(&column.name, name)).ok_or_else(|| {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            Error::new(ErrorKind::Sql, message)
        })
    }

    /// Returns the key that has exactly these columns, in any order.
    pub fn key_over(&self, columns: &[&Column]) -> Option<&Unique> {
        let ids: HashSet<ColumnId> = columns.iter().map(|column| column.id).collect();
        let is_over =
            |key: &&Unique| key.columns.len() == columns.len() && key.columns.iter().all(|id| ids.contains(id));
        self.unique.iter().filter(|_| ids.len() == columns.len()).find(is_over)
    }

    /// The error for a row whose key the parent does not have. `values` are those of the columns, as text.
    pub fn reference_missing(&self, key: &ForeignKey, values: &[String]) -> Error {
        let names: Vec<&str> =
            key.columns.iter().filter_map(|id| self.column_by_id(*id)).map(|column| column.name.as_str()).collect();
        let message = format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\": Key ({})=({}) is not present in \
             table \"{}\"",
            self.local_name(),
            key.name,
            names.join(", "),
            values.join(", "),
            key.parent.name
        );
        Error::new(ErrorKind::ForeignKeyViolation, message)
    }

    /// The error for a row that has a NULL in some of the columns of a foreign key with `MATCH FULL`, but not in all.
    pub fn reference_mixed(&self, key: &ForeignKey) -> Error {
        let message = format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\": MATCH FULL does not allow mixing \
             of null and nonnull key values",
            self.local_name(),
            key.name
        );
        Error::new(ErrorKind::ForeignKeyViolation, message)
    }

    /// The error for a row that goes while rows of this table refer to it. `values` are those of the parent's columns,
    /// as text.
    pub fn still_referenced(&self, key: &ForeignKey, values: &[String]) -> Error {
        let (parent, table) = (&key.parent.name, self.local_name());
        let message = format!(
            "update or delete on table \"{parent}\" violates foreign key constraint \"{}\" on table \"{table}\": Key \
             ({})=({}) is still referenced from table \"{table}\"",
            key.name,
            key.parent_columns.join(", "),
            values.join(", "),
        );
        Error::new(ErrorKind::ForeignKeyViolation, message)
    }

    /// Refuses foreign keys that a definition cannot have, whatever their parents are.
    pub(crate) fn check_foreign_keys(&self) -> Result<()> {
        let mut names: HashSet<String> = HashSet::new();
        for key in &self.foreign_keys {
            check_name("constraint", &key.name)?;
            let is_taken = self.check_position(&key.name).is_some() || self.key_position(&key.name).is_some();
            if is_taken || !names.insert(name_key(&key.name)) {
                let (name, table) = (&key.name, self.local_name());
                let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
                return Err(Error::usage(message).with_hint("give it another name"));
            }
            if let Some(id) = key.columns.iter().find(|id| self.column_by_id(**id).is_none()) {
                let (table, name) = (&self.name, &key.name);
                return Err(Error::internal(format!("table {table}: foreign key {name} has no column {}", id.0)));
            }
            if key.set_columns.iter().any(|id| !key.columns.contains(id)) {
                let (table, name) = (&self.name, &key.name);
                return Err(Error::internal(format!("table {table}: foreign key {name} sets a column of others")));
            }
        }
        if self.foreign_keys.is_empty() {
            return Ok(());
        }
        if self.is_in_memory() {
            let message = format!("table {} is in memory: a foreign key is not supported there", self.name);
            return Err(Error::new(ErrorKind::Sql, message).with_hint("declare it for a stored table"));
        }
        match self.rollup.is_some() || self.sequence || self.logs.is_some() {
            true => Err(Error::usage(format!("{} cannot have foreign keys", self.name))
                .with_hint("declare them for the table that it reads")),
            false => Ok(()),
        }
    }
}

impl ForeignKey {
    /// Returns whether both accept the same new rows: they refer to the same columns.
    pub fn allows_same_rows(&self, other: &Self) -> bool {
        self.columns == other.columns
            && self.match_full == other.match_full
            && self.parent == other.parent
            && self.parent_columns.len() == other.parent_columns.len()
            && self.parent_columns.iter().zip(&other.parent_columns).all(|(one, other)| same_name(one, other))
    }
}

/// Returns whether values of the two types can be compared as keys.
fn can_refer(own: ColumnType, other: ColumnType) -> bool {
    own == other || (own.fits_int64() && other.fits_int64())
}

impl ColumnType {
    /// Returns whether it is an integer type all of whose values fit a signed 64-bit integer.
    pub fn fits_int64(self) -> bool {
        use ColumnType as T;
        matches!(self, T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign_key::{Initially, ReferentialAction};
    use crate::qualified_name::QualifiedName;

    fn parent() -> TableDefinition {
        let mut definition = TableDefinition::new("p").with_column("id", ColumnType::Int64, None);
        definition = definition.with_column("code", ColumnType::Text, None);
        definition.unique.push(Unique { primary: true, ..Unique::new(vec![ColumnId(0)]) });
        definition.columns[0].nullable = false;
        definition
    }

    fn child(columns: &[u16], parent_columns: &[&str]) -> TableDefinition {
        let mut definition = TableDefinition::new("c").with_column("a", ColumnType::Int32, None);
        definition = definition.with_column("b", ColumnType::Text, None);
        let columns: Vec<ColumnId> = columns.iter().copied().map(ColumnId).collect();
        let parent = QualifiedName { schema: None, name: "p".to_owned() };
        let parent_columns = parent_columns.iter().map(|name| (*name).to_owned()).collect();
        let name = definition.free_foreign_key_name(&columns);
        definition.foreign_keys.push(ForeignKey::new(name, columns, parent, parent_columns));
        definition
    }

    fn problem(child: &TableDefinition, parent: &TableDefinition) -> Option<String> {
        child.check_reference(&child.foreign_keys[0], parent).err().map(|error| error.message().to_owned())
    }

    #[test]
    fn a_definition_without_foreign_keys_is_stored_as_before() {
        assert!(!serde_json::to_string(&parent()).unwrap().contains("foreign"));
        let mut definition = child(&[0], &["id"]);
        let json = serde_json::to_string(&definition).unwrap();
        let expected =
            r#""foreign_keys":[{"name":"c_a_fkey","columns":[0],"parent":{"name":"p"},"parent_columns":["id"]}]"#;
        assert!(json.contains(expected), "{json}");
        definition.foreign_keys[0].on_delete = ReferentialAction::SetNull;
        let json = serde_json::to_string(&definition).unwrap();
        assert!(json.contains(r#""on_delete":"set_null""#), "{json}");
        assert_eq!(serde_json::from_str::<TableDefinition>(&json).unwrap(), definition);
        definition.foreign_keys[0] = ForeignKey {
            on_delete: ReferentialAction::SetNull,
            set_columns: vec![ColumnId(0)],
            on_update: ReferentialAction::SetDefault,
            match_full: true,
            deferrable: Some(Initially::Deferred),
            not_valid: true,
            ..definition.foreign_keys[0].clone()
        };
        let json = serde_json::to_string(&definition).unwrap();
        let actions = r#""on_delete":"set_null","set_columns":[0],"on_update":"set_default","#;
        let clauses = r#""match_full":true,"deferrable":"deferred","not_valid":true}"#;
        assert!(json.contains(&format!("{actions}{clauses}")), "{json}");
        assert_eq!(serde_json::from_str::<TableDefinition>(&json).unwrap(), definition);
    }

    #[test]
    fn only_a_key_of_the_parent_with_the_same_types_can_be_referred_to() {
        assert_eq!(problem(&child(&[0], &["ID"]), &parent()), None);
        let no_key = problem(&child(&[1], &["code"]), &parent()).unwrap();
        assert_eq!(no_key, "there is no unique constraint matching given keys for referenced table \"p\"");
        let types = problem(&child(&[1], &["id"]), &parent()).unwrap();
        assert!(types.contains("are of incompatible types: TEXT and BIGINT"), "{types}");
        let missing = problem(&child(&[0], &["x"]), &parent()).unwrap();
        assert_eq!(missing, "column \"x\" referenced in foreign key constraint does not exist");
        assert!(problem(&child(&[0, 1], &["id"]), &parent()).unwrap().contains("disagree"));
        let in_memory = TableDefinition { memory: Some(crate::schema::InMemory::default()), ..parent() };
        assert!(problem(&child(&[0], &["id"]), &in_memory).unwrap().contains("not supported"));
        assert!(problem(&child(&[0], &["id"]), &TableDefinition::new_view("p", "SELECT 1")).is_some());
    }

    #[test]
    fn names_and_errors_are_those_of_postgresql() {
        let mut definition = child(&[0], &["id"]);
        assert_eq!(definition.free_foreign_key_name(&[ColumnId(0)]), "c_a_fkey1");
        assert_eq!(definition.free_foreign_key_name(&[ColumnId(0), ColumnId(1)]), "c_a_b_fkey");
        let error = definition.reference_missing(&definition.foreign_keys[0], &["5".to_owned()]);
        assert_eq!(
            error.message(),
            "insert or update on table \"c\" violates foreign key constraint \"c_a_fkey\": Key (a)=(5) is not present in \
             table \"p\""
        );
        assert_eq!(error.kind().sqlstate(), "23503");
        let error = definition.still_referenced(&definition.foreign_keys[0], &["1".to_owned()]);
        assert_eq!(
            error.message(),
            "update or delete on table \"p\" violates foreign key constraint \"c_a_fkey\" on table \"c\": Key (id)=(1) \
             is still referenced from table \"c\""
        );
        definition.check().unwrap();
        definition.foreign_keys.push(definition.foreign_keys[0].clone());
        assert!(definition.check().unwrap_err().message().contains("already exists"));
        definition.foreign_keys.pop();
        let mixed = definition.reference_mixed(&definition.foreign_keys[0]);
        assert_eq!(
            mixed.message(),
            "insert or update on table \"c\" violates foreign key constraint \"c_a_fkey\": MATCH FULL does not allow \
             mixing of null and nonnull key values"
        );
    }

    #[test]
    fn only_another_reference_may_be_broken_by_older_rows() {
        let older = child(&[0], &["id"]);
        let mut newer = older.clone();
        newer.foreign_keys[0].name = "other".to_owned();
        newer.foreign_keys[0].on_delete = ReferentialAction::Cascade;
        assert!(newer.foreign_keys_added_to(&older).is_empty());
        newer.foreign_keys[0].match_full = true;
        assert_eq!(newer.foreign_keys_added_to(&older).len(), 1);
        newer.foreign_keys[0].match_full = false;
        newer.foreign_keys[0].parent.name = "q".to_owned();
        assert_eq!(newer.foreign_keys_added_to(&older).len(), 1);
        newer.drop_foreign_keys_of(ColumnId(0));
        assert!(newer.foreign_keys.is_empty());
    }

    #[test]
    fn older_rows_are_checked_once_a_reference_is_valid() {
        let none = TableDefinition { foreign_keys: Vec::new(), ..child(&[0], &["id"]) };
        let mut not_valid = child(&[0], &["id"]);
        not_valid.foreign_keys[0].not_valid = true;
        assert_eq!(not_valid.foreign_keys_added_to(&none).len(), 1, "new rows must satisfy it");
        assert!(not_valid.foreign_keys_validated_since(&none).is_empty());
        let valid = child(&[0], &["id"]);
        assert!(valid.foreign_keys_added_to(&not_valid).is_empty());
        assert_eq!(valid.foreign_keys_validated_since(&not_valid).len(), 1);
        assert_eq!(valid.foreign_keys_validated_since(&none).len(), 1);
        assert!(valid.foreign_keys_validated_since(&valid).is_empty());
        assert!(not_valid.moves_rows(ColumnId(1)) && !valid.moves_rows(ColumnId(1)));
    }
}
