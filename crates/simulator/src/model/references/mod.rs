//! Parents and children as lists of rows, and what their definitions require of them.

use super::row_list::{NumberedRow, RowList};
use crate::references::{
    AMOUNTS_END, Child, DEFAULT_AMOUNT, DEFAULT_MOOD, DEFAULT_PARENT, KeyClauses, MOODS_END, ReadRows, ReferenceChange,
    SeenReferences,
};
use atsdb_core::{Initially, ReferentialAction};
use std::collections::{BTreeMap, BTreeSet};

/// The number under which transactions note that they use parents and children. No table has it.
pub(crate) const REFERENCES: u64 = 0;

/// When a transaction has a deferrable foreign key checked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Deferral {
    /// As its declaration says.
    #[default]
    Declared,
    /// At the end of each statement.
    Immediate,
    /// At the end of the transaction.
    Deferred,
}

/// The foreign key of the children.
#[derive(Debug, Clone)]
struct ChildKey {
    clauses: KeyClauses,
    /// The numbers of the rows that need no parent: they are older than the foreign key, which is not valid.
    exempt: BTreeSet<u64>,
}

/// The children, and what was created with them.
#[derive(Debug, Clone)]
struct Children {
    /// The foreign key, if there is one.
    key: Option<ChildKey>,
    /// Whether the table has its CHECK constraint.
    is_checked: bool,
    /// The numbers of the labels that the enumerated type has.
    moods: BTreeSet<i64>,
    rows: RowList<Child>,
    /// The rows of the materialized view.
    shares: ReadRows,
}

/// Parents, children and the view, as far as they exist.
#[derive(Debug, Clone, Default)]
pub(crate) struct References {
    parents: Option<RowList<i64>>,
    children: Option<Children>,
    /// The number of times that rows were added.
    added: u64,
    /// The number of times that rows were changed or removed.
    changed: u64,
    /// The number of times that chunks may have been replaced by others with the same rows.
    rewritten: u64,
    /// The number of times that definitions have changed.
    defined: u64,
    /// When the transaction checks the foreign key, as set by `SET CONSTRAINTS`; `None` outside of a transaction.
    deferral: Option<Deferral>,
}

impl Children {
    fn new(clauses: KeyClauses) -> Self {
        let (moods, shares) = ((0..MOODS_END).collect(), Vec::new());
        let key = Some(ChildKey { clauses, exempt: BTreeSet::new() });
        Self { key, is_checked: true, moods, rows: RowList::new(), shares }
    }

    /// Applies the action of the foreign key to the children whose parents are gone, or have the key `to` instead.
    /// `None` if the foreign key forbids that, whenever it is checked.
    fn follow(&mut self, gone: &BTreeSet<i64>, to: Option<i64>) -> Option<()> {
        let Some(key) = &mut self.key else { return Some(()) };
        let is_lost = |row: &Child| row.parent.is_some_and(|parent| gone.contains(&parent));
        let has_lost = |rows: &RowList<Child>| rows.rows.iter().any(|row| is_lost(&row.cells));
        let action = if to.is_some() { key.clauses.on_update } else { key.clauses.on_delete };
        match action {
            ReferentialAction::NoAction => {
                for row in self.rows.rows.iter().filter(|row| is_lost(&row.cells)) {
                    key.exempt.remove(&row.number);
                }
            }
            ReferentialAction::Restrict if has_lost(&self.rows) => return None,
            ReferentialAction::Restrict => {}
            ReferentialAction::Cascade if to.is_some() => self.rows.change(is_lost, |row| row.parent = to),
            ReferentialAction::Cascade => self.rows.rows.retain(|row| !is_lost(&row.cells)),
            ReferentialAction::SetNull => self.rows.change(is_lost, |row| row.parent = None),
            ReferentialAction::SetDefault => {
                self.rows.change(is_lost, |row| row.parent = Some(DEFAULT_PARENT));
                // The default may be a key that is gone.
                if has_lost(&self.rows) {
                    return None;
                }
            }
        }
        Some(())
    }
}

