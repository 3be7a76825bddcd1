//! Parents and children as lists of rows, and what their definitions require of them.

use super::table::number;
use crate::references::{
    AMOUNTS_END, Child, DEFAULT_AMOUNT, DEFAULT_MOOD, MOODS_END, ReadRows, ReferenceChange, SeenReferences,
};
use atsdb_core::ReferentialAction;
use std::collections::{BTreeMap, BTreeSet};

/// The number under which transactions note that they use parents and children. No table has it.
pub(crate) const REFERENCES: u64 = 0;

/// A row. Its number distinguishes it from others with the same values: a changed row is another row.
#[derive(Debug, Clone, Copy)]
struct Row<T> {
    number: u64,
    cells: T,
}

/// The rows of a table, and a number that no other table has.
#[derive(Debug, Clone)]
struct Rows<T> {
    table: u64,
    rows: Vec<Row<T>>,
}

/// The children, and what was created with them.
#[derive(Debug, Clone)]
struct Children {
    /// What the foreign key says of deletions, if there is one.
    key: Option<ReferentialAction>,
    /// Whether the table has its CHECK constraint.
    is_checked: bool,
    /// The numbers of the labels that the enumerated type has.
    moods: BTreeSet<i64>,
    rows: Rows<Child>,
    /// The rows of the materialized view.
    shares: ReadRows,
}

/// Parents, children and the view, as far as they exist.
#[derive(Debug, Clone, Default)]
pub(crate) struct References {
    parents: Option<Rows<i64>>,
    children: Option<Children>,
    /// How often rows were added.
    added: u64,
    /// How often rows were changed or removed.
    changed: u64,
    /// How often chunks may have been replaced by others with the same rows.
    rewritten: u64,
    /// How often definitions have changed.
    defined: u64,
}

impl<T: Copy> Rows<T> {
    fn new() -> Self {
        Self { table: number(), rows: Vec::new() }
    }

    fn add(&mut self, cells: T) {
        self.rows.push(Row { number: number(), cells });
    }

    /// Changes the rows that are meant.
    fn change(&mut self, is_meant: impl Fn(&T) -> bool, change: impl Fn(&mut T)) {
        for row in self.rows.iter_mut().filter(|row| is_meant(&row.cells)) {
            row.number = number();
            change(&mut row.cells);
        }
    }

    /// Removes and adds the rows of `now` that were removed and added from `before` to `after`. `None` if the table is
    /// another one, or if a row is not there.
    fn follow(now: Option<&mut Self>, before: &Self, after: &Self) -> Option<()> {
        let lacks = |rows: &Self, row: &Row<T>| rows.rows.iter().all(|other| other.number != row.number);
        let removed: Vec<&Row<T>> = before.rows.iter().filter(|row| lacks(after, row)).collect();
        let added: Vec<Row<T>> = after.rows.iter().filter(|row| lacks(before, row)).copied().collect();
        if removed.is_empty() && added.is_empty() {
            return Some(());
        }
        let now = now.filter(|now| now.table == before.table)?;
        if removed.iter().any(|row| lacks(now, row)) {
            return None;
        }
        now.rows.retain(|row| removed.iter().all(|removed| removed.number != row.number));
        now.rows.extend(added);
        Some(())
    }
}

impl Children {
    fn new(on_delete: ReferentialAction) -> Self {
        let (moods, shares) = ((0..MOODS_END).collect(), Vec::new());
        Self { key: Some(on_delete), is_checked: true, moods, rows: Rows::new(), shares }
    }
}

impl References {
    /// Executes a change. `None` means that it is refused; then this value is not used any more.
    pub(crate) fn apply(&mut self, change: &ReferenceChange) -> Option<()> {
        if change.is_declaration() {
            self.declare(change)?;
            // A refresh changes no definition that the rows of children depend on.
            self.defined += u64::from(*change != ReferenceChange::Refresh);
        } else if change.is_addition() {
            self.add(change)?;
            self.added += 1;
        } else {
            self.change(change)?;
            self.changed += 1;
        }
        self.is_sound().then_some(())
    }

