//! The expressions of a `DO UPDATE`: one query over rows that have the stored row and the new one side by side. It is
//! planned once and run again in each round.

use crate::dml::conflict::Update;
use crate::dml::values::place_assigned;
use crate::plan::work_table::{WorkQuery, WorkTable, select_of, work_query};
use crate::run::worker::QueryRows;
use crate::write::assign::{assign, plain};
use crate::write::returning::{StatementContext, no_rows};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::kernels::zip::zip;
use arrow::compute::{concat_batches, prep_null_mask_filter, take};
use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use atsdb_codec::logical_field;
use atsdb_core::{Column, Error, Result, Table, Unique};
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::identifiers::SharedSpellings;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::tree_walk::visit_expressions_mut;
use atsdb_engine::Batch;
use datafusion::sql::sqlparser::ast::{Expr, Ident, Query, SelectItem, Value};
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The prefix of a new row's columns, which distinguishes them from the stored row's.
const NEW: &str = "\u{1}new ";
/// The column with the number of the row in the round, because a plan may return rows in another order.
const ORDINAL: &str = "\u{1}ordinal";

/// A prepared update.
pub(super) struct Evaluation<'a> {
    table: &'a Table,
    /// The key that decides.
    unique: &'a Unique,
    /// The assigned columns, by position.
    pub(super) set: Vec<usize>,
    query: Option<Query>,
    context: &'a StatementContext<'a>,
    running: Option<(mpsc::UnboundedSender<RecordBatch>, QueryRows)>,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(
        table: &'a Table,
        unique: &'a Unique,
        update: &Update,
        alias: &str,
        context: &'a StatementContext<'a>,
    ) -> Result<Self> {
        let (set, query) = query_of_update(table, update, alias, &context.spellings)?;
        Ok(Self { table, unique, set, query: Some(query), context, running: None })
    }

    /// For pairs of stored and new rows, determines which stored rows are updated, and their new values.
    pub(super) fn next(
        &mut self,
        batch: &Batch,
        old: &RecordBatch,
        new: &RecordBatch,
    ) -> Result<(BooleanArray, RecordBatch)> {
        let mut answer = self.ask(old, new)?;
        let condition = answer.remove(0);
        let Some(condition) = condition.as_boolean_opt() else {
            return match condition.data_type().is_null() {
                true => Ok((BooleanArray::from(vec![false; old.num_rows()]), old.clone())),
                false => Err(sql_error("the WHERE of ON CONFLICT DO UPDATE is not a condition")),
            };
        };
        let updated = match condition.null_count() {
            0 => condition.clone(),
            _ => prep_null_mask_filter(condition),
        };
        let mut columns = old.columns().to_vec();
        for (position, value) in self.set.iter().zip(&answer) {
            let definition = &self.table.definition;
            // A row that is not updated may have a computed value that the column does not accept.
            let kept = &old.columns()[*position];
            let value = assign(definition, *position, &plain(value, &definition.columns[*position])?, None)?;
            let value = match updated.false_count() {
                0 => value,
                _ => {
                    let chosen: Vec<u32> = (0..value.len() as u32).filter(|row| updated.value(*row as usize)).collect();
                    let chosen = take(&value, &UInt32Array::from(chosen), None)?;
                    let chosen = batch.completed(self.table, *position, &chosen)?;
                    spread(&updated, &chosen, kept)?
                }
            };
            columns[*position] = batch.completed(self.table, *position, &value)?;
            self.check_key(*position, kept, &columns[*position])?;
        }
        let rows = RecordBatch::try_new(old.schema(), columns)?;
        Ok((updated, rows))
    }

    fn check_key(&self, position: usize, old: &ArrayRef, new: &ArrayRef) -> Result<()> {
        let column = &self.table.definition.columns[position];
        if self.unique.columns.contains(&column.id) && distinct(old, new)?.has_true() {
            return Err(not_supported(format_args!(
                "DO UPDATE of {}, which belongs to the key of ON CONFLICT",
                column.name
            ))
            .with_hint("UPDATE changes keys"));
        }
        Ok(())
    }

    /// Computes the condition and the values, in the rows' order.
    fn ask(&mut self, old: &RecordBatch, new: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let rows = side_by_side(old, new)?;
        let (_, running) = match &mut self.running {
            Some(running) => {
                let ended = |_| Error::internal("the query for the update has ended");
                running.0.send(rows).map_err(ended)?;
                running
            }
            None => {
                let running = self.start(&rows)?;
                self.running.insert(running)
            }
        };
        let answers = running.round()?;
        let answer = concat_batches(&running.schema(), &answers)?;
        if answer.num_rows() != old.num_rows() {
            return Err(sql_error("DO UPDATE SET takes a value for each row, not an aggregate")
                .with_hint("put it into a subquery: SET c = (SELECT max(x) FROM t)"));
        }
        let ordinals = answer.column(0).as_primitive_opt::<UInt32Type>();
        let ordinals = ordinals.ok_or_else(|| Error::internal("a row without its number"))?;
        let mut order = vec![0_u32; ordinals.len()];
        for (at, ordinal) in ordinals.values().iter().enumerate() {
            match order.get_mut(*ordinal as usize) {
                Some(place) => *place = at as u32,
                None => return Err(Error::internal("an unexpected row")),
            }
        }
        let order = UInt32Array::from(order);
        answer.columns().iter().skip(1).map(|array| take(array, &order, None).map_err(Error::from)).collect()
    }

    fn start(&mut self, rows: &RecordBatch) -> Result<(mpsc::UnboundedSender<RecordBatch>, QueryRows)> {
        let Some(query) = self.query.take() else { return Err(Error::internal("an update is started twice")) };
        let spellings = &self.context.spellings;
        let work_table = work_table(self.table, spellings, rows)?;
        let (sender, more) = mpsc::unbounded_channel();
        let parameters = self.context.parameters.clone();
        let query = WorkQuery { query, spellings: Arc::clone(spellings), work_table, more: Some(more), parameters };
        let rows = self.context.worker.start_on_work_table(query, &self.context.snapshot, self.context.interrupt)?;
        Ok((sender, rows))
    }
}

