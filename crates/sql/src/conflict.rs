//! What an `INSERT` says of rows whose key is there already, in the words of SQLite, MySQL and PostgreSQL.

use crate::error::{not_supported, sql_error};
use atsdb_core::name::same_name;
use atsdb_core::{ConflictPolicy, Error, Result, Table, Unique};
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, DoUpdate, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, Insert, ObjectName, OnConflictAction, OnInsert, SqliteOnConflict,
};

/// What a statement says; nothing leaves it to the table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct OnDuplicate {
    policy: Option<ConflictPolicy>,
    /// The columns of the key that is meant, or its name.
    key: Option<KeyName>,
    /// `UPDATE SET`: the columns that get the new row's value.
    updated: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq)]
enum KeyName {
    Columns(Vec<String>),
    Constraint(String),
}

impl From<ConflictPolicy> for OnDuplicate {
    fn from(policy: ConflictPolicy) -> Self {
        Self { policy: Some(policy), ..Self::default() }
    }
}

impl OnDuplicate {
    /// Of a parsed `INSERT`.
    pub(crate) fn of(insert: &Insert) -> Result<Self> {
        let by_word = match insert.or {
            _ if insert.replace_into => Some(ConflictPolicy::Replace),
            _ if insert.ignore => Some(ConflictPolicy::Keep),
            Some(SqliteOnConflict::Replace) => Some(ConflictPolicy::Replace),
            Some(SqliteOnConflict::Ignore) => Some(ConflictPolicy::Keep),
            Some(SqliteOnConflict::Abort | SqliteOnConflict::Fail | SqliteOnConflict::Rollback) => {
                Some(ConflictPolicy::Error)
            }
            None => None,
        };
        let clause = match &insert.on {
            None => return Ok(Self { policy: by_word, ..Self::default() }),
            Some(_) if by_word.is_some() => {
                return Err(sql_error("the INSERT says twice what becomes of rows whose key is there"));
            }
            Some(clause) => clause,
        };
        match clause {
            OnInsert::DuplicateKeyUpdate(assignments) => Self::updating(None, assignments),
            OnInsert::OnConflict(clause) => {
                let name = |name: &ObjectName| last(name).ok_or_else(|| not_supported("a constraint of that name"));
                let key = match &clause.conflict_target {
                    None => None,
                    Some(ConflictTarget::Columns(columns)) => {
                        Some(KeyName::Columns(columns.iter().map(|column| column.value.clone()).collect()))
                    }
                    Some(ConflictTarget::OnConstraint(constraint)) => Some(KeyName::Constraint(name(constraint)?)),
                };
                match &clause.action {
                    OnConflictAction::DoNothing => Ok(Self { policy: Some(ConflictPolicy::Keep), key, updated: None }),
                    OnConflictAction::DoUpdate(DoUpdate { assignments, selection: None }) => {
                        Self::updating(key, assignments)
                    }
                    OnConflictAction::DoUpdate(_) => Err(not_supported("ON CONFLICT DO UPDATE ... WHERE")),
                }
            }
            _ => Err(not_supported("this ON clause of an INSERT")),
        }
    }

    fn updating(key: Option<KeyName>, assignments: &[Assignment]) -> Result<Self> {
        let updated = assignments.iter().map(new_value).collect::<Option<Vec<String>>>().ok_or_else(only_new_values)?;
        Ok(Self { policy: Some(ConflictPolicy::Replace), key, updated: Some(updated) })
    }

    /// What becomes of the rows in this table.
    pub(crate) fn policy(&self, table: &Table) -> Result<ConflictPolicy> {
        let definition = &table.definition;
        let Some(policy) = self.policy else { return Ok(definition.on_conflict) };
        if let Some(key) = &self.key {
            if !definition.unique.iter().any(|unique| key.means(table, unique)) {
                return Err(sql_error(format!("table {} has no such key as ON CONFLICT names", definition.name))
                    .with_hint("name the columns of its PRIMARY KEY or of a UNIQUE constraint"));
            }
            if definition.unique.len() > 1 {
                return Err(not_supported("ON CONFLICT of one key in a table that has others")
                    .with_hint("leave out which key: ON CONFLICT DO NOTHING"));
            }
        }
        if let Some(updated) = &self.updated {
            let is_key = |id| definition.unique.iter().any(|unique| unique.columns.contains(&id));
            for name in updated {
                definition.column(name).map_err(crate::error::as_sql_error)?;
            }
            let is_updated = |name: &str| updated.iter().any(|updated| same_name(updated, name));
            let kept = definition.columns.iter().find(|column| !is_key(column.id) && !is_updated(&column.name));
            if definition.unique.len() > 1 || kept.is_some() {
                return Err(only_new_values());
            }
        }
        Ok(policy)
    }
}

impl KeyName {
    fn means(&self, table: &Table, unique: &Unique) -> bool {
        match self {
            Self::Constraint(name) => unique.name.as_ref().is_some_and(|own| same_name(own, name)),
            Self::Columns(names) => {
                let holds =
                    |name: &String| table.definition.column(name).is_ok_and(|found| unique.columns.contains(&found.id));
                names.len() == unique.columns.len() && names.iter().all(holds)
            }
        }
    }
}

/// The column that an assignment gives the value that the new row has in it.
fn new_value(assignment: &Assignment) -> Option<String> {
    let AssignmentTarget::ColumnName(target) = &assignment.target else { return None };
    let target = last(target)?;
    let source = match &assignment.value {
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [Ident { value: row, .. }, column] if same_name(row, "excluded") => column.value.clone(),
            _ => return None,
        },
        Expr::Function(function) if last(&function.name).is_some_and(|name| same_name(&name, "values")) => {
            let FunctionArguments::List(arguments) = &function.args else { return None };
            match arguments.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(column)))] => column.value.clone(),
                _ => return None,
            }
        }
        _ => return None,
    };
    same_name(&target, &source).then_some(target)
}

fn only_new_values() -> Error {
    not_supported("an update of the other row but by all of the new one").with_hint(
        "REPLACE INTO, or set every column outside of the only key to the new row's: SET a = excluded.a, b = excluded.b",
    )
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone())
}
