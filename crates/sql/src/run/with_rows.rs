//! The rows of items of `WITH` that were executed before the other parts of their statement.

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use atsdb_core::name::same_name;
use atsdb_core::{Error, ErrorKind, Result};
use atsdb_dialect::parse::with_steps::{WithItem, WithStep};
use atsdb_dialect::text::datafusion_errors::from_datafusion;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::identifiers::Spellings;
use datafusion::catalog::{MemTable, TableProvider};
use std::sync::Arc;

/// One step of a statement, and the rows of the items before it.
pub(crate) struct StepRequest {
    pub(crate) step: WithStep,
    /// The rows of each item in [`WithStep::known`].
    pub(crate) rows: Vec<Arc<ItemRows>>,
}

/// The rows of one item.
#[derive(Debug)]
pub(crate) struct ItemRows {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ItemRows {
    /// Names the rows' columns as the item does.
    pub(crate) fn new(item: &WithItem, schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<Self> {
        let count = schema.fields().len();
        if item.columns.len() > count {
            let message = format!("{} of WITH has {count} columns, not {}", item.name, item.columns.len());
            return Err(sql_error(message));
        }
        let aliases = item.columns.iter().map(String::as_str);
        let others = schema.fields().iter().skip(item.columns.len()).map(|field| field.name().as_str());
        let names: Vec<&str> = aliases.chain(others).collect();
        for (position, name) in names.iter().enumerate() {
            if names[..position].iter().any(|other| same_name(other, name)) {
                return Err(sql_error(format!("{} of WITH has two columns named {name}", item.name))
                    .with_hint(format!("name its columns: WITH {}(a, b) AS (...)", item.name)));
            }
        }
        // What says that texts are UUIDs or JSON stays.
        let field = |(name, field): (&str, &Arc<Field>)| field.as_ref().clone().with_name(name).with_nullable(true);
        let fields: Vec<Field> = names.into_iter().zip(schema.fields()).map(field).collect();
        Ok(Self { schema: Arc::new(Schema::new(fields)), batches })
    }

    /// The rows as a table, whose columns are spelled as in the statement.
    pub(crate) fn provider(&self, spellings: &Spellings) -> Result<Arc<dyn TableProvider>> {
        let field = |field: &Arc<Field>| field.as_ref().clone().with_name(spellings.spell(field.name()));
        let schema = Arc::new(Schema::new(self.schema.fields().iter().map(field).collect::<Vec<_>>()));
        let named = |batch: &RecordBatch| Ok(RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())?);
        let batches = self.batches.iter().map(named).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(MemTable::try_new(schema, vec![batches]).map_err(from_datafusion)?))
    }
}

/// Collects the rows of the parts of a statement, in bounded memory.
#[derive(Debug)]
pub(crate) struct CollectedBytes {
    bytes: usize,
    bytes_max: usize,
}

impl CollectedBytes {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes: 0, bytes_max }
    }

    /// Reads all rows.
    pub(crate) fn collect(&mut self, rows: impl Iterator<Item = Result<RecordBatch>>) -> Result<Vec<RecordBatch>> {
        rows.map(|rows| rows.and_then(|rows| self.add(&rows).map(|()| rows))).collect()
    }

    /// Counts rows that are kept until the statement ends.
    pub(crate) fn add(&mut self, rows: &RecordBatch) -> Result<()> {
        self.bytes = self.bytes.saturating_add(rows.get_array_memory_size());
        if self.bytes <= self.bytes_max {
            return Ok(());
        }
        let message = format!("the rows of the parts of this WITH need more than {} bytes of memory", self.bytes_max);
        Err(Error::new(ErrorKind::Resources, message)
            .with_hint("change fewer rows at a time, or give the session more memory"))
    }
}