/// The query for the rows' numbers, the condition and the values of an update, and the assigned columns.
fn query_of_update(
    table: &Table,
    update: &Update,
    alias: &str,
    spellings: &SharedSpellings,
) -> Result<(Vec<usize>, Query)> {
    let definition = &table.definition;
    let mut update = update.clone();
    let (mut set, mut values): (Vec<usize>, Vec<Expr>) = (Vec::new(), Vec::new());
    for (name, mut value) in std::mem::take(&mut update.set) {
        let position = definition.position(&name).map_err(as_sql_error)?;
        if set.contains(&position) {
            return Err(sql_error(format!("DO UPDATE of {}: column {name} is set twice", definition.name)));
        }
        place_assigned(table, position, &mut value)?;
        set.push(position);
        values.push(value);
    }
    let condition = update.selection.take().unwrap_or_else(|| Expr::value(Value::Boolean(true)));
    let mut expressions: Vec<Expr> = std::iter::once(condition).chain(values).collect();
    for expression in &mut expressions {
        name_new_columns(expression, &update, table, spellings)?;
    }
    let ordinal = Expr::Identifier(Ident::new(ORDINAL));
    let mut query = work_query(alias)?;
    let named = |(position, expr): (usize, Expr)| {
        let alias = Ident::new(format!("\u{1}{position}"));
        SelectItem::ExprWithAlias { expr, alias }
    };
    let items = std::iter::once(ordinal).chain(expressions);
    select_of(&mut query)?.projection = items.enumerate().map(named).collect();
    Ok((set, query))
}

/// Stored and new rows side by side, as a table.
fn work_table(table: &Table, spellings: &SharedSpellings, rows: &RecordBatch) -> Result<Arc<WorkTable>> {
    let columns = &table.definition.columns;
    let named = |column: &Column| logical_field(column).with_name(format!("{NEW}{}", spellings.spell(&column.name)));
    let others: Vec<Field> = columns.iter().map(named).chain([Field::new(ORDINAL, DataType::UInt32, true)]).collect();
    WorkTable::new(table, &others, spellings, rows).map(Arc::new)
}

/// The query of an update over no rows, to describe it, and the types of the columns that it assigns.
pub(crate) fn update_query(
    table: &Table,
    update: &Update,
    alias: &str,
    spellings: &SharedSpellings,
    parameters: &Parameters,
) -> Result<(WorkQuery, Vec<Option<DataType>>)> {
    let (set, query) = query_of_update(table, update, alias, spellings)?;
    let rows = no_rows(table);
    let work_table = work_table(table, spellings, &side_by_side(&rows, &rows)?)?;
    let (spellings, parameters) = (Arc::clone(spellings), parameters.clone());
    // The first two are the row's number and the condition.
    let set = set.iter().map(|position| Some(rows.column(*position).data_type().clone()));
    let columns = [None, None].into_iter().chain(set).collect();
    Ok((WorkQuery { query, spellings, work_table, more: None, parameters }, columns))
}

/// Replaces `excluded.c` and `VALUES(c)` by their names in the work table.
fn name_new_columns(expression: &mut Expr, update: &Update, table: &Table, spellings: &SharedSpellings) -> Result<()> {
    let outcome = visit_expressions_mut(expression, |expr| {
        let Some(column) = update.new_column(expr) else { return ControlFlow::Continue(()) };
        match table.definition.column(&column.value) {
            Ok(column) => {
                let name = format!("{NEW}{}", spellings.spell(&column.name));
                *expr = Expr::Identifier(Ident::new(name));
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    });
    match outcome {
        ControlFlow::Break(error) => Err(as_sql_error(error)),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Combines stored and new rows side by side, with their numbers.
fn side_by_side(old: &RecordBatch, new: &RecordBatch) -> Result<RecordBatch> {
    let numbers: ArrayRef = Arc::new(UInt32Array::from_iter_values((0_u32..).take(old.num_rows())));
    let columns: Vec<ArrayRef> = old.columns().iter().chain(new.columns()).cloned().chain([numbers]).collect();
    let field = |(at, array): (usize, &ArrayRef)| Field::new(at.to_string(), array.data_type().clone(), true);
    let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::from)
}

/// The chosen values where the mask is true, one after the other, and the kept ones elsewhere.
fn spread(mask: &BooleanArray, chosen: &ArrayRef, kept: &ArrayRef) -> Result<ArrayRef> {
    let mut next = 0_u32;
    let places = mask.values().iter().map(|is_chosen| {
        let at = next;
        next += u32::from(is_chosen);
        is_chosen.then_some(at)
    });
    let places: UInt32Array = places.collect();
    let wide = take(chosen, &places, None)?;
    zip(mask, &wide, kept).map_err(Error::from)
}
