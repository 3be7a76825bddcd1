//! Tables of which one refers to the other: parents, and children with a foreign key, a CHECK constraint, DEFAULTs, a
//! column of an enumerated type, an identity column and numbers of a sequence, and a materialized view of the children.
//! Sessions change them by SQL. There is at most one set of them in a store, with fixed names. Owned are the changes,
//! their SQL, and what is read of the tables.

use crate::shape::{rows_of, text};
use atsdb_core::{ForeignKey, Initially, ReferentialAction, Result, Table};
use atsdb_engine::{ReadSnapshot, ScanRequest};
use std::collections::BTreeSet;

/// The name of the parents' table.
const PARENTS: &str = "parents";
/// The name of the children's table.
const CHILDREN: &str = "children";
/// The name of the materialized view.
const SHARES: &str = "shares";
/// The name of the sequence that gives the children tickets.
const TICKETS: &str = "tickets";
/// The number of columns of children whose values INSERT may name. The others get theirs from the table.
const NAMED_COLUMNS: usize = 4;
/// The parent that `SET DEFAULT` gives to children.
pub(crate) const DEFAULT_PARENT: i64 = 0;
/// The children's mood, if an INSERT does not name the column.
pub(crate) const DEFAULT_MOOD: i64 = 0;
/// The children's amount, if an INSERT does not name the column.
pub(crate) const DEFAULT_AMOUNT: i64 = 3;
/// The CHECK constraint requires that the amount of a child is less.
pub(crate) const AMOUNTS_END: i64 = 6;
/// The enumerated type begins with a label for each number below this one.
pub(crate) const MOODS_END: i64 = 3;

/// The clauses of the children's foreign key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyClauses {
    /// The action on children whose parent is deleted.
    pub on_delete: ReferentialAction,
    /// The action on children whose parent gets another key.
    pub on_update: ReferentialAction,
    /// When it is checked, if it is deferrable.
    pub deferrable: Option<Initially>,
    /// Whether all children need a parent, and not only those that were written since it was added.
    pub is_valid: bool,
}

impl KeyClauses {
    /// Returns the clauses of a foreign key that has only an action for children whose parent is deleted.
    pub fn deleting(on_delete: ReferentialAction) -> Self {
        Self { on_delete, on_update: ReferentialAction::NoAction, deferrable: None, is_valid: true }
    }

    fn of(key: &ForeignKey) -> Self {
        let ForeignKey { on_delete, on_update, deferrable, not_valid, .. } = *key;
        Self { on_delete, on_update, deferrable, is_valid: !not_valid }
    }
}

/// The values of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// Its key.
    pub id: i64,
    /// The key of its parent.
    pub parent: Option<i64>,
    /// The number of a label of the enumerated type.
    pub mood: Option<i64>,
    /// A number, which the CHECK constraint limits.
    pub amount: Option<i64>,
}

/// A change of parents and children, or of their definitions. The latter are not part of transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceChange {
    /// The type, the sequence, both tables and the view are created in one transaction. The foreign key is valid.
    Declare(KeyClauses),
    /// All of them that exist are dropped in one transaction.
    Forget,
    /// The table of parents is created again.
    CreateParents,
    /// The table of parents is dropped.
    DropParents {
        /// Whether the foreign key is dropped with it.
        cascade: bool,
    },
    /// The foreign key is added.
    AddKey(KeyClauses),
    /// The foreign key becomes valid.
    Validate,
    /// The foreign key is dropped.
    DropKey,
    /// The CHECK constraint is added.
    AddCheck,
    /// The CHECK constraint is dropped.
    DropCheck,
    /// The enumerated type gets the label of this number.
    AddMood(i64),
    /// The materialized view is refreshed.
    Refresh,
    /// A transaction decides when a deferrable foreign key is checked.
    SetConstraints {
        /// Whether that is at its end, instead of at the end of each statement.
        deferred: bool,
    },
    /// Parents are added.
    AddParents(Vec<i64>),
    /// Children are added.
    AddChildren {
        /// The rows.
        rows: Vec<Child>,
        /// Whether moods are given, instead of the default.
        has_mood: bool,
        /// Whether amounts are given, instead of the default.
        has_amount: bool,
    },
    /// One parent or all are deleted.
    DeleteParents(Option<i64>),
    /// A parent gets another key.
    MoveParent {
        /// The key until now.
        from: i64,
        /// The new key.
        to: i64,
    },
    /// The children of a parent, or those without one, are deleted.
    DeleteChildren(Option<i64>),
    /// The children of a parent, or those without one, get another parent or none.
    MoveChildren {
        /// The parent until now.
        from: Option<i64>,
        /// The new parent.
        to: Option<i64>,
    },
    /// A child gets another mood and amount.
    SetChild {
        /// Its key.
        id: i64,
        /// The new mood.
        mood: Option<i64>,
        /// The new amount.
        amount: Option<i64>,
    },
    /// All parents are removed.
    TruncateParents {
        /// Whether all children are removed with them, if they refer to parents.
        cascade: bool,
    },
    /// All children are removed.
    TruncateChildren,
}

