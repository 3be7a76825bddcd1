//! Turns `MERGE` into a query: the source, joined with the rows of the target that match. Each of its rows says which
//! action it takes ([`Merge`]).

use super::change::{Change, ChangeKind, Merge, MergeAction};
use super::change_query::{
    Target as ChangedTable, assigned_values, empty_query, kind_of_update, numbered_items, refuse,
};
use super::conflict::OnDuplicate;
use super::target::{Overriding, Target};
use super::values::row_with_defaults;
use crate::scan::row_numbers::{CHUNK, ROW};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result, Table};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::identifiers::Spellings;
use atsdb_dialect::text::relations::name_of_relation;
use atsdb_dialect::text::table_names::TableName;
use atsdb_dialect::text::tree_walk::visit_outer_expressions_mut;
use atsdb_dialect::text::volatile_functions::has_volatile_call;
use atsdb_dialect::workarounds::{DEFAULT_VALUES, NOTHING, OVERRIDING_SYSTEM, OVERRIDING_USER, is_default};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    AssignmentTarget, BinaryOperator, CaseWhen, Expr, Ident, Join, JoinConstraint, JoinOperator, Merge as MergeSyntax,
    MergeAction as ActionSyntax, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
    ObjectName, Query, SetExpr, TableFactor, TableWithJoins, Value,
};
use std::ops::ControlFlow;

/// Returns the query for the rows of a `MERGE`, and the change.
pub(crate) fn query_of_merge(
    merge: &mut MergeSyntax,
    tables: &[Table],
    spellings: &Spellings,
) -> Result<(Query, Change)> {
    let hint = "write a SELECT after it, in the same transaction";
    refuse(&[(merge.output.is_some(), "MERGE with RETURNING", hint)])?;
    let relation = TableWithJoins { relation: merge.table.clone(), joins: Vec::new() };
    let target = ChangedTable::take(&relation, tables)?;
    let reading = ClauseReading { target: &target, source: name_of_source(&merge.source)? };
    let clauses = merge.clauses.iter_mut().map(|clause| reading.clause(clause)).collect::<Result<Vec<_>>>()?;
    refuse_unreachable(&clauses)?;

    let (kind, columns) = change_of(&target.table, &clauses);
    let choice = ActionChoice::of(&clauses, &target);
    let (mut items, mut actions) = (vec![target.column(CHUNK), target.column(ROW), choice.action.clone()], Vec::new());
    for (number, clause) in clauses.into_iter().enumerate() {
        let start = items.len();
        let guard = &choice.guards[number];
        actions.push(match clause.action {
            ClauseAction::Nothing => MergeAction::Nothing,
            ClauseAction::Delete => MergeAction::Delete,
            ClauseAction::Update(mut set) => {
                for position in &columns {
                    items.push(match set.iter().position(|(assigned, _)| assigned == position) {
                        Some(at) => guarded(set.swap_remove(at).1, guard.as_ref()),
                        None => target.column(spellings.spell(&target.table.definition.columns[*position].name)),
                    });
                }
                MergeAction::Update { values: start..items.len() }
            }
            ClauseAction::Insert(target, row) => {
                items.extend(row.into_iter().map(|value| guarded(value, guard.as_ref())));
                MergeAction::Insert { target, values: start..items.len() }
            }
        });
    }

    let condition = JoinConstraint::On(merge.on.as_ref().clone());
    let operator = if choice.is_outer { JoinOperator::LeftOuter(condition) } else { JoinOperator::Inner(condition) };
    let join = Join { relation: target.relation.relation, global: false, join_operator: operator };
    let mut query = empty_query()?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(Error::internal("a query is not a SELECT"));
    };
    select.projection = numbered_items(items.into_iter());
    select.from = vec![TableWithJoins { relation: merge.source.clone(), joins: vec![join] }];
    let change = Change {
        verb: "MERGE",
        table: target.table,
        columns,
        kind,
        others: Vec::new(),
        returning: None,
        source: None,
        merge: Some(Merge { actions }),
    };
    Ok((query, change))
}

/// A `WHEN` clause.
struct Clause {
    is_matched: bool,
    condition: Option<Expr>,
    action: ClauseAction,
}

enum ClauseAction {
    Nothing,
    Delete,
    /// The assigned columns, by position, and their new values.
    Update(Vec<(usize, Expr)>),
    Insert(Box<Target>, Vec<Expr>),
}

struct ClauseReading<'a> {
    target: &'a ChangedTable,
    source: Ident,
}