    fn declare(&mut self, change: &ReferenceChange) -> Option<()> {
        match change {
            ReferenceChange::Declare(on_delete) => {
                if self.parents.is_some() || self.children.is_some() {
                    return None;
                }
                self.parents = Some(Rows::new());
                self.children = Some(Children::new(*on_delete));
            }
            ReferenceChange::Forget => (self.parents, self.children) = (None, None),
            ReferenceChange::CreateParents if self.parents.is_some() => return None,
            ReferenceChange::CreateParents => self.parents = Some(Rows::new()),
            ReferenceChange::DropParents { cascade } => {
                self.parents.take()?;
                if let Some(children) = self.children.as_mut().filter(|children| children.key.is_some()) {
                    if !cascade {
                        return None;
                    }
                    children.key = None;
                }
            }
            ReferenceChange::AddKey(on_delete) => {
                let children = self.children.as_mut().filter(|children| children.key.is_none())?;
                children.key = Some(*on_delete);
            }
            ReferenceChange::DropKey => {
                self.children.as_mut()?.key.take()?;
            }
            ReferenceChange::AddCheck | ReferenceChange::DropCheck => {
                let children = self.children.as_mut()?;
                let is_checked = *change == ReferenceChange::AddCheck;
                if std::mem::replace(&mut children.is_checked, is_checked) == is_checked {
                    return None;
                }
            }
            ReferenceChange::AddMood(mood) => {
                if !self.children.as_mut()?.moods.insert(*mood) {
                    return None;
                }
            }
            _ => {
                let children = self.children.as_mut()?;
                children.shares = shares_of(&children.rows);
            }
        }
        Some(())
    }

    fn add(&mut self, change: &ReferenceChange) -> Option<()> {
        match change {
            ReferenceChange::AddParents(ids) => {
                let parents = self.parents.as_mut()?;
                ids.iter().for_each(|id| parents.add(*id));
            }
            ReferenceChange::AddChildren { rows, has_mood, has_amount } => {
                let children = self.children.as_mut()?;
                for row in rows {
                    let mood = if *has_mood { row.mood } else { Some(DEFAULT_MOOD) };
                    let amount = if *has_amount { row.amount } else { Some(DEFAULT_AMOUNT) };
                    children.rows.add(Child { mood, amount, ..*row });
                }
            }
            _ => {}
        }
        Some(())
    }

    fn change(&mut self, change: &ReferenceChange) -> Option<()> {
        match change {
            ReferenceChange::DeleteParents(id) => {
                self.parents.as_mut()?.rows.retain(|row| id.is_some_and(|id| id != row.cells));
                self.follow_deletion();
            }
            ReferenceChange::MoveParent { from, to } => {
                self.parents.as_mut()?.change(|id| id == from, |id| *id = *to);
            }
            ReferenceChange::DeleteChildren(parent) => {
                self.children.as_mut()?.rows.rows.retain(|row| row.cells.parent != *parent);
            }
            ReferenceChange::MoveChildren { from, to } => {
                self.children.as_mut()?.rows.change(|row| row.parent == *from, |row| row.parent = *to);
            }
            ReferenceChange::SetChild { id, mood, amount } => {
                let set = |row: &mut Child| (row.mood, row.amount) = (*mood, *amount);
                self.children.as_mut()?.rows.change(|row| row.id == *id, set);
            }
            ReferenceChange::TruncateParents { cascade } => {
                let parents = self.parents.as_mut()?;
                parents.rows.clear();
                if let Some(children) = self.children.as_mut().filter(|children| children.key.is_some()) {
                    if !cascade {
                        return None;
                    }
                    children.rows.rows.clear();
                }
            }
            _ => self.children.as_mut()?.rows.rows.clear(),
        }
        Some(())
    }

