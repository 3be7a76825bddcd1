//! Definitions of views and materialized views.

use crate::error::{Error, ErrorKind, Result};
use crate::schema::TableDefinition;
use crate::view::View;

impl TableDefinition {
    /// Creates the definition of a view with this query.
    pub fn new_view(name: impl Into<String>, query: impl Into<String>) -> Self {
        Self { view: Some(View { query: query.into() }), ..Self::new(name) }
    }

    /// Returns whether it is a materialized view that has not been refreshed yet.
    pub fn is_unpopulated(&self) -> bool {
        self.materialized.as_ref().is_some_and(|materialized| !materialized.populated)
    }

    /// Refuses statements that change rows of a materialized view.
    pub fn refuse_change(&self) -> Result<()> {
        match self.materialized {
            Some(_) => {
                let message = format!("cannot change materialized view \"{}\"", self.local_name());
                Err(Error::new(ErrorKind::Sql, message).with_hint("REFRESH MATERIALIZED VIEW computes its rows anew"))
            }
            None => Ok(()),
        }
    }

    /// Refuses a materialized view that is something else, too, or that has conditions on rows besides unique indexes.
    pub(crate) fn check_materialized(&self) -> Result<()> {
        let is_only_one = self.view.is_none() && self.rollup.is_none() && self.memory.is_none() && !self.sequence;
        let is_plain = self.time.is_none() && self.checks.is_empty() && self.unique.iter().all(|unique| unique.index);
        match self.materialized.is_none() || is_only_one && is_plain {
            true => Ok(()),
            false => Err(Error::internal(format!("materialized view {} is not a plain table", self.name))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column_type::ColumnType;
    use crate::schema::Unique;
    use crate::view::MaterializedView;

    #[test]
    fn a_materialized_view_is_a_plain_table_with_a_query() {
        let mut definition = TableDefinition::new("m").with_column("a", ColumnType::Int64, None);
        definition.materialized = Some(MaterializedView::new("SELECT 1 AS a", false));
        definition.unique.push(Unique { index: true, ..Unique::new(vec![definition.columns[0].id]) });
        definition.check().unwrap();
        assert!(definition.is_unpopulated());
        let json = serde_json::to_string(&definition).unwrap();
        assert!(json.contains(r#""materialized":{"query":"SELECT 1 AS a","populated":false,"refreshes":0}"#), "{json}");
        assert_eq!(serde_json::from_str::<TableDefinition>(&json).unwrap(), definition);
        let mut keyed = definition.clone();
        keyed.unique[0].index = false;
        assert!(keyed.check().is_err());
        definition.sequence = true;
        assert!(definition.check().is_err());
    }
}