impl References {
    /// Executes a change. `None` means that it is refused; then this value is not used any more.
    pub(crate) fn apply(&mut self, change: &ReferenceChange) -> Option<()> {
        if let ReferenceChange::SetConstraints { deferred } = change {
            let set = if *deferred { Deferral::Deferred } else { Deferral::Immediate };
            self.deferral = self.deferral.map(|_| set);
        } else if change.is_declaration() {
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
        self.is_sound(self.defers()).then_some(())
    }

    /// Begins a transaction with this setting of `SET CONSTRAINTS`.
    pub(crate) fn begin(&mut self, deferral: Deferral) {
        self.deferral = Some(deferral);
    }

    /// Returns whether the foreign key is not checked now, but at the end of the transaction.
    fn defers(&self) -> bool {
        let key = self.children.as_ref().and_then(|children| children.key.as_ref());
        let Some(initially) = key.and_then(|key| key.clauses.deferrable) else { return false };
        match self.deferral {
            None | Some(Deferral::Immediate) => false,
            Some(Deferral::Deferred) => true,
            Some(Deferral::Declared) => initially == Initially::Deferred,
        }
    }

    fn declare(&mut self, change: &ReferenceChange) -> Option<()> {
        match change {
            ReferenceChange::Declare(clauses) => {
                if self.parents.is_some() || self.children.is_some() {
                    return None;
                }
                self.parents = Some(RowList::new());
                self.children = Some(Children::new(*clauses));
            }
            ReferenceChange::Forget => (self.parents, self.children) = (None, None),
            ReferenceChange::CreateParents if self.parents.is_some() => return None,
            ReferenceChange::CreateParents => self.parents = Some(RowList::new()),
            ReferenceChange::DropParents { cascade } => {
                self.parents.take()?;
                if let Some(children) = self.children.as_mut().filter(|children| children.key.is_some()) {
                    if !cascade {
                        return None;
                    }
                    children.key = None;
                }
            }
            ReferenceChange::AddKey(clauses) => {
                let children = self.children.as_mut().filter(|children| children.key.is_none())?;
                let older = children.rows.rows.iter().filter(|_| !clauses.is_valid).map(|row| row.number);
                children.key = Some(ChildKey { clauses: *clauses, exempt: older.collect() });
            }
            ReferenceChange::Validate => {
                let key = self.children.as_mut()?.key.as_mut()?;
                key.clauses.is_valid = true;
                key.exempt.clear();
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
                let parents = self.parents.as_mut()?;
                let is_meant = |parent: i64| id.is_none_or(|id| id == parent);
                let gone = parents.rows.iter().map(|row| row.cells).filter(|parent| is_meant(*parent)).collect();
                parents.rows.retain(|row| !is_meant(row.cells));
                self.follow(&gone, None)?;
            }
            ReferenceChange::MoveParent { from, to } => {
                let parents = self.parents.as_mut()?;
                let is_moved = |row: &&NumberedRow<i64>| row.cells == *from && from != to;
                let gone = parents.rows.iter().filter(is_moved).map(|row| row.cells).collect();
                parents.change(|id| id == from, |id| *id = *to);
                self.follow(&gone, Some(*to))?;
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

    /// Does what the foreign key says to the children whose parents are gone, or have the key `to` instead.
    fn follow(&mut self, gone: &BTreeSet<i64>, to: Option<i64>) -> Option<()> {
        self.children.as_mut().map_or(Some(()), |children| children.follow(gone, to))
    }

    /// The keys of the parents.
    fn known(&self) -> BTreeSet<i64> {
        self.parents.iter().flat_map(|parents| &parents.rows).map(|row| row.cells).collect()
    }

    /// Returns whether the rows are as the definitions require: keys are unique, moods are labels, amounts are in
    /// bounds, and each child that refers to a parent has it, unless that is not checked yet.
    fn is_sound(&self, defers: bool) -> bool {
        let known = self.known();
        let parent_count = self.parents.as_ref().map_or(0, |parents| parents.rows.len());
        let Some(children) = &self.children else { return known.len() == parent_count };
        let ids: BTreeSet<i64> = children.rows.rows.iter().map(|row| row.cells.id).collect();
        let is_label = |mood: Option<i64>| mood.is_none_or(|mood| children.moods.contains(&mood));
        let is_few = |amount: Option<i64>| !children.is_checked || amount.is_none_or(|amount| amount < AMOUNTS_END);
        let has_parent = |parent: Option<i64>| parent.is_none_or(|parent| known.contains(&parent));
        let needs_none = |row: &NumberedRow<Child>| {
            defers || children.key.as_ref().is_none_or(|key| key.exempt.contains(&row.number))
        };
        let is_allowed = |row: &NumberedRow<Child>| {
            let Child { parent, mood, amount, .. } = row.cells;
            is_label(mood) && is_few(amount) && (needs_none(row) || has_parent(parent))
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

    /// Returns whether definitions have changed since this was the state.
    pub(crate) fn is_redefined_in(&self, present: &Self) -> bool {
        self.defined != present.defined
    }

    /// Applies what a transaction has changed, from `base` to `view`, to the present state. Returns the result, and
    /// whether the commit may also be refused; `None` if it must be. Rows that were only added conflict with other
    /// definitions and with deletions, but with no other addition and with no sealing.
    pub(crate) fn merge(base: &Self, view: &Self, present: &Self, only_adds: bool) -> Option<(Self, bool)> {
        if !view.is_sound(false) {
            return None;
        }
        let is_added_to = (present.added, present.rewritten) != (base.added, base.rewritten);
        let is_changed = (present.changed, present.defined) != (base.changed, base.defined);
        let mut merged = present.clone();
        if let (Some(before), Some(after)) = (&base.parents, &view.parents) {
            RowList::follow(merged.parents.as_mut(), before, after)?;
        }
        if let (Some(before), Some(after)) = (&base.children, &view.children) {
            let now = merged.children.as_mut().map(|children| &mut children.rows);
            RowList::follow(now, &before.rows, &after.rows)?;
        }
        merged.added += view.added - base.added;
        merged.changed += view.changed - base.changed;
        merged.is_sound(false).then_some((merged, is_changed || (is_added_to && !only_adds)))
    }

    pub(crate) fn agrees(&self, seen: &SeenReferences) -> bool {
        let parents = self.parents.as_ref().map(|parents| sorted(parents.rows.iter().map(|row| vec![Some(row.cells)])));
        let is_same = match (&self.children, &seen.children) {
            (None, None) => true,
            (Some(own), Some(seen)) => {
                let keys: Vec<KeyClauses> = own.key.iter().map(|key| key.clauses).collect();
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

    /// Returns the numbers of changes of each, as text.
    pub(crate) fn counters(&self) -> String {
        format!("{:?}", (self.added, self.changed, self.rewritten, self.defined))
    }

    /// The state, for people.
    pub(crate) fn shown(&self) -> String {
        let Self { parents, children, deferral, .. } = self;
        let parents = parents.as_ref().map(|_| self.known());
        let children = children.as_ref().map(|Children { key, is_checked, moods, rows, shares }| {
            let clauses = key.as_ref().map(|key| key.clauses);
            let is_exempt = |row: &&NumberedRow<Child>| key.iter().any(|key| key.exempt.contains(&row.number));
            let mut exempt: Vec<i64> = rows.rows.iter().filter(is_exempt).map(|row| row.cells.id).collect();
            exempt.sort_unstable();
            let rows = children_of(rows);
            format!("{clauses:?} exempt {exempt:?} checked {is_checked} moods {moods:?} {rows:?} shares {shares:?}")
        });
        format!("  parents {parents:?} children {children:?} deferral {deferral:?}")
    }
}

fn children_of(rows: &RowList<Child>) -> ReadRows {
    let values = |Child { id, parent, mood, amount }: Child| vec![Some(id), parent, mood, amount];
    sorted(rows.rows.iter().map(|row| values(row.cells)))
}

/// The rows of the view: for each parent and mood, the number of children and the sum of their amounts.
fn shares_of(rows: &RowList<Child>) -> ReadRows {
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
mod tests;