impl ReferenceChange {
    /// Returns whether it changes definitions, or the rows of the view. It is not executed in transactions.
    pub(crate) fn is_declaration(&self) -> bool {
        matches!(
            self,
            Self::Declare(_)
                | Self::Forget
                | Self::CreateParents
                | Self::DropParents { .. }
                | Self::AddKey(_)
                | Self::Validate
                | Self::DropKey
                | Self::AddCheck
                | Self::DropCheck
                | Self::AddMood(_)
                | Self::Refresh
        )
    }

    /// Returns whether it only adds rows.
    pub(crate) fn is_addition(&self) -> bool {
        matches!(self, Self::AddParents(_) | Self::AddChildren { .. })
    }

    /// The statements that execute it.
    pub(crate) fn statements(&self) -> Vec<String> {
        match self {
            Self::Declare(clauses) => declare(*clauses),
            Self::Forget => {
                let dropped = ["MATERIALIZED VIEW IF EXISTS shares", "TABLE IF EXISTS children"];
                let dropped = dropped.into_iter().chain(["TABLE IF EXISTS parents", "TYPE IF EXISTS mood"]);
                let dropped = dropped.chain(["SEQUENCE IF EXISTS tickets"]);
                in_transaction(dropped.map(|what| format!("DROP {what}")))
            }
            Self::CreateParents => vec![create_parents()],
            Self::DropParents { cascade } => vec![format!("DROP TABLE {PARENTS}{}", cascading(*cascade))],
            Self::AddKey(clauses) => {
                let not_valid = if clauses.is_valid { "" } else { " NOT VALID" };
                vec![format!("ALTER TABLE {CHILDREN} ADD {}{not_valid}", foreign_key(*clauses))]
            }
            Self::Validate => vec![format!("ALTER TABLE {CHILDREN} VALIDATE CONSTRAINT children_parent")],
            Self::SetConstraints { deferred } => {
                vec![format!("SET CONSTRAINTS ALL {}", if *deferred { "DEFERRED" } else { "IMMEDIATE" })]
            }
            Self::DropKey => vec![format!("ALTER TABLE {CHILDREN} DROP CONSTRAINT children_parent")],
            Self::AddCheck => vec![format!("ALTER TABLE {CHILDREN} ADD {}", check())],
            Self::DropCheck => vec![format!("ALTER TABLE {CHILDREN} DROP CONSTRAINT few")],
            Self::AddMood(mood) => vec![format!("ALTER TYPE mood ADD VALUE {}", label(Some(*mood)))],
            Self::Refresh => vec![format!("REFRESH MATERIALIZED VIEW {SHARES}")],
            Self::AddParents(ids) => {
                let rows: Vec<String> = ids.iter().map(|id| format!("({id})")).collect();
                vec![format!("INSERT INTO {PARENTS} (id) VALUES {}", rows.join(", "))]
            }
            Self::AddChildren { rows, has_mood, has_amount } => vec![add_children(rows, *has_mood, *has_amount)],
            Self::DeleteParents(None) => vec![format!("DELETE FROM {PARENTS}")],
            Self::DeleteParents(Some(id)) => vec![format!("DELETE FROM {PARENTS} WHERE id = {id}")],
            Self::MoveParent { from, to } => vec![format!("UPDATE {PARENTS} SET id = {to} WHERE id = {from}")],
            Self::DeleteChildren(parent) => vec![format!("DELETE FROM {CHILDREN} WHERE {}", of_parent(*parent))],
            Self::MoveChildren { from, to } => {
                vec![format!("UPDATE {CHILDREN} SET parent = {} WHERE {}", number(*to), of_parent(*from))]
            }
            Self::SetChild { id, mood, amount } => {
                let (mood, amount) = (label(*mood), number(*amount));
                vec![format!("UPDATE {CHILDREN} SET mood = {mood}, amount = {amount} WHERE id = {id}")]
            }
            Self::TruncateParents { cascade } => vec![format!("TRUNCATE TABLE {PARENTS}{}", cascading(*cascade))],
            Self::TruncateChildren => vec![format!("TRUNCATE TABLE {CHILDREN}")],
        }
    }
}

/// The query that reads children with their parents as one statement sees them.
pub(crate) const READ: &str = "SELECT c.id, c.parent, c.mood, c.amount, p.id AS parents_id \
                               FROM children AS c LEFT JOIN parents AS p ON p.id = c.parent";

fn in_transaction(statements: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once("BEGIN".to_owned()).chain(statements).chain(["COMMIT".to_owned()]).collect()
}

fn create_parents() -> String {
    format!("CREATE TABLE {PARENTS} (id INT PRIMARY KEY)")
}

fn foreign_key(clauses: KeyClauses) -> String {
    let (on_delete, on_update) = (clauses.on_delete.sql(), clauses.on_update.sql());
    let deferrable = match clauses.deferrable {
        None => "",
        Some(Initially::Immediate) => " DEFERRABLE",
        Some(Initially::Deferred) => " DEFERRABLE INITIALLY DEFERRED",
    };
    format!(
        "CONSTRAINT children_parent FOREIGN KEY (parent) REFERENCES {PARENTS} (id) \
         ON DELETE {on_delete} ON UPDATE {on_update}{deferrable}"
    )
}

