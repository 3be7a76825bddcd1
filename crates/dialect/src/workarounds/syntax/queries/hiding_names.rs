//! A common table expression that hides one of an outer query by its name, which DataFusion refuses: it gets another
//! name, and the relations that mean it keep theirs as an alias.
//!
//! No upstream issue known.

use crate::text::tree_walk::visit_mut;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query, Statement, TableAlias, TableFactor, VisitorMut, With};
use std::ops::ControlFlow;

/// Renames the common table expressions of a statement that hide others.
pub(crate) fn rename_hiding_names(statement: &mut Statement) {
    let mut names = HidingNames { known: Vec::new(), outer_counts: Vec::new(), renamed_count: 0 };
    let _ = visit_mut(statement, &mut names);
}

struct HidingNames {
    /// The common table expressions of the queries that the visitor is inside of.
    known: Vec<Ident>,
    /// The number of them that were known outside of each of these queries.
    outer_counts: Vec<usize>,
    renamed_count: usize,
}

impl VisitorMut for HidingNames {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let outer_count = self.known.len();
        for at in 0..query.with.as_ref().map_or(0, |with| with.cte_tables.len()) {
            let Some(name) = query.with.as_ref().map(|with| with.cte_tables[at].alias.name.clone()) else { break };
            if self.known[..outer_count].iter().any(|known| same_name(&known.value, &name.value)) {
                self.renamed_count += 1;
                rename(query, at, format!("\u{1}{} {}", name.value, self.renamed_count));
            }
            self.known.push(name);
        }
        self.outer_counts.push(outer_count);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        if let Some(count) = self.outer_counts.pop() {
            self.known.truncate(count);
        }
        ControlFlow::Continue(())
    }
}

/// Gives a common table expression of a query another name, also where the query mentions it.
fn rename(query: &mut Query, at: usize, other: String) {
    let Some(mut with) = query.with.take() else { return };
    let name = &mut with.cte_tables[at].alias.name;
    let before = std::mem::replace(name, Ident::with_quote('"', other.clone()));
    let mut mentions = Mentions { name: before, other, hidden: Vec::new() };
    let first = if with.recursive { at } else { at + 1 };
    for cte in &mut with.cte_tables[first..] {
        let _ = visit_mut(cte.query.as_mut(), &mut mentions);
    }
    let _ = visit_mut(query, &mut mentions);
    query.with = Some(with);
}

/// Renames the relations that mean a common table expression.
struct Mentions {
    name: Ident,
    other: String,
    /// For each query that the visitor is inside of, whether the name means something else there.
    hidden: Vec<bool>,
}

impl Mentions {
    /// The place of the expression of this name in a `WITH`.
    fn position_in(&self, with: &With) -> Option<usize> {
        with.cte_tables.iter().position(|cte| same_name(&cte.alias.name.value, &self.name.value))
    }
}

impl VisitorMut for Mentions {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let is_hidden = self.hidden.last() == Some(&true);
        let position = query.with.as_ref().and_then(|with| self.position_in(with));
        if let (false, Some(position), Some(with)) = (is_hidden, position, &mut query.with) {
            // The name means something else only after its own query.
            let count = if with.recursive { position } else { position + 1 };
            let mut before = Mentions { name: self.name.clone(), other: self.other.clone(), hidden: Vec::new() };
            for cte in &mut with.cte_tables[..count] {
                let _ = visit_mut(cte.query.as_mut(), &mut before);
            }
        }
        self.hidden.push(is_hidden || position.is_some());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.hidden.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, args: None, .. } = factor
            && self.hidden.last() != Some(&true)
            && let [part] = name.0.as_slice()
            && let Some(ident) = part.as_ident().filter(|ident| same_name(&ident.value, &self.name.value)).cloned()
        {
            *name = ObjectName::from(vec![Ident::with_quote('"', self.other.clone())]);
            alias.get_or_insert_with(|| TableAlias { explicit: true, name: ident, columns: Vec::new(), at: None });
        }
        ControlFlow::Continue(())
    }
}
