//! Binary operators on the series of two vectors that match.

use super::binary_samples::{Operated, Remark, apply_numbers, apply_samples, is_trim, truth};
use super::columns::{Column, GAP};
use super::evaluator::{Evaluator, Result, fail};
use super::matching::{Groups, result_labels, signature, spaced};
use super::outcome::{EvaluateError, Sample};
use crate::histogram::Histogram;
use crate::labels::Labels;
use crate::promql::{Binary, Cardinality};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The number of steps between two checks of the query's limits.
const STEPS_PER_CHECK: usize = 256;

/// An operation on two vectors. Of the series of the "one" side each match group has at most one at each step; the
/// "many" side is the left one, unless the operator has `group_right`.
pub(super) struct Matched<'a> {
    evaluator: &'a Evaluator<'a>,
    binary: &'a Binary,
    many: OperandSeries<'a>,
    one: OperandSeries<'a>,
    /// Whether the "many" side is the right operand.
    is_swapped: bool,
    results: Results,
    step: usize,
    groups: StepGroups,
}

/// The series of one operand, and the match group of each.
struct OperandSeries<'a> {
    columns: &'a [Column],
    groups: Vec<usize>,
    /// The value that stands for a series that has no sample.
    fill: Option<f64>,
}

/// The state of the match groups at the current step. The lists have an item for each group.
#[derive(Default)]
struct StepGroups {
    /// The number of the group's series of the "one" side; `None` if it has no sample at this step.
    one: Vec<Option<usize>>,
    /// Whether there is a series of the "many" side.
    has_many: Vec<bool>,
    /// Whether there is a result.
    has_result: Vec<bool>,
    /// The groups and results to which a series of the "many" side has led.
    results: HashSet<(usize, usize)>,
    /// The last remark of the step, which replaces earlier ones, as in Prometheus.
    last_remark: Option<Remark>,
}

/// A series of one side at the current step.
struct Operand<'a> {
    /// The number of the series on its side; `None` for a value that is filled in.
    number: Option<usize>,
    labels: &'a Labels,
    /// A gap if it has a histogram.
    value: f64,
    histogram: Option<&'a Arc<Histogram>>,
}

impl<'a> Matched<'a> {
    pub(super) fn new(
        evaluator: &'a Evaluator<'a>,
        binary: &'a Binary,
        left: &'a [Column],
        right: &'a [Column],
    ) -> Self {
        let matching = &binary.matching;
        let Groups { left: left_groups, right: right_groups, count } = Groups::new(left, right, matching);
        // As in Prometheus, `fill_left` is the value for the "many" side, even if that is the right side.
        let of_many = |columns, groups| OperandSeries { columns, groups, fill: matching.fill_left };
        let of_one = |columns, groups| OperandSeries { columns, groups, fill: matching.fill_right };
        let is_swapped = matching.cardinality == Cardinality::OneToMany;
        let (many, one) = if is_swapped {
            (of_many(right, right_groups), of_one(left, left_groups))
        } else {
            (of_many(left, left_groups), of_one(right, right_groups))
        };
        let (results, groups) = (Results::default(), StepGroups::new(count));
        Self { evaluator, binary, many, one, is_swapped, results, step: 0, groups }
    }

    /// Computes the result. `start` is the position of the operation in the query, for remarks.
    pub(super) fn columns(mut self, start: usize) -> Result<Vec<Column>> {
        let query = self.evaluator.query;
        for step in 0..self.evaluator.grid.count {
            if step % STEPS_PER_CHECK == 0 {
                query.check()?;
            }
            self.step = step;
            let is_filled = self.many.fill.is_some() || self.one.fill.is_some();
            if is_filled || (self.many.has_samples(step) && self.one.has_samples(step)) {
                self.groups.clear();
                self.find_ones()?;
                self.operate_on_many()?;
                self.operate_on_ones_alone()?;
                if let Some(remark) = self.groups.last_remark.take() {
                    self.evaluator.remark(start, remark);
                }
            }
        }
        query.charge(self.results.columns.len() * self.evaluator.grid.count)?;
        Ok(super::calls::present(self.results.columns))
    }

    /// Finds the series of the "one" side in each group.
    fn find_ones(&mut self) -> Result<()> {
        let columns = self.one.columns;
        for (number, column) in columns.iter().enumerate().filter(|(_, column)| column.has(self.step)) {
            if let Some(other) = self.groups.one[self.one.groups[number]].replace(number) {
                return Err(many_to_many(self.binary, &column.labels, &columns[other].labels));
            }
        }
        Ok(())
    }

