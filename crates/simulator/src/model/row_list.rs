//! Tables of parents and children as lists of rows.

use super::table::number;

/// A row. Its number distinguishes it from others with the same values: a changed row is another row.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberedRow<T> {
    pub(super) number: u64,
    pub(super) cells: T,
}

/// The rows of a table, and a number that no other table has.
#[derive(Debug, Clone)]
pub(super) struct RowList<T> {
    table: u64,
    pub(super) rows: Vec<NumberedRow<T>>,
}

impl<T: Copy> RowList<T> {
    pub(super) fn new() -> Self {
        Self { table: number(), rows: Vec::new() }
    }

    pub(super) fn add(&mut self, cells: T) {
        self.rows.push(NumberedRow { number: number(), cells });
    }

    /// Changes the rows that are meant.
    pub(super) fn change(&mut self, is_meant: impl Fn(&T) -> bool, change: impl Fn(&mut T)) {
        for row in self.rows.iter_mut().filter(|row| is_meant(&row.cells)) {
            row.number = number();
            change(&mut row.cells);
        }
    }

    /// Removes and adds the rows of `now` that were removed and added from `before` to `after`. `None` if the table is
    /// another one, or if a row is not there.
    pub(super) fn follow(now: Option<&mut Self>, before: &Self, after: &Self) -> Option<()> {
        let lacks = |rows: &Self, row: &NumberedRow<T>| rows.rows.iter().all(|other| other.number != row.number);
        let removed: Vec<&NumberedRow<T>> = before.rows.iter().filter(|row| lacks(after, row)).collect();
        let added: Vec<NumberedRow<T>> = after.rows.iter().filter(|row| lacks(before, row)).copied().collect();
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
