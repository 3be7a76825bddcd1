//! The statements that make a store's tables anew, for the shell's `.dump`.

use super::schema::{schema_statements, statement};
use crate::console::interrupt::{self, Watch};
use crate::output::destination::Destination;
use arrow::record_batch::RecordBatch;
use atsdb::sql::{Answer, Session, qualified, unvalidated_sql};
use atsdb::{Result, Table, TableDefinition};
use atsdb_export::value::{Cells, TextKind};

/// The rows of one INSERT.
const ROWS: usize = 500;

/// Writes the declarations and the rows of tables, in one transaction. The rows of views, materialized views and
/// rollups are computed. `is_whole` says whether these are all tables, so that schemas without tables belong to them.
/// Constraints that are not valid are added after the transaction, to tables that have rows.
pub(crate) fn dump(session: &Session, tables: &[Table], is_whole: bool, out: &mut Destination) -> Result<()> {
    let handle = session.interrupt_handle();
    let _watch = Watch::new(move || handle.interrupt());
    out.put(b"BEGIN;\n")?;
    out.put(schema_statements(session.engine(), tables, is_whole)?.as_bytes())?;
    for table in tables {
        let table = &session.engine().continued(table.clone())?;
        out.put(statement(&validated(&table.definition)).as_bytes())?;
        let definition = &table.definition;
        let is_computed = definition.view.is_some() || definition.rollup.is_some() || definition.materialized.is_some();
        if is_computed || definition.sequence {
            continue;
        }
        let name = qualified(&table.definition);
        let always = table.definition.identities().any(|(_, identity)| identity.always);
        let target = if always { format!("{name} OVERRIDING SYSTEM VALUE") } else { name.clone() };
        for query in session.statements(&format!("SELECT * FROM {name}")) {
            if let Answer::Rows(rows) = session.execute(&query?, &[])? {
                for batch in rows {
                    interrupt::check()?;
                    write_rows(&target, &batch?, out)?;
                }
            }
        }
    }
    out.put(b"COMMIT;\n")?;
    let unvalidated = tables.iter().flat_map(|table| unvalidated_sql(&table.definition));
    unvalidated.map(|statement| format!("{statement};\n")).try_for_each(|statement| out.put(statement.as_bytes()))
}

/// A definition without the constraints that its rows need not satisfy.
fn validated(definition: &TableDefinition) -> TableDefinition {
    let mut valid = definition.clone();
    valid.checks.retain(|check| !check.not_valid);
    valid.foreign_keys.retain(|key| !key.not_valid);
    valid
}

fn write_rows(target: &str, batch: &RecordBatch, out: &mut Destination) -> Result<()> {
    let columns = batch.columns().iter().map(|column| Cells::new(column)).collect::<Result<Vec<_>>>()?;
    let mut text = Vec::new();
    for row in 0..batch.num_rows() {
        let lead =
            if row.is_multiple_of(ROWS) { format!("INSERT INTO {target} VALUES\n  (") } else { "  (".to_owned() };
        text.extend_from_slice(lead.as_bytes());
        for (position, cells) in columns.iter().enumerate() {
            if position > 0 {
                text.extend_from_slice(b", ");
            }
            write_literal(cells, row, &mut text);
        }
        let is_last = (row + 1).is_multiple_of(ROWS) || row + 1 == batch.num_rows();
        text.extend_from_slice(if is_last { b");\n" } else { b"),\n" });
        if is_last {
            out.put(&text)?;
            text.clear();
        }
    }
    Ok(())
}

/// A value as a literal: a number, true, false or NULL as it is, anything else as text of its type.
fn write_literal(cells: &Cells<'_>, row: usize, out: &mut Vec<u8>) {
    if cells.is_null(row) {
        out.extend_from_slice(b"NULL");
        return;
    }
    let start = out.len();
    cells.write(row, out);
    let is_bare = match cells.kind() {
        TextKind::Number | TextKind::Bool => true,
        TextKind::Float => out.last().is_some_and(u8::is_ascii_digit),
        TextKind::Nested | TextKind::Text => false,
    };
    if !is_bare {
        let value = out.split_off(start);
        out.push(b'\'');
        for byte in value {
            out.push(byte);
            if byte == b'\'' {
                out.push(b'\'');
            }
        }
        out.push(b'\'');
    }
}
