//! Direct reads of rows: some columns of the rows that satisfy plain conditions, in some order, if only a few chunks
//! can have such rows. Conditions and the limit may contain parameters. The number of rows of a whole table is a direct
//! read, too.

use super::conditions::OpenConditions;
use super::read_length::ReadLength;
use super::skips::Skips;
use super::watch::Watch;
use crate::scan::provider::SnapshotTable;
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{SortColumn, SortOptions, cast, concat_batches, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, Int64Type, Schema, SchemaRef};
use atsdb_codec::logical_type;
use atsdb_core::{Error, Result, Table, TableDefinition, TableId, TimeRange};
use atsdb_dialect::parse::headings::Headings;
use atsdb_dialect::parse::parameter_types::close_expression;
use atsdb_dialect::text::params::Parameters;
use atsdb_engine::{ReadSnapshot, Scan, ScanRequest};
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, TableScan};
use std::cmp::Reverse;
use std::sync::Arc;

/// The maximum number of chunks to read. If there are more, a plan is executed, which reads them on several threads and
/// streams the rows.
const CHUNKS_MAX: usize = 4;

/// A read that examines no more rows than this, in memory, and lists no more chunks, takes a moment.
const MOMENT_ROWS_MAX: u64 = 1 << 18;
const MOMENT_LISTED_MAX: usize = 200;
/// A read that has more rows than this to order takes longer.
const MOMENT_ORDERED_MAX: usize = 10_000;

/// The number of reads that are not tried as short ones after a read that took longer.
const SKIPS: u32 = 1_000;

/// A read of rows.
#[derive(Debug)]
pub(crate) struct DirectRows {
    table: TableId,
    /// The columns that are read, by position. Those that only the order needs follow those of the answer.
    columns: Vec<usize>,
    schema: SchemaRef,
    conditions: OpenConditions,
    order: Vec<(usize, SortOptions)>,
    /// The maximum numbers of rows, as numbers or parameters.
    limits: Vec<Expr>,
    /// Whether the answer is the number of rows.
    counts: bool,
    /// The next reads that are not tried as short ones.
    skips: Skips,
}