    /// Deletes or changes the children whose parents were deleted, where the foreign key says so.
    fn follow_deletion(&mut self) {
        let known = self.known();
        let Some(children) = &mut self.children else { return };
        let is_lost = |row: &Child| row.parent.is_some_and(|parent| !known.contains(&parent));
        match children.key {
            Some(ReferentialAction::Cascade) => children.rows.rows.retain(|row| !is_lost(&row.cells)),
            Some(ReferentialAction::SetNull) => children.rows.change(is_lost, |row| row.parent = None),
            _ => {}
        }
    }

    /// The keys of the parents.
    fn known(&self) -> BTreeSet<i64> {
        self.parents.iter().flat_map(|parents| &parents.rows).map(|row| row.cells).collect()
    }

    /// Whether the rows are as the definitions require: keys are unique, moods are labels, amounts are in bounds, and
    /// each child that refers to a parent has it.
    fn is_sound(&self) -> bool {
        let known = self.known();
        let parent_count = self.parents.as_ref().map_or(0, |parents| parents.rows.len());
        let Some(children) = &self.children else { return known.len() == parent_count };
        let ids: BTreeSet<i64> = children.rows.rows.iter().map(|row| row.cells.id).collect();
        let is_label = |mood: Option<i64>| mood.is_none_or(|mood| children.moods.contains(&mood));
        let is_few = |amount: Option<i64>| !children.is_checked || amount.is_none_or(|amount| amount < AMOUNTS_END);
        let has_parent = |parent: Option<i64>| parent.is_none_or(|parent| known.contains(&parent));
        let is_allowed = |row: &Row<Child>| {
            let Child { parent, mood, amount, .. } = row.cells;
            is_label(mood) && is_few(amount) && (children.key.is_none() || has_parent(parent))
        };
        // A foreign key needs its parents' table.
        (children.key.is_none() || self.parents.is_some())
            && (known.len(), ids.len()) == (parent_count, children.rows.rows.len())
            && children.rows.rows.iter().all(is_allowed)
    }

    /// Notes that chunks may have been replaced by others with the same rows.
    pub(crate) fn note_rewritten(&mut self) {
        self.rewritten += 1;
    }

    /// Whether definitions have changed since this was the state.
    pub(crate) fn is_redefined_in(&self, present: &Self) -> bool {
        self.defined != present.defined
    }

    /// Applies what a transaction has changed, from `base` to `view`, to the present state. Returns the result, and
    /// whether the commit may also be refused; `None` if it must be. Rows that were only added conflict with other
    /// definitions and with deletions, but with no other addition and with no sealing.
    pub(crate) fn merge(base: &Self, view: &Self, present: &Self, only_adds: bool) -> Option<(Self, bool)> {
        let is_added_to = (present.added, present.rewritten) != (base.added, base.rewritten);
        let is_changed = (present.changed, present.defined) != (base.changed, base.defined);
        let mut merged = present.clone();
        if let (Some(before), Some(after)) = (&base.parents, &view.parents) {
            Rows::follow(merged.parents.as_mut(), before, after)?;
        }
        if let (Some(before), Some(after)) = (&base.children, &view.children) {
            let now = merged.children.as_mut().map(|children| &mut children.rows);
            Rows::follow(now, &before.rows, &after.rows)?;
        }
        merged.added += view.added - base.added;
        merged.changed += view.changed - base.changed;
        merged.is_sound().then_some((merged, is_changed || (is_added_to && !only_adds)))
    }

    pub(crate) fn agrees(&self, seen: &SeenReferences) -> bool {
        let parents = self.parents.as_ref().map(|parents| sorted(parents.rows.iter().map(|row| vec![Some(row.cells)])));
        let is_same = match (&self.children, &seen.children) {
            (None, None) => true,
            (Some(own), Some(seen)) => {
                let keys: Vec<&str> = own.key.iter().map(|key| key.sql()).collect();
                seen.keys == keys
                    && seen.check_count == usize::from(own.is_checked)
                    && seen.rows == children_of(&own.rows)
                    && seen.are_supplied()
            }
            _ => false,
        };
        let shares = self.children.as_ref().map(|children| &children.shares);
        is_same && (parents.as_ref(), shares) == (seen.parents.as_ref(), seen.shares.as_ref())
    }