fn check() -> String {
    format!("CONSTRAINT few CHECK (amount < {AMOUNTS_END})")
}

fn declare(clauses: KeyClauses) -> Vec<String> {
    // The order of the labels differs from that of their texts.
    let labels: Vec<String> = (0..MOODS_END).rev().map(|mood| label(Some(mood))).collect();
    let (mood, check, key) = (label(Some(DEFAULT_MOOD)), check(), foreign_key(clauses));
    let statements = [
        format!("CREATE TYPE mood AS ENUM ({})", labels.join(", ")),
        format!("CREATE SEQUENCE {TICKETS}"),
        create_parents(),
        format!(
            "CREATE TABLE {CHILDREN} (id INT PRIMARY KEY, parent INT DEFAULT {DEFAULT_PARENT}, \
             mood mood DEFAULT {mood}, amount INT DEFAULT {DEFAULT_AMOUNT}, \
             number BIGINT GENERATED ALWAYS AS IDENTITY, \
             ticket BIGINT DEFAULT nextval('{TICKETS}'), token UUID DEFAULT gen_random_uuid(), {check}, {key})"
        ),
        format!(
            "CREATE MATERIALIZED VIEW {SHARES} AS SELECT parent, mood, count(*) AS n, sum(amount) AS total \
             FROM {CHILDREN} GROUP BY parent, mood"
        ),
    ];
    in_transaction(statements.into_iter())
}

fn add_children(rows: &[Child], has_mood: bool, has_amount: bool) -> String {
    let row = |row: &Child| {
        let mood = if has_mood { format!(", {}", label(row.mood)) } else { String::new() };
        let amount = if has_amount { format!(", {}", number(row.amount)) } else { String::new() };
        format!("({}, {}{mood}{amount})", row.id, number(row.parent))
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    let mood = if has_mood { ", mood" } else { "" };
    let amount = if has_amount { ", amount" } else { "" };
    format!("INSERT INTO {CHILDREN} (id, parent{mood}{amount}) VALUES {}", rows.join(", "))
}

fn cascading(cascade: bool) -> &'static str {
    if cascade { " CASCADE" } else { "" }
}

fn of_parent(parent: Option<i64>) -> String {
    parent.map_or_else(|| "parent IS NULL".to_owned(), |parent| format!("parent = {parent}"))
}

fn number(value: Option<i64>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

fn label(mood: Option<i64>) -> String {
    mood.map_or_else(|| "NULL".to_owned(), |mood| format!("'{}'", text(mood)))
}

/// The rows of a table, sorted.
pub(crate) type ReadRows = Vec<Vec<Option<i64>>>;

/// The children, as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenChildren {
    /// The rows, as far as INSERT may name their values.
    pub(crate) rows: ReadRows,
    /// The values that the table supplied to each row: a number, a ticket and a token. The token, a UUID, is read as an
    /// arbitrary number.
    pub(crate) supplied: ReadRows,
    /// The clauses of each foreign key.
    pub(crate) keys: Vec<KeyClauses>,
    /// The number of CHECK constraints.
    pub(crate) check_count: usize,
}

/// Parents, children and the view, as read. What does not exist is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SeenReferences {
    pub(crate) parents: Option<ReadRows>,
    pub(crate) children: Option<SeenChildren>,
    pub(crate) shares: Option<ReadRows>,
}

impl SeenChildren {
    /// Returns whether each row got a value from the table, and no two rows the same number or the same ticket.
    pub(crate) fn are_supplied(&self) -> bool {
        let are_distinct = |column: usize| {
            let values: BTreeSet<Option<i64>> =
                self.supplied.iter().filter_map(|row| row.get(column).copied()).collect();
            values.len() == self.rows.len()
        };
        self.supplied.iter().flatten().all(Option::is_some) && are_distinct(0) && are_distinct(1)
    }
}

impl SeenReferences {
    /// Reads a table if it is one of them, and returns whether it is.
    pub(crate) fn take(&mut self, snapshot: &ReadSnapshot, table: &Table) -> Result<bool> {
        let definition = &table.definition;
        match definition.name.as_str() {
            PARENTS => self.parents = Some(read(snapshot, table)?),
            SHARES => self.shares = Some(read(snapshot, table)?),
            TICKETS => {}
            CHILDREN => {
                let keys = definition.foreign_keys.iter().map(KeyClauses::of).collect();
                let (mut rows, check_count) = (read(snapshot, table)?, definition.checks.len());
                let supplied = rows.iter_mut().map(|row| row.split_off(NAMED_COLUMNS.min(row.len()))).collect();
                self.children = Some(SeenChildren { rows, supplied, keys, check_count });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn read(snapshot: &ReadSnapshot, table: &Table) -> Result<ReadRows> {
    let scan = snapshot.scan(table, &ScanRequest::all(table))?;
    let mut rows = Vec::new();
    for batch in scan.batches() {
        rows.extend(rows_of(batch?.columns()));
    }
    rows.sort();
    Ok(rows)
}
