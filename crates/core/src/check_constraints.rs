//! The CHECK constraints of a definition: their names, what a new definition forbids that an older one allowed, and the
//! errors. Not owned: the meaning of a condition (`sql`), and when rows are tested (`engine`).

use crate::check::Check;
use crate::error::{Error, ErrorKind, Result};
use crate::id::ColumnId;
use crate::name::{check_name, name_key, same_name};
use crate::schema::{ConflictPolicy, TableDefinition};
use std::collections::HashSet;

impl TableDefinition {
    /// Returns the position in [`checks`](Self::checks) of the constraint with this name, compared without case.
    pub fn check_position(&self, name: &str) -> Option<usize> {
        self.checks.iter().position(|check| same_name(&check.name, name))
    }

    /// Returns the constraints that rows may break that were added under an older definition of the table. A condition
    /// over a column of another type may have another value, as of the column's text.
    pub fn checks_added_to(&self, older: &Self) -> Vec<&Check> {
        self.checks.iter().filter(|check| !self.is_check_in(older, check, |_| true)).collect()
    }

    /// Returns the constraints that all rows must satisfy now, and that an older definition did not have or did not
    /// require of all rows.
    pub fn checks_validated_since(&self, older: &Self) -> Vec<&Check> {
        let is_held = |check: &Check| self.is_check_in(older, check, |held| !held.not_valid);
        self.checks.iter().filter(|check| !check.not_valid && !is_held(check)).collect()
    }

    /// Returns whether an older definition has the same condition, with the same meaning, in a constraint of a kind.
    fn is_check_in(&self, older: &Self, check: &Check, is_of_kind: impl Fn(&Check) -> bool) -> bool {
        let has_same_type = |id: &ColumnId| {
            let type_in = |definition: &Self| definition.column_by_id(*id).map(|column| column.column_type);
            type_in(self) == type_in(older)
        };
        let is_same = |held: &Check| held.condition == check.condition && held.columns == check.columns;
        let mut held = older.checks.iter().filter(|held| is_of_kind(held));
        held.any(is_same) && check.columns.iter().all(has_same_type)
    }

    /// Returns the name that PostgreSQL gives to a constraint without a name over these columns.
    pub fn free_check_name(&self, columns: &[ColumnId]) -> String {
        let column = match columns {
            [one] => self.column_by_id(*one),
            _ => None,
        };
        let base = match column {
            Some(column) => format!("{}_{}_check", self.local_name(), column.name),
            None => format!("{}_check", self.local_name()),
        };
        self.free_constraint_name(base)
    }