    /// The answer of the query that reads children with their parents; `None` if it is refused.
    pub(crate) fn joined(&self) -> Option<ReadRows> {
        self.parents.as_ref()?;
        let known = self.known();
        let joined = children_of(&self.children.as_ref()?.rows).into_iter().map(|mut row| {
            row.push(row[1].filter(|parent| known.contains(parent)));
            row
        });
        Some(sorted(joined))
    }

    /// How often each was changed.
    pub(crate) fn counters(&self) -> String {
        format!("{:?}", (self.added, self.changed, self.rewritten, self.defined))
    }

    /// The state, for people.
    pub(crate) fn shown(&self) -> String {
        let Self { parents, children, .. } = self;
        let parents = parents.as_ref().map(|_| self.known());
        let children = children.as_ref().map(|Children { key, is_checked, moods, rows, shares }| {
            format!("{key:?} checked {is_checked} moods {moods:?} {:?} shares {shares:?}", children_of(rows))
        });
        format!("  parents {parents:?} children {children:?}")
    }
}

fn children_of(rows: &Rows<Child>) -> ReadRows {
    let values = |Child { id, parent, mood, amount }: Child| vec![Some(id), parent, mood, amount];
    sorted(rows.rows.iter().map(|row| values(row.cells)))
}

/// The rows of the view: for each parent and mood, the number of children and the sum of their amounts.
fn shares_of(rows: &Rows<Child>) -> ReadRows {
    let mut groups: BTreeMap<_, (i64, Option<i64>)> = BTreeMap::new();
    for Child { parent, mood, amount, .. } in rows.rows.iter().map(|row| row.cells) {
        let (count, total) = groups.entry((parent, mood)).or_default();
        *count += 1;
        if let Some(amount) = amount {
            *total = Some(total.unwrap_or(0) + amount);
        }
    }
    sorted(groups.into_iter().map(|((parent, mood), (count, total))| vec![parent, mood, Some(count), total]))
}

