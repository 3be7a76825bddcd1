//! Notes what statements with `IF EXISTS` and `IF NOT EXISTS` leave out.

use super::state::Session;
use crate::run::skipped::Skipped;
use crate::text::table_names::{NamedSchema, TableName};
use datafusion::sql::sqlparser::ast::ObjectName;

impl Session {
    /// Takes what the last definition, such as `DROP TABLE IF EXISTS`, has left out.
    pub fn take_skipped(&self) -> Vec<Skipped> {
        std::mem::take(&mut *self.skipped.lock())
    }

    /// Notes that a table, a view, an index or a sequence exists, and is left as it is.
    pub(super) fn skip_existing(&self, name: &ObjectName) {
        self.skip("42P07", format!("relation \"{}\" already exists, skipping", folded(name)));
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
            None => (kind, folded(name)),
        };
        self.skip("00000", format!("{kind} \"{name}\" does not exist, skipping"));
    }

    /// A retried statement notes the same again.
    fn skip(&self, sqlstate: &'static str, message: String) {
        let skipped = Skipped { sqlstate, message };
        let mut all = self.skipped.lock();
        if !all.contains(&skipped) {
            all.push(skipped);
        }
    }
}

/// The last part of a name, in lower case unless it is quoted.
fn folded(name: &ObjectName) -> String {
    match name.0.last().and_then(|part| part.as_ident()) {
        Some(ident) if ident.quote_style.is_none() => ident.value.to_lowercase(),
        Some(ident) => ident.value.clone(),
        None => name.to_string(),
    }
}
