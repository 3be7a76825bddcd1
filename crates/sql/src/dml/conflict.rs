//! The clauses of an `INSERT` for rows whose key exists already, in the syntax of SQLite, MySQL and PostgreSQL.

use super::assignments::assignments;
use atsdb_core::name::same_name;
use atsdb_core::{ConflictPolicy, Error, Result, Table, Unique};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use datafusion::sql::sqlparser::ast::{
    Assignment, ConflictTarget, DoUpdate, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Insert,
    ObjectName, OnConflictAction, OnInsert, SqliteOnConflict,
};

/// The clause of a statement. Without one, the table's policy applies.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct OnDuplicate {
    policy: Option<ConflictPolicy>,
    /// The columns of the key that the clause refers to, or its name.
    key: Option<KeyName>,
    update: Option<Update>,
}

/// `DO UPDATE SET ... WHERE ...`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Update {
    pub(crate) set: Vec<(String, Expr)>,
    pub(crate) selection: Option<Expr>,
    /// The name of the new row in the statement.
    pub(crate) new_row: String,
}

/// The meaning of the clause for a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConflictAction {
    /// A policy that the engine applies.
    Policy(ConflictPolicy),
    /// New rows whose key exists are left out or used for an update. The first field is the position of the key among
    /// the table's keys.
    Decide(usize, Option<Box<Update>>),
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
    /// Reads the clause of a parsed `INSERT`.
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
                return Err(sql_error("the INSERT has two clauses for rows whose key exists"));
            }
            Some(clause) => clause,
        };
        let new_row = insert.insert_alias.as_ref().and_then(|aliases| last(&aliases.row_alias));
        match clause {
            OnInsert::DuplicateKeyUpdate(assignments) => {
                Self::updating(None, assignments, None, new_row.as_deref().unwrap_or("excluded"))
            }
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
                    OnConflictAction::DoNothing => Ok(Self { policy: Some(ConflictPolicy::Keep), key, update: None }),
                    OnConflictAction::DoUpdate(DoUpdate { assignments, selection }) => {
                        Self::updating(key, assignments, selection.clone(), "excluded")
                    }
                }
            }
            _ => Err(not_supported("this ON clause of an INSERT")),
        }
    }

    fn updating(key: Option<KeyName>, set: &[Assignment], selection: Option<Expr>, new_row: &str) -> Result<Self> {
        let set = assignments(&mut set.to_vec())?;
        let update = Update { set, selection, new_row: new_row.to_owned() };
        Ok(Self { policy: Some(ConflictPolicy::Replace), key, update: Some(update) })
    }

    /// The policy for this table, if the engine alone can apply it.
    pub(crate) fn policy(&self, table: &Table) -> Result<ConflictPolicy> {
        match self.meaning(table)? {
            ConflictAction::Policy(policy) => Ok(policy),
            ConflictAction::Decide(..) => Err(Error::internal("rows whose key exists are not read")),
        }
    }

    /// The meaning of the clause for this table.
    pub(crate) fn meaning(&self, table: &Table) -> Result<ConflictAction> {
        let definition = &table.definition;
        let Some(policy) = self.policy else { return Ok(ConflictAction::Policy(definition.on_conflict)) };
        let key = match &self.key {
            None => None,
            Some(key) => match definition.unique.iter().position(|unique| key.means(table, unique)) {
                None => {
                    return Err(sql_error(format!("table {} has no key that matches ON CONFLICT", definition.name))
                        .with_hint("name the columns of its PRIMARY KEY or of a UNIQUE constraint"));
                }
                at => at,
            },
        };
        let Some(update) = &self.update else {
            return Ok(match key {
                Some(key) if definition.unique.len() > 1 => ConflictAction::Decide(key, None),
                _ => ConflictAction::Policy(policy),
            });
        };
        for (name, _) in &update.set {
            definition.column(name).map_err(atsdb_dialect::text::errors::as_sql_error)?;
        }
        match (key, definition.unique.len()) {
            // Without keys there are no conflicts.
            (_, 0) => Ok(ConflictAction::Policy(ConflictPolicy::Error)),
            (_, 1) if update.is_all_of_new_row(table) => Ok(ConflictAction::Policy(ConflictPolicy::Replace)),
            (_, 1) => Ok(ConflictAction::Decide(0, Some(Box::new(update.clone())))),
            (Some(key), _) => Ok(ConflictAction::Decide(key, Some(Box::new(update.clone())))),
            (None, _) => Err(sql_error(format!("table {} has several keys", definition.name))
                .with_hint("name the one that decides: ON CONFLICT (column, ...) DO UPDATE ...")),
        }
    }
}

impl Update {
    /// Returns whether the new row replaces the existing one: every column outside of the only key gets the new row's
    /// value.
    fn is_all_of_new_row(&self, table: &Table) -> bool {
        let is_key = |id| table.definition.unique.iter().any(|unique| unique.columns.contains(&id));
        let is_new = |(name, value): &(String, Expr)| {
            self.new_column(value).is_some_and(|column| same_name(&column.value, name))
        };
        let is_set = |name: &str| self.set.iter().any(|(set, _)| same_name(set, name));
        let kept = table.definition.columns.iter().find(|column| !is_key(column.id) && !is_set(&column.name));
        self.selection.is_none() && kept.is_none() && self.set.iter().all(is_new)
    }

    /// The column of the new row to which an expression refers: `excluded.c`, or MySQL's `VALUES(c)`.
    pub(crate) fn new_column<'a>(&self, value: &'a Expr) -> Option<&'a Ident> {
        match value {
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [row, column] if same_name(&row.value, &self.new_row) => Some(column),
                _ => None,
            },
            Expr::Function(function) if last(&function.name).is_some_and(|name| same_name(&name, "values")) => {
                let FunctionArguments::List(arguments) = &function.args else { return None };
                match arguments.args.as_slice() {
                    [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(column)))] => Some(column),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl KeyName {
    fn means(&self, table: &Table, unique: &Unique) -> bool {
        match self {
            Self::Constraint(name) => !unique.index && same_name(&table.definition.key_name(unique), name),
            Self::Columns(names) => {
                // A column may be named several times.
                let id = |name: &String| table.definition.column(name).ok().map(|column| column.id);
                names.iter().all(|name| id(name).is_some_and(|id| unique.columns.contains(&id)))
                    && unique.columns.iter().all(|column| names.iter().any(|name| id(name) == Some(*column)))
            }
        }
    }
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone())
}
