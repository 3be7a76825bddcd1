//! Testing rows against the CHECK constraints of their table, however they are written. The engine knows no
//! expressions: a layer above, which does, registers how conditions are compiled. Without it, rows of a table with
//! constraints are refused.

use arrow::array::ArrayRef;
use atsdb_core::{Check, ColumnId, ColumnType, Enumeration, Error, Result, Table, TableDefinition, TableId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The maximum number of tables whose compiled conditions are kept. Beyond it, all are compiled anew.
const TABLES_MAX: usize = 1_024;

/// The compiled condition of a CHECK constraint.
pub trait RowCondition: Send + Sync {
    /// Returns the number of the first row for which the condition is false. `columns` are those that the constraint
    /// names, in the order of the table, each of its logical type, but mapped columns as text.
    fn first_violation(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<usize>>;
}

type Compile = Box<dyn Fn(&TableDefinition, &Check) -> Result<Arc<dyn RowCondition>> + Send + Sync>;

/// The compiled conditions of all tables.
#[derive(Default)]
pub(crate) struct RowChecks {
    compile: OnceLock<Compile>,
    compiled: Mutex<HashMap<TableId, Arc<CompiledChecks>>>,
}

/// The compiled conditions of one table, and what they were compiled from.
struct CompiledChecks {
    checks: Vec<Check>,
    columns: Vec<(ColumnId, String, ColumnType, bool)>,
    enumerations: Vec<Enumeration>,
    conditions: Vec<Arc<dyn RowCondition>>,
}

impl RowChecks {
    /// Registers how conditions are compiled. If it is called several times, the first one stays.
    pub(crate) fn set_compiler(
        &self,
        compile: impl Fn(&TableDefinition, &Check) -> Result<Arc<dyn RowCondition>> + Send + Sync + 'static,
    ) {
        let _ = self.compile.set(Box::new(compile));
    }

    /// Forgets a table that was dropped.
    pub(crate) fn forget(&self, table: TableId) {
        self.compiled.lock().remove(&table);
    }

    /// Returns the wanted constraint that the first offending row violates; of several, the first by name. `column`
    /// returns the rows' values in the column at a position of the table, as a [`RowCondition`] takes them.
    pub(crate) fn first_violated<'a>(
        &self,
        table: &'a Table,
        wanted: impl Fn(&Check) -> bool,
        row_count: usize,
        mut column: impl FnMut(usize) -> Result<ArrayRef>,
    ) -> Result<Option<&'a Check>> {
        let definition = &table.definition;
        let mut order: Vec<usize> = (0..definition.checks.len()).filter(|at| wanted(&definition.checks[*at])).collect();
        if order.is_empty() || row_count == 0 {
            return Ok(None);
        }
        order.sort_by(|a, b| definition.checks[*a].name.cmp(&definition.checks[*b].name));
        let compiled = self.compiled(table)?;
        let mut known: HashMap<usize, ArrayRef> = HashMap::new();
        let mut first: Option<(usize, &Check)> = None;
        for at in order {
            let check = &definition.checks[at];
            let mut columns = Vec::with_capacity(check.columns.len());
            for position in positions_of(definition, check) {
                if let Some(array) = known.get(&position) {
                    columns.push(ArrayRef::clone(array));
                    continue;
                }
                let array = column(position)?;
                columns.push(ArrayRef::clone(&array));
                known.insert(position, array);
            }
            match compiled.conditions[at].first_violation(&columns, row_count) {
                Ok(Some(row)) if first.is_none_or(|(earlier, _)| row < earlier) => first = Some((row, check)),
                // The statement fails in any case, and the violation comes first.
                Err(error) if first.is_none() => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(first.map(|(_, check)| check))
    }

    fn compiled(&self, table: &Table) -> Result<Arc<CompiledChecks>> {
        let definition = &table.definition;
        let known = self.compiled.lock().get(&table.id).cloned();
        if let Some(known) = known.filter(|known| known.are_of(definition)) {
            return Ok(known);
        }
        let compile = self.compile.get().ok_or_else(|| {
            let name = &definition.name;
            Error::usage(format!("table {name} has CHECK constraints, which need SQL, and this program has none"))
                .with_hint("compile atsdb with its feature sql, or drop the constraints")
        })?;
        let conditions = definition.checks.iter().map(|check| compile(definition, check));
        let conditions = conditions.collect::<Result<Vec<_>>>()?;
        let owned = |(id, name, of, mapped): (ColumnId, &str, ColumnType, bool)| (id, name.to_owned(), of, mapped);
        let (checks, columns) = (definition.checks.clone(), shapes_of(definition).map(owned).collect());
        let enumerations = definition.enumerations().cloned().collect();
        let compiled = Arc::new(CompiledChecks { checks, columns, enumerations, conditions });
        let mut all = self.compiled.lock();
        if all.len() >= TABLES_MAX {
            all.clear();
        }
        all.insert(table.id, Arc::clone(&compiled));
        Ok(compiled)
    }
}

impl CompiledChecks {
    /// Returns whether they were compiled from what this definition says.
    fn are_of(&self, definition: &TableDefinition) -> bool {
        let own = self.columns.iter().map(|(id, name, of, mapped)| (*id, name.as_str(), *of, *mapped));
        self.checks == definition.checks
            && own.eq(shapes_of(definition))
            && self.enumerations.iter().eq(definition.enumerations())
    }
}

/// Returns the properties of a table's columns on which compiled conditions depend: id, name, type, and whether the
/// column is mapped.
fn shapes_of(definition: &TableDefinition) -> impl Iterator<Item = (ColumnId, &str, ColumnType, bool)> {
    let columns = definition.columns.iter();
    columns.map(|column| (column.id, column.name.as_str(), column.column_type, column.map.is_some()))
}

/// The positions of the columns that a constraint names, in the order of the table.
pub(crate) fn positions_of(definition: &TableDefinition, check: &Check) -> impl Iterator<Item = usize> {
    let columns = definition.columns.iter().enumerate();
    columns.filter(move |(_, column)| check.columns.contains(&column.id)).map(|(position, _)| position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;

    /// A condition that is false for this number.
    struct Differs(i64);

    impl RowCondition for Differs {
        fn first_violation(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<usize>> {
            let values = columns[0].as_primitive::<Int64Type>();
            assert_eq!(values.len(), row_count);
            Ok(values.iter().position(|value| value == Some(self.0)))
        }
    }

    fn table(conditions: &[(&str, &str, u16)]) -> Table {
        let definition = TableDefinition::new("t").with_column("a", ColumnType::Int64, None);
        let mut definition = definition.with_column("b", ColumnType::Int64, None);
        definition.checks = conditions
            .iter()
            .map(|(name, condition, column)| Check {
                name: (*name).to_owned(),
                condition: (*condition).to_owned(),
                columns: vec![ColumnId(*column)],
                not_valid: false,
            })
            .collect();
        Table::new(TableId(1), definition)
    }

    fn violated(checks: &RowChecks, table: &Table) -> Result<Option<String>> {
        let columns: [ArrayRef; 2] =
            [Arc::new(Int64Array::from(vec![1, 2, 3])), Arc::new(Int64Array::from(vec![3, 2, 1]))];
        let found = checks.first_violated(table, |_| true, 3, |position| Ok(ArrayRef::clone(&columns[position])))?;
        Ok(found.map(|check| check.name.clone()))
    }

    #[test]
    fn the_first_row_is_reported_and_then_the_first_name() {
        let checks = RowChecks::default();
        let refused = violated(&checks, &table(&[("x", "1", 0)])).unwrap_err();
        assert!(refused.to_string().contains("need SQL"), "{refused}");
        assert_eq!(violated(&checks, &table(&[])).unwrap(), None);
        checks.set_compiler(|_, check| Ok(Arc::new(Differs(check.condition.parse().unwrap()))));
        assert_eq!(violated(&checks, &table(&[("x", "7", 0)])).unwrap(), None);
        assert_eq!(violated(&checks, &table(&[("a", "2", 0), ("b", "3", 1)])).unwrap().as_deref(), Some("b"));
        assert_eq!(violated(&checks, &table(&[("z", "2", 0), ("y", "2", 1)])).unwrap().as_deref(), Some("y"));
        assert_eq!(violated(&checks, &table(&[("z", "4", 0), ("y", "4", 1)])).unwrap(), None);
    }
}