impl DirectRows {
    /// The direct read for an optimized plan; `None` if it has another form.
    pub(crate) fn of(plan: &LogicalPlan, headings: &Headings) -> Option<Self> {
        let schema = headings.apply(&Arc::new(plan.schema().as_arrow().clone()));
        let outputs = plan.schema().iter().map(Column::from).collect();
        let mut builder = DirectRowsBuilder::new(outputs);
        let mut plan = plan;
        loop {
            if let LogicalPlan::TableScan(scan) = plan {
                return builder.over_scan(scan, schema);
            }
            plan = builder.descend(plan)?;
            // A column that is renamed above a condition has another name in the condition.
            if !builder.conditions.is_empty() && !matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::TableScan(_)) {
                return None;
            }
        }
    }

    /// Returns whether this read, with values for its parameters, is the same as another one without parameters.
    pub(super) fn is_same(&self, parameters: &Parameters, other: &Self, definition: &TableDefinition) -> bool {
        let of_other = Parameters::none();
        (self.table, &self.columns, &self.schema, &self.order, self.counts)
            == (other.table, &other.columns, &other.schema, &other.order, other.counts)
            && self.limit(parameters) == other.limit(&of_other)
            && self.conditions.is_same(parameters, &other.conditions, definition)
    }

    /// The rows of the answer; `None` if a plan is needed after all, or if reading takes longer than it may. If columns
    /// are not in memory and reading may only take a moment, it fails.
    pub(super) fn read(
        &self,
        table: &Table,
        snapshot: &ReadSnapshot,
        parameters: &Parameters,
        length: ReadLength,
        watch: Watch<'_>,
    ) -> Result<Option<Vec<RecordBatch>>> {
        if self.counts {
            return match length {
                ReadLength::Any => self.count(snapshot, table).map(Some),
                ReadLength::Moment => Ok(None),
            };
        }
        let definition = &table.definition;
        let Some(limit) = self.limit(parameters).filter(|limit| *limit > 0) else { return Ok(None) };
        let scan = self.conditions.scan(parameters, table, snapshot, &self.columns)?;
        let Some(mut scan) = scan else { return Ok(None) };
        // Also noted for the next reads if this one may take longer.
        let is_short = self.takes_a_moment(&scan);
        if length == ReadLength::Moment {
            if !is_short {
                return Ok(None);
            }
            scan = scan.only_in_memory();
        }
        let Some(found) = self.rows_of_chunks(&scan, definition, limit, length, watch)? else { return Ok(None) };
        let mut left = limit;
        let mut answer = Vec::with_capacity(found.len());
        for rows in found {
            let rows = rows.slice(0, rows.num_rows().min(left));
            left -= rows.num_rows();
            if rows.num_rows() > 0 {
                answer.push(self.answer(&rows)?);
            }
        }
        Ok(Some(answer))
    }

    /// The rows of the chunks, in order and at least as many as the limit if there are so many. A chunk is not read if
    /// all its rows come after those. `None` if too many chunks must be read, or if reading takes longer than it may.
    fn rows_of_chunks(
        &self,
        scan: &Scan,
        definition: &TableDefinition,
        limit: usize,
        length: ReadLength,
        watch: Watch<'_>,
    ) -> Result<Option<Vec<RecordBatch>>> {
        let by_time = self.order_by_time(definition).filter(|_| limit < usize::MAX);
        if scan.chunks().len() > CHUNKS_MAX && by_time.is_none() {
            return Ok(None);
        }
        let mut positions: Vec<usize> = (0..scan.chunks().len()).collect();
        let entry = |position: usize| &scan.chunks()[position].entry;
        match by_time {
            Some(false) => positions.sort_by_key(|position| entry(*position).time_min),
            Some(true) => positions.sort_by_key(|position| Reverse(entry(*position).time_max)),
            None => {}
        }
        let (mut found, mut row_count): (Vec<RecordBatch>, usize) = (Vec::new(), 0);
        for (count, position) in positions.into_iter().enumerate() {
            if row_count >= limit {
                let is_beyond = |time: i64| match by_time {
                    Some(false) => time < entry(position).time_min,
                    Some(true) => time > entry(position).time_max,
                    None => false,
                };
                if self.order.is_empty() || self.last_time(&found[0], definition).is_some_and(is_beyond) {
                    break;
                }
            }
            if count >= CHUNKS_MAX {
                return Ok(None);
            }
            watch()?;
            if let Some(rows) = scan.read(position)?.filter(|rows| rows.num_rows() > 0) {
                row_count += rows.num_rows();
                found.push(rows);
            }
            if !self.order.is_empty() && row_count > MOMENT_ORDERED_MAX {
                self.note_longer();
                if length == ReadLength::Moment {
                    return Ok(None);
                }
            }
            if !self.order.is_empty() && row_count >= limit {
                found = vec![self.ordered(&found, limit)?];
                row_count = found[0].num_rows();
            }
        }
        if !self.order.is_empty() && row_count > 0 {
            found = vec![self.ordered(&found, limit)?];
        }
        Ok(Some(found))
    }

    /// The number of rows, which the chunks state.
    fn count(&self, snapshot: &ReadSnapshot, table: &Table) -> Result<Vec<RecordBatch>> {
        let request =
            ScanRequest { columns: Vec::new(), range: TimeRange::ALL, predicates: Vec::new(), use_cache: true };
        let scan = snapshot.scan(table, &request)?;
        let count: i64 = scan.chunks().iter().map(|chunk| i64::from(chunk.entry.row_count)).sum();
        let count: ArrayRef = Arc::new(Int64Array::from(vec![count]));
        Ok(vec![RecordBatch::try_new(Arc::clone(&self.schema), vec![count])?])
    }

    /// Returns whether it may take only a moment, as far as earlier reads have shown. To be asked once before each
    /// read.
    pub(super) fn may_be_short(&self) -> bool {
        // To count the rows of a table, all its chunks are listed.
        !self.counts && !self.skips.skip_next()
    }

    /// Returns whether a scan has listed few chunks, and the rows that it may have to examine are few. If not, it is
    /// noted.
    fn takes_a_moment(&self, scan: &Scan) -> bool {
        let is_short = scan.chunk_count_listed() <= MOMENT_LISTED_MAX
            && scan.chunks().len() <= CHUNKS_MAX
            && scan.row_count_max() <= MOMENT_ROWS_MAX;
        if !is_short {
            self.note_longer();
        }
        is_short
    }

    fn note_longer(&self) {
        self.skips.begin(SKIPS);
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn table_id(&self) -> TableId {
        self.table
    }

    /// Returns whether the rows are ordered by time first, and if so, whether the latest come first.
    fn order_by_time(&self, definition: &TableDefinition) -> Option<bool> {
        let time = definition.time_column()?.id;
        let (at, options) = self.order.first()?;
        (definition.columns[self.columns[*at]].id == time).then_some(options.descending)
    }

    /// The time of the last of some ordered rows, in the table's unit.
    fn last_time(&self, rows: &RecordBatch, definition: &TableDefinition) -> Option<i64> {
        let (at, _) = self.order.first()?;
        let last = rows.column(*at).slice(rows.num_rows().checked_sub(1)?, 1);
        let time = cast(&last, &DataType::Int64).ok()?;
        time.as_primitive_opt::<Int64Type>()?.value(0).checked_mul(definition.time_scale())
    }

    /// The maximum number of rows; `None` if it is not a number.
    fn limit(&self, parameters: &Parameters) -> Option<usize> {
        let count = |expr: &Expr| match close_expression(expr.clone(), parameters).ok()?.data {
            Expr::Literal(ScalarValue::Int64(Some(count)), _) => usize::try_from(count).ok(),
            _ => None,
        };
        self.limits.iter().try_fold(usize::MAX, |least, limit| Some(least.min(count(limit)?)))
    }

    fn ordered(&self, found: &[RecordBatch], limit: usize) -> Result<RecordBatch> {
        let rows = match found {
            [rows] => rows.clone(),
            _ => concat_batches(&found[0].schema(), found)?,
        };
        let key = |(at, options): &(usize, SortOptions)| SortColumn {
            values: ArrayRef::clone(rows.column(*at)),
            options: Some(*options),
        };
        let keys: Vec<SortColumn> = self.order.iter().map(key).collect();
        let indices: UInt32Array = lexsort_to_indices(&keys, (limit < rows.num_rows()).then_some(limit))?;
        take_record_batch(&rows, &indices).map_err(Error::from)
    }

    fn answer(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = rows.columns()[..self.schema.fields().len()].to_vec();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(Error::from)
    }
}