    /// Applies the operator to each series of the "many" side, and the one that matches it.
    fn operate_on_many(&mut self) -> Result<()> {
        let (columns, step) = (self.many.columns, self.step);
        for (number, column) in columns.iter().enumerate().filter(|(_, column)| column.has(step)) {
            let group = self.many.groups[number];
            self.groups.has_many[group] = true;
            let many = self.many.operand(number, step);
            match (self.groups.one[group], self.one.fill) {
                (Some(one), _) => self.operate(group, &many, &self.one.operand(one, step))?,
                (None, Some(fill)) => {
                    let labels = signature(&column.labels, &self.binary.matching);
                    self.operate(group, &many, &Operand::filled(&labels, fill))?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Applies the operator to the series of the "one" side that nothing matches, if the other side is filled in.
    fn operate_on_ones_alone(&mut self) -> Result<()> {
        let Some(fill) = self.many.fill else { return Ok(()) };
        for group in 0..self.groups.one.len() {
            if let Some(one) = self.groups.one[group]
                && !self.groups.has_many[group]
            {
                let labels = signature(&self.one.columns[one].labels, &self.binary.matching);
                self.operate(group, &Operand::filled(&labels, fill), &self.one.operand(one, self.step))?;
            }
        }
        Ok(())
    }

    fn operate(&mut self, group: usize, many: &Operand<'_>, one: &Operand<'_>) -> Result<()> {
        let Some((sample, holds)) = self.sample(many, one)? else { return Ok(()) };
        let binary = self.binary;
        let result = self.results.number_of((many.number, one.number), self.evaluator.grid.count, || {
            result_labels(many.labels, one.labels, binary.op, &binary.matching)
        });
        self.groups.add_result(group, result, binary.matching.cardinality)?;
        if !holds && !binary.bool {
            return Ok(());
        }
        let sample = if binary.bool { Sample::Number(truth(holds)) } else { sample };
        let column = &mut self.results.columns[result];
        column.drop_name |= binary.bool;
        column.set(self.step, sample).map_err(|_| super::labelling::same_labels())
    }

    /// The operator's value, and whether a comparison holds; `None` if the operator does not take these samples.
    fn sample(&mut self, many: &Operand<'_>, one: &Operand<'_>) -> Result<Option<(Sample, bool)>> {
        let op = self.binary.op;
        let (left, right) = if self.is_swapped { (one, many) } else { (many, one) };
        if left.histogram.is_none() && right.histogram.is_none() && !is_trim(op) {
            let (value, holds) = apply_numbers(op, left.value, right.value);
            return Ok(Some((Sample::Number(value), holds)));
        }
        let Operated { sample, remark } = apply_samples(op, &left.sample(), &right.sample());
        if remark.is_some() {
            self.groups.last_remark = remark;
        }
        if let Some((Sample::Histogram(histogram), _)) = &sample {
            self.evaluator.query.charge_histogram(histogram)?;
        }
        Ok(sample)
    }
}

impl<'a> OperandSeries<'a> {
    fn has_samples(&self, step: usize) -> bool {
        self.columns.iter().any(|column| column.has(step))
    }

    fn operand(&self, number: usize, step: usize) -> Operand<'a> {
        let column = &self.columns[number];
        let (value, histogram) = (column.values[step], column.histogram(step));
        Operand { number: Some(number), labels: &column.labels, value, histogram }
    }
}

impl StepGroups {
    fn new(count: usize) -> Self {
        let (one, has_many, has_result) = (vec![None; count], vec![false; count], vec![false; count]);
        Self { one, has_many, has_result, ..Self::default() }
    }

    fn clear(&mut self) {
        self.one.fill(None);
        self.has_many.fill(false);
        self.has_result.fill(false);
        self.results.clear();
    }

    /// Records a result of a group. Fails if its labels do not distinguish it from another one of the group.
    fn add_result(&mut self, group: usize, result: usize, cardinality: Cardinality) -> Result<()> {
        let had_result = std::mem::replace(&mut self.has_result[group], true);
        if cardinality == Cardinality::OneToOne {
            if had_result {
                return fail(
                    "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)",
                );
            }
        } else if !self.results.insert((group, result)) {
            return fail("multiple matches for labels: grouping labels must ensure unique matches");
        }
        Ok(())
    }
}

impl<'a> Operand<'a> {
    fn filled(labels: &'a Labels, value: f64) -> Self {
        Self { number: None, labels, value, histogram: None }
    }

    fn sample(&self) -> Sample {
        self.histogram.map_or(Sample::Number(self.value), |histogram| Sample::Histogram(Arc::clone(histogram)))
    }
}

/// The columns of a result, by their labels and by the pair of series that they come from.
#[derive(Default)]
struct Results {
    numbers: HashMap<Labels, usize>,
    columns: Vec<Column>,
    pairs: HashMap<(Option<usize>, Option<usize>), usize>,
}

impl Results {
    /// Returns the number of the column for a pair of series, which it adds if necessary, with `count` steps.
    fn number_of(
        &mut self,
        pair: (Option<usize>, Option<usize>),
        count: usize,
        labels: impl FnOnce() -> Labels,
    ) -> usize {
        if let Some(number) = self.pairs.get(&pair) {
            return *number;
        }
        let labels = labels();
        let number = *self.numbers.entry(labels.clone()).or_insert(self.columns.len());
        if number == self.columns.len() {
            self.columns.push(Column::new(labels, false, vec![GAP; count]));
        }
        self.pairs.insert(pair, number);
        number
    }
}

/// The error for two series of the "one" side in a group.
fn many_to_many(binary: &Binary, one: &Labels, other: &Labels) -> EvaluateError {
    let side = if binary.matching.cardinality == Cardinality::OneToMany { "left" } else { "right" };
    let group = signature(one, &binary.matching);
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    let (group, first, second) = (spaced(&group), spaced(first), spaced(second));
    EvaluateError::Execution(format!(
        "found duplicate series for the match group {group} on the {side} hand-side of the operation: [{first}, \
         {second}];many-to-many matching not allowed: matching labels must be unique on one side"
    ))
}