    /// Returns a name that no constraint has: this one, or this one with a number.
    pub(crate) fn free_constraint_name(&self, base: String) -> String {
        let is_free = |name: &String| !self.has_constraint(name);
        let numbered = (1_u32..).map(|number| format!("{base}{number}"));
        std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base)
    }

    /// Removes the constraints that name a column, which is dropped.
    pub fn drop_checks_of(&mut self, column: ColumnId) {
        self.checks.retain(|check| !check.columns.contains(&column));
    }

    /// The error for a row that does not satisfy a constraint.
    pub fn check_violation(&self, check: &Check) -> Error {
        let (table, name) = (self.local_name(), &check.name);
        let message = format!("new row for relation \"{table}\" violates check constraint \"{name}\"");
        Error::new(ErrorKind::CheckViolation, message)
    }

    /// The error for a constraint that cannot be added because an existing row does not satisfy it.
    pub fn violated_check(&self, check: &Check) -> Error {
        let (table, name) = (self.local_name(), &check.name);
        let message = format!("check constraint \"{name}\" of relation \"{table}\" is violated by some row");
        Error::new(ErrorKind::CheckViolation, message)
    }

    /// Refuses constraints that a definition cannot have.
    pub(crate) fn check_conditions(&self) -> Result<()> {
        let mut names: HashSet<String> = HashSet::new();
        for check in &self.checks {
            check_name("constraint", &check.name)?;
            if self.key_position(&check.name).is_some() || !names.insert(name_key(&check.name)) {
                let (name, table) = (&check.name, self.local_name());
                let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
                return Err(Error::usage(message).with_hint("give it another name"));
            }
            if let Some(id) = check.columns.iter().find(|id| self.column_by_id(**id).is_none()) {
                let (table, name) = (&self.name, &check.name);
                return Err(Error::internal(format!("table {table}: constraint {name} names no column {}", id.0)));
            }
        }
        if !self.checks.is_empty() && (self.rollup.is_some() || self.sequence || self.logs.is_some()) {
            return Err(Error::usage(format!("{} cannot have CHECK constraints", self.name))
                .with_hint("declare them for the table that it reads"));
        }
        Ok(())
    }

    /// Refuses [`ConflictPolicy::Merge`] for a table with constraints: the merged row is known only when the batch is
    /// settled.
    pub(crate) fn check_merge_with_conditions(&self, policy: ConflictPolicy) -> Result<()> {
        if policy != ConflictPolicy::Merge || self.checks.is_empty() {
            return Ok(());
        }
        Err(Error::usage(format!("table {} has CHECK constraints: its rows cannot be merged", self.name))
            .with_hint("use on_conflict = 'replace', or INSERT ... ON CONFLICT DO UPDATE"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column_type::ColumnType;
    use crate::schema::Unique;

    fn definition() -> TableDefinition {
        ["a", "b"]
            .iter()
            .fold(TableDefinition::new("t"), |definition, name| definition.with_column(*name, ColumnType::Int64, None))
    }

    fn check(name: &str, condition: &str, columns: &[u16]) -> Check {
        let columns = columns.iter().copied().map(ColumnId).collect();
        Check { name: name.to_owned(), condition: condition.to_owned(), columns, not_valid: false }
    }

    #[test]
    fn a_definition_without_checks_is_stored_as_before() {
        let mut definition = definition();
        assert!(!serde_json::to_string(&definition).unwrap().contains("checks"));
        definition.checks.push(check("positive", "a > 0", &[0]));
        let json = serde_json::to_string(&definition).unwrap();
        assert!(json.contains(r#""checks":[{"name":"positive","condition":"a > 0","columns":[0]}]"#), "{json}");
        assert_eq!(serde_json::from_str::<TableDefinition>(&json).unwrap(), definition);
    }

    #[test]
    fn constraints_without_a_name_have_that_of_postgresql() {
        let mut definition = definition();
        let named = [(vec![0], "t_a_check"), (vec![0], "t_a_check1"), (vec![0, 1], "t_check"), (vec![], "t_check1")];
        for (columns, expected) in named {
            let columns: Vec<ColumnId> = columns.into_iter().map(ColumnId).collect();
            let name = definition.free_check_name(&columns);
            assert_eq!(name, expected);
            definition.checks.push(Check { name, condition: "true".to_owned(), columns, not_valid: false });
        }
        definition.check().unwrap();
    }

    #[test]
    fn only_a_new_condition_may_be_broken_by_older_rows() {
        let mut older = definition();
        older.checks.push(check("x", "a > 0", &[0]));
        let mut newer = older.clone();
        newer.checks[0].name = "y".to_owned();
        assert!(newer.checks_added_to(&older).is_empty(), "a name means nothing");
        newer.checks.push(check("z", "b > 0", &[1]));
        newer.checks.push(check("w", "a > 0", &[1]));
        let names: Vec<&str> = newer.checks_added_to(&older).iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, ["z", "w"]);
        older.columns[0].column_type = ColumnType::Int32;
        let names: Vec<&str> = newer.checks_added_to(&older).iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, ["y", "z", "w"], "the type of a has changed");
        newer.drop_checks_of(ColumnId(1));
        assert_eq!(newer.checks.len(), 1);
    }

    #[test]
    fn older_rows_are_tested_once_a_condition_is_valid() {
        let none = definition();
        let mut valid = none.clone();
        valid.checks.push(check("x", "a > 0", &[0]));
        let mut not_valid = valid.clone();
        not_valid.checks[0].not_valid = true;
        assert_eq!(not_valid.checks_added_to(&none).len(), 1, "new rows must satisfy it");
        assert!(not_valid.checks_validated_since(&none).is_empty());
        assert!(valid.checks_added_to(&not_valid).is_empty());
        assert_eq!(valid.checks_validated_since(&not_valid).len(), 1);
        assert_eq!(valid.checks_validated_since(&none).len(), 1);
        assert!(serde_json::to_string(&not_valid).unwrap().contains(r#""columns":[0],"not_valid":true}"#));
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let mut definition = definition();
        definition.unique.push(Unique { name: Some("one".into()), ..Unique::new(vec![ColumnId(0)]) });
        definition.checks.push(check("ONE", "a > 0", &[0]));
        assert!(definition.check().unwrap_err().to_string().contains("already exists"));
        definition.checks[0].name = "positive".to_owned();
        definition.check().unwrap();
        definition.on_conflict = ConflictPolicy::Merge;
        assert!(definition.check().unwrap_err().to_string().contains("cannot be merged"));
        definition.on_conflict = ConflictPolicy::Replace;
        definition.checks[0].columns = vec![ColumnId(7)];
        assert_eq!(definition.check().unwrap_err().kind(), ErrorKind::Internal);
    }

    #[test]
    fn errors_have_the_words_of_postgresql() {
        let mut definition = definition();
        definition.rename(Some("s"), "t");
        let positive = check("positive", "a > 0", &[0]);
        let error = definition.check_violation(&positive);
        assert_eq!(error.message(), "new row for relation \"t\" violates check constraint \"positive\"");
        assert_eq!((error.kind().sqlstate(), error.kind().python_base()), ("23514", "IntegrityError"));
        let error = definition.violated_check(&positive);
        assert_eq!(error.message(), "check constraint \"positive\" of relation \"t\" is violated by some row");
    }
}