/// The parts of a plan that were found on the way down to its table.
struct DirectRowsBuilder {
    /// The columns of the answer, with the names in the next lower step of the plan.
    outputs: Vec<Column>,
    order: Vec<(Column, SortOptions)>,
    is_ordered: bool,
    conditions: Vec<Expr>,
    limits: Vec<Expr>,
    counts: bool,
}

impl DirectRowsBuilder {
    fn new(outputs: Vec<Column>) -> Self {
        Self {
            outputs,
            order: Vec::new(),
            is_ordered: false,
            conditions: Vec::new(),
            limits: Vec::new(),
            counts: false,
        }
    }

    /// Returns whether there are only renamed columns so far.
    fn is_bare(&self) -> bool {
        !self.is_ordered && !self.counts && self.conditions.is_empty() && self.limits.is_empty()
    }

    /// Takes over what one step of the plan does, and returns its input. `None` if a direct read cannot do it.
    fn descend<'p>(&mut self, plan: &'p LogicalPlan) -> Option<&'p LogicalPlan> {
        match plan {
            LogicalPlan::Projection(projection) => {
                let below = |column: &Column| {
                    let at = projection.schema.maybe_index_of_column(column)?;
                    match projection.expr[at].clone().unalias() {
                        Expr::Column(column) => Some(column),
                        _ => None,
                    }
                };
                self.rename(below)?;
                Some(projection.input.as_ref())
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let below = |column: &Column| {
                    let at = alias.schema.maybe_index_of_column(column)?;
                    Some(Column::from(alias.input.schema().qualified_field(at)))
                };
                self.rename(below)?;
                Some(alias.input.as_ref())
            }
            LogicalPlan::Limit(limit) if limit.skip.as_deref().is_none_or(is_zero) && !self.is_ordered => {
                self.limits.extend(limit.fetch.as_deref().cloned());
                Some(limit.input.as_ref())
            }
            LogicalPlan::Sort(sort) if !self.is_ordered && self.conditions.is_empty() => {
                self.is_ordered = true;
                for key in &sort.expr {
                    let Expr::Column(column) = &key.expr else { return None };
                    let options = SortOptions { descending: !key.asc, nulls_first: key.nulls_first };
                    self.order.push((column.clone(), options));
                }
                self.limits.extend(sort.fetch.map(|count| Expr::Literal(ScalarValue::from(count as i64), None)));
                Some(sort.input.as_ref())
            }
            LogicalPlan::Aggregate(aggregate) if self.is_bare() && counts_rows(aggregate) => {
                self.counts = true;
                Some(aggregate.input.as_ref())
            }
            LogicalPlan::Filter(filter) => {
                self.conditions.extend(split_conjunction(&filter.predicate).into_iter().cloned());
                Some(filter.input.as_ref())
            }
            _ => None,
        }
    }

    fn rename(&mut self, below: impl Fn(&Column) -> Option<Column>) -> Option<()> {
        for column in self.outputs.iter_mut().chain(self.order.iter_mut().map(|(column, _)| column)) {
            *column = below(column)?;
        }
        Some(())
    }

    /// The direct read, at the end of the plan.
    fn over_scan(mut self, scan: &TableScan, schema: SchemaRef) -> Option<DirectRows> {
        let provider = source_as_provider(&scan.source).ok()?;
        let table = provider.downcast_ref::<SnapshotTable>().filter(|table| table.is_plain())?;
        if let Some(count) = scan.fetch {
            // A limit below an order or a condition would leave out other rows.
            if self.is_ordered || !self.conditions.is_empty() {
                return None;
            }
            self.limits.push(Expr::Literal(ScalarValue::from(count as i64), None));
        }
        self.conditions.extend(scan.filters.iter().flat_map(split_conjunction).cloned());
        self.over(table, schema)
    }

    fn over(self, table: &SnapshotTable, schema: SchemaRef) -> Option<DirectRows> {
        let definition = table.definition();
        if self.counts {
            let is_whole = self.conditions.is_empty() && self.limits.is_empty() && !self.is_ordered;
            let is_count = schema.fields().len() == 1 && *schema.field(0).data_type() == DataType::Int64;
            let (table, columns) = (table.source().1.id, Vec::new());
            let Self { limits, counts, .. } = self;
            let conditions = OpenConditions::default();
            let (order, skips) = (Vec::new(), Skips::default());
            let direct = DirectRows { table, columns, schema, conditions, order, limits, counts, skips };
            return (is_whole && is_count).then_some(direct);
        }
        let position = |column: &Column| definition.position(&column.name).ok();
        let mut columns = self.outputs.iter().map(position).collect::<Option<Vec<usize>>>()?;
        if columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column)) {
            return None;
        }
        let mut order = Vec::with_capacity(self.order.len());
        for (column, options) in &self.order {
            let wanted = position(column)?;
            let at = columns.iter().position(|other| *other == wanted).unwrap_or_else(|| {
                columns.push(wanted);
                columns.len() - 1
            });
            order.push((at, *options));
        }
        let of_table = columns.iter().map(|position| logical_type(&definition.columns[*position]));
        let has_types =
            |schema: &Schema| schema.fields().iter().zip(of_table).all(|(field, of)| *field.data_type() == of);
        let (conditions, limits) = (OpenConditions::new(self.conditions), self.limits);
        has_types(&schema).then_some(DirectRows {
            table: table.source().1.id,
            columns,
            schema,
            conditions,
            order,
            limits,
            counts: false,
            skips: Skips::default(),
        })
    }
}

/// Returns whether an aggregate returns the number of its rows and nothing else.
fn counts_rows(aggregate: &Aggregate) -> bool {
    let [call] = aggregate.aggr_expr.as_slice() else { return false };
    let Expr::AggregateFunction(AggregateFunction { func, params }) = call.clone().unalias() else { return false };
    let is_plain = !params.distinct && params.filter.is_none() && params.order_by.is_empty();
    let is_never_null = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if !value.is_null());
    aggregate.group_expr.is_empty()
        && func.name() == "count"
        && is_plain
        && matches!(params.args.as_slice(), [value] if is_never_null(value))
}

fn is_zero(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Int64(Some(0)), _))
}