impl ClauseReading<'_> {
    fn clause(&self, clause: &mut MergeClause) -> Result<Clause> {
        let is_matched = match clause.clause_kind {
            MergeClauseKind::Matched => true,
            MergeClauseKind::NotMatched => false,
            MergeClauseKind::NotMatchedBySource | MergeClauseKind::NotMatchedByTarget => {
                return Err(not_supported(format_args!("WHEN {}", clause.clause_kind))
                    .with_hint("use WHEN MATCHED or WHEN NOT MATCHED; for other rows write UPDATE or DELETE"));
            }
        };
        let mut condition = clause.predicate.take();
        if let Some(condition) = &condition
            && has_volatile_call(condition)
        {
            return Err(not_supported("a condition of WHEN that depends on chance")
                .with_hint("compute the value in the source: USING (SELECT *, random() AS r FROM ...) AS s"));
        }
        if let (Some(condition), false) = (&mut condition, is_matched) {
            self.read_source(condition)?;
        }
        let action = match &mut clause.action {
            ActionSyntax::Delete { .. } => ClauseAction::Delete,
            ActionSyntax::Update(update) => self.update(update)?,
            ActionSyntax::Insert(insert) => self.insert(insert)?,
        };
        Ok(Clause { is_matched, condition, action })
    }

    fn update(&self, update: &mut MergeUpdateExpr) -> Result<ClauseAction> {
        refuse_condition(update.update_predicate.is_some() || update.delete_predicate.is_some())?;
        if let [only] = update.assignments.as_slice()
            && matches!(&only.target, AssignmentTarget::ColumnName(name) if is_mark(name, NOTHING))
        {
            return Ok(ClauseAction::Nothing);
        }
        Ok(ClauseAction::Update(assigned_values(&self.target.table, &mut update.assignments)?))
    }

    fn insert(&self, insert: &mut MergeInsertExpr) -> Result<ClauseAction> {
        refuse_condition(insert.insert_predicate.is_some())?;
        let (overriding, columns) = match insert.columns.as_slice() {
            [mark, rest @ ..] if is_mark(mark, OVERRIDING_SYSTEM) => (Some(Overriding::System), rest),
            [mark, rest @ ..] if is_mark(mark, OVERRIDING_USER) => (Some(Overriding::User), rest),
            all => (None, all),
        };
        if matches!(columns, [mark] if is_mark(mark, NOTHING)) {
            return Ok(ClauseAction::Nothing);
        }
        let has_defaults = matches!(columns, [mark] if is_mark(mark, DEFAULT_VALUES));
        let names: Option<Vec<String>> = columns.iter().map(last_name).collect();
        let names = names.filter(|names| !names.is_empty() && !has_defaults);
        let mut target = Target::new(TableName::of_table(&self.target.table), names, OnDuplicate::default());
        target.overriding = overriding;
        let MergeInsertKind::Values(values) = &mut insert.kind else {
            return Err(not_supported("INSERT ROW in MERGE").with_hint("write INSERT VALUES (s.a, s.b)"));
        };
        let row = match values.rows.as_mut_slice() {
            _ if has_defaults => None,
            [row] => {
                let mut row = std::mem::take(&mut row.content);
                row.iter_mut().filter(|value| !is_default(value)).try_for_each(|value| self.read_source(value))?;
                Some(row)
            }
            _ => {
                return Err(sql_error("an INSERT of MERGE adds one row for each row of the source")
                    .with_hint("write one row of VALUES"));
            }
        };
        let row = row_with_defaults(row, &mut target, std::slice::from_ref(&self.target.table))?;
        Ok(ClauseAction::Insert(Box::new(target), row))
    }

    /// Lets names in an expression mean columns of the source: there is no row of the target.
    fn read_source(&self, expr: &mut Expr) -> Result<()> {
        let target = &self.target.alias;
        // A subquery may have a table of that name.
        let names_target = visit_outer_expressions_mut(expr, |inner| match inner {
            Expr::CompoundIdentifier(parts)
                if parts.iter().nth_back(1).is_some_and(|table| same_name(&table.value, &target.value)) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        if names_target.is_break() {
            return Err(sql_error(format!("invalid reference to FROM-clause entry for table \"{}\"", target.value))
                .with_hint("WHEN NOT MATCHED has no row of the target: read columns of the source"));
        }
        let _ = visit_outer_expressions_mut(expr, |inner| {
            if let Expr::Identifier(name) = inner {
                *inner = Expr::CompoundIdentifier(vec![self.source.clone(), name.clone()]);
            }
            ControlFlow::<()>::Continue(())
        });
        Ok(())
    }
}

fn refuse_condition(found: bool) -> Result<()> {
    match found {
        true => Err(not_supported("WHERE after an action of MERGE").with_hint("write WHEN ... AND condition THEN")),
        false => Ok(()),
    }
}

fn refuse_unreachable(clauses: &[Clause]) -> Result<()> {
    let is_unreachable = |(at, clause): (usize, &Clause)| {
        clauses[..at].iter().any(|before| before.is_matched == clause.is_matched && before.condition.is_none())
    };
    match clauses.iter().enumerate().any(is_unreachable) {
        true => Err(sql_error("unreachable WHEN clause specified after unconditional WHEN clause")),
        false => Ok(()),
    }
}

/// How matched rows change, and the columns that updates set, by position.
fn change_of(table: &Table, clauses: &[Clause]) -> (ChangeKind, Vec<usize>) {
    let sets = clauses.iter().filter_map(|clause| match &clause.action {
        ClauseAction::Update(set) => Some(set),
        _ => None,
    });
    let deletes = clauses.iter().any(|clause| matches!(clause.action, ClauseAction::Delete));
    let (mut columns, mut moves, mut updates) = (Vec::new(), false, false);
    for set in sets {
        columns.extend(set.iter().map(|(position, _)| *position));
        moves |= kind_of_update(table, set) == ChangeKind::Move;
        updates = true;
    }
    // A chunk is rewritten once: if rows are also deleted, updated rows are removed and added again.
    match (updates, moves || deletes) {
        (false, true) => (ChangeKind::Delete, Vec::new()),
        (true, true) => (ChangeKind::Move, (0..table.definition.columns.len()).collect()),
        (_, false) => {
            columns.sort_unstable();
            columns.dedup();
            (ChangeKind::Set, columns)
        }
    }
}

/// The choice of the action that a row takes.
struct ActionChoice {
    /// The number of the action; NULL for none.
    action: Expr,
    /// For each action, whether a row takes it; `None` if all do.
    guards: Vec<Option<Expr>>,
    /// Whether rows without a match may take an action.
    is_outer: bool,
}

impl ActionChoice {
    fn of(clauses: &[Clause], target: &ChangedTable) -> Self {
        let is_matched = || Expr::IsNotNull(Box::new(target.column(ROW)));
        let is_outer = clauses.iter().any(|clause| !clause.is_matched);
        let action = match is_outer {
            true => case(vec![(is_matched(), first_action(clauses, true))], Some(first_action(clauses, false))),
            false => first_action(clauses, true),
        };
        let guard = |(number, clause): (usize, &Clause)| {
            let first = clauses.iter().find(|other| other.is_matched == clause.is_matched);
            match first.is_some_and(|first| first.condition.is_none()) {
                true if !is_outer => None,
                true if clause.is_matched => Some(is_matched()),
                true => Some(Expr::IsNull(Box::new(target.column(ROW)))),
                false => Some(Expr::BinaryOp {
                    left: Box::new(Expr::Nested(Box::new(action.clone()))),
                    op: BinaryOperator::Eq,
                    right: Box::new(number_of(number)),
                }),
            }
        };
        let guards = clauses.iter().enumerate().map(guard).collect();
        Self { action, guards, is_outer }
    }
}

/// The number of the first clause of this kind whose condition holds.
fn first_action(clauses: &[Clause], is_matched: bool) -> Expr {
    let (mut conditions, mut last) = (Vec::new(), None);
    for (number, clause) in clauses.iter().enumerate().filter(|(_, clause)| clause.is_matched == is_matched) {
        match &clause.condition {
            Some(condition) => conditions.push((condition.clone(), number_of(number))),
            None => last = Some(number_of(number)),
        }
    }
    match conditions.is_empty() {
        true => last.unwrap_or_else(|| Expr::value(Value::Null)),
        false => case(conditions, last),
    }
}

/// A value that is computed for the rows of a guard alone, because it may fail for others.
fn guarded(value: Expr, guard: Option<&Expr>) -> Expr {
    let cannot_fail = matches!(value, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_));
    match guard {
        Some(guard) if !cannot_fail => case(vec![(guard.clone(), value)], None),
        _ => value,
    }
}

fn case(conditions: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: conditions.into_iter().map(|(condition, result)| CaseWhen { condition, result }).collect(),
        else_result: otherwise.map(Box::new),
    }
}

fn number_of(action: usize) -> Expr {
    Expr::value(Value::Number(action.to_string(), false))
}

/// The name by which the clauses read columns of the source.
fn name_of_source(source: &TableFactor) -> Result<Ident> {
    let name = name_of_relation(source).cloned();
    name.ok_or_else(|| sql_error("the source of MERGE needs a name").with_hint("write USING (...) AS s"))
}

fn last_name(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone())
}

fn is_mark(name: &ObjectName, mark: &str) -> bool {
    last_name(name).is_some_and(|name| name == mark)
}
