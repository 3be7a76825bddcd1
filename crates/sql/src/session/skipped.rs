//! Notes what statements with `IF EXISTS` and `IF NOT EXISTS` leave out.

use super::state::Session;
use atsdb_dialect::text::skipped::{SkipNotice, folded};
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
use datafusion::sql::sqlparser::ast::ObjectName;

impl Session {
    /// Takes what the last definition, such as `DROP TABLE IF EXISTS`, has left out.
    pub fn take_skipped(&self) -> Vec<SkipNotice> {
        std::mem::take(&mut *self.skipped.lock())
    }

    /// Notes that a table, a view, an index or a sequence exists, and is left as it is.
    pub(super) fn skip_existing(&self, name: &ObjectName) {
        self.skip("42P07", format!("relation \"{}\" already exists, skipping", last(name)));
    }

    /// Notes that a schema exists, and is left as it is.
    pub(super) fn skip_existing_schema(&self, name: &str) {
        self.skip("42P06", format!("schema \"{name}\" already exists, skipping"));
    }

    /// Notes that an object of this kind does not exist, or that its schema does not.
    pub(super) fn skip_missing(&self, kind: &str, name: &ObjectName) {
        let schema = match TableName::of(name).map(|name| name.schema) {
            Ok(NamedSchema::Other(schema)) if self.schema_named(&schema).is_err() => Some(schema),
            _ => None,
        };
        let (kind, name) = match schema {
            Some(schema) => ("schema", schema),
            None => (kind, last(name)),
        };
        self.skip("00000", format!("{kind} \"{name}\" does not exist, skipping"));
    }

    fn skip(&self, sqlstate: &'static str, message: String) {
        self.note_skipped(SkipNotice { sqlstate, message });
    }

    /// Notes what was left out. A retried statement notes the same again.
    pub(super) fn note_skipped(&self, skipped: SkipNotice) {
        let mut all = self.skipped.lock();
        if !all.contains(&skipped) {
            all.push(skipped);
        }
    }
}

/// The last part of a name, as PostgreSQL keeps it.
fn last(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map_or_else(|| name.to_string(), folded)
}
