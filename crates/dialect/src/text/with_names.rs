//! The names that `WITH` defines at each point of a walk over a query.

use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::Query;

/// The names that the `WITH` of the query that is visited, and of those around it, have defined so far.
#[derive(Debug, Default)]
pub struct WithNames {
    names: Vec<String>,
    /// The names of items that are defined when their queries end, by the addresses of these.
    later: Vec<(*const Query, String)>,
    /// The number of names before each of the queries around.
    marks: Vec<usize>,
}

impl WithNames {
    /// Begins a query. Without `RECURSIVE`, an item does not see its own name.
    pub fn enter(&mut self, query: &Query) {
        self.marks.push(self.names.len());
        let Some(with) = &query.with else { return };
        for item in &with.cte_tables {
            let name = item.alias.name.value.clone();
            match with.recursive {
                true => self.names.push(name),
                false => self.later.push((std::ptr::from_ref(item.query.as_ref()), name)),
            }
        }
    }

    /// Ends a query.
    pub fn leave(&mut self, query: &Query) {
        let mark = self.marks.pop().unwrap_or_default();
        self.names.truncate(mark);
        if let Some(at) = self.later.iter().position(|(of, _)| std::ptr::eq(*of, query)) {
            self.names.push(self.later.swap_remove(at).1);
        }
    }

    /// Returns whether a name without a schema is one of them.
    pub fn have(&self, name: &str) -> bool {
        self.names.iter().any(|own| same_name(own, name))
    }
}