fn sorted(rows: impl Iterator<Item = Vec<Option<i64>>>) -> ReadRows {
    let mut rows: ReadRows = rows.collect();
    rows.sort();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parents 1 and 2, and a child of 1.
    fn declared(on_delete: ReferentialAction) -> References {
        let mut references = References::default();
        let child = added(5, Some(1));
        for change in [ReferenceChange::Declare(on_delete), ReferenceChange::AddParents(vec![1, 2]), child] {
            references.apply(&change).expect("allowed");
        }
        references
    }

    fn added(id: i64, parent: Option<i64>) -> ReferenceChange {
        let rows = vec![Child { id, parent, mood: None, amount: None }];
        ReferenceChange::AddChildren { rows, has_mood: false, has_amount: true }
    }

    fn after(references: &References, changes: &[ReferenceChange]) -> Option<References> {
        let mut next = references.clone();
        changes.iter().try_for_each(|change| next.apply(change)).map(|()| next)
    }

    /// The ids of the children, and their parents.
    fn children(references: &References) -> Vec<(i64, Option<i64>)> {
        let rows = references.children.iter().flat_map(|children| &children.rows.rows);
        rows.map(|row| (row.cells.id, row.cells.parent)).collect()
    }

    #[test]
    fn a_deletion_does_what_the_foreign_key_says() {
        let delete = [ReferenceChange::DeleteParents(Some(1))];
        let deleted = |on_delete| after(&declared(on_delete), &delete).as_ref().map(children);
        assert_eq!(deleted(ReferentialAction::NoAction), None);
        assert_eq!(deleted(ReferentialAction::Restrict), None);
        assert_eq!(deleted(ReferentialAction::Cascade), Some(vec![]));
        assert_eq!(deleted(ReferentialAction::SetNull), Some(vec![(5, None)]));
        let without = [ReferenceChange::DropKey, ReferenceChange::DeleteParents(Some(1))];
        let lonely = after(&declared(ReferentialAction::Cascade), &without).expect("allowed");
        assert_eq!(children(&lonely), [(5, Some(1))]);
        assert!(after(&lonely, &[ReferenceChange::AddKey(ReferentialAction::SetNull)]).is_none());
        // What a foreign key says of deletions does not hold for a parent that gets another key.
        let moved = [ReferenceChange::MoveParent { from: 1, to: 3 }];
        assert!(after(&declared(ReferentialAction::Cascade), &moved).is_none());
    }

    #[test]
    fn rows_have_what_the_definitions_require() {
        let references = declared(ReferentialAction::NoAction);
        let set = |mood, amount| ReferenceChange::SetChild { id: 5, mood: Some(mood), amount: Some(amount) };
        assert!(after(&references, &[added(5, None)]).is_none(), "the id exists");
        assert!(after(&references, &[added(6, Some(9))]).is_none(), "there is no such parent");
        assert!(after(&references, &[set(MOODS_END, 0)]).is_none(), "there is no such label");
        assert!(after(&references, &[ReferenceChange::AddMood(MOODS_END), set(MOODS_END, 0)]).is_some());
        assert!(after(&references, &[set(0, AMOUNTS_END)]).is_none(), "the constraint forbids it");
        let unchecked = [ReferenceChange::DropCheck, set(0, AMOUNTS_END)];
        assert!(after(&references, &unchecked).is_some());
        let checked_again = [unchecked.to_vec(), vec![ReferenceChange::AddCheck]].concat();
        assert!(after(&references, &checked_again).is_none());
        let drop = |cascade| ReferenceChange::DropParents { cascade };
        assert!(after(&references, &[drop(false)]).is_none());
        assert_eq!(after(&references, &[drop(true)]).as_ref().map(children), Some(vec![(5, Some(1))]));
    }

    /// The children, each with its parent, and whether a transaction may be refused.
    type Merged = (Vec<(i64, Option<i64>)>, bool);

    /// The children after two transactions that began in the same state, and whether the second may be refused.
    fn merged(first: &[ReferenceChange], second: &[ReferenceChange]) -> Option<Merged> {
        let base = declared(ReferentialAction::Cascade);
        let (mut present, view) = (after(&base, first).expect("allowed"), after(&base, second).expect("allowed"));
        present.note_rewritten();
        let only_adds = second.iter().all(ReferenceChange::is_addition);
        let (merged, may_conflict) = References::merge(&base, &view, &present, only_adds)?;
        Some((children(&merged), may_conflict))
    }

    #[test]
    fn of_two_transactions_that_break_a_rule_together_the_second_is_refused() {
        let delete = |id| ReferenceChange::DeleteParents(Some(id));
        assert_eq!(merged(&[delete(2)], &[added(6, Some(2))]), None);
        assert_eq!(merged(&[added(6, Some(2))], &[delete(2)]), None);
        assert_eq!(merged(&[added(6, None)], &[added(6, Some(2))]), None, "both have the same id");
        assert_eq!(merged(&[delete(1)], &[ReferenceChange::DeleteChildren(Some(1))]), None, "both delete a row");
        let anew = [ReferenceChange::DropParents { cascade: true }, ReferenceChange::CreateParents];
        assert_eq!(merged(&anew, &[ReferenceChange::AddParents(vec![3])]), None, "it is another table");
        // Nothing but rows with other keys was added: there is no reason for a conflict.
        let both = vec![(5, Some(1)), (6, Some(2)), (7, Some(1))];
        assert_eq!(merged(&[added(6, Some(2))], &[added(7, Some(1))]), Some((both, false)));
        let deleted = vec![(5, Some(1)), (7, Some(1))];
        assert_eq!(merged(&[delete(2)], &[added(7, Some(1))]), Some((deleted, true)));
    }
}
