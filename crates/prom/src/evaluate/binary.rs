//! Binary operators.

use super::binary_samples::{Operated, Remark, apply_samples, incompatible};
use super::columns::{Column, GAP, is_gap, scalar};
use super::evaluator::{Evaluator, Hints, Result, fail};
use super::matching::{Groups, result_labels, signature};
use super::outcome::Sample;
use crate::histogram::Histogram;
use crate::labels::Labels;
use crate::promql::{Binary, BinaryOp, Cardinality, ValueType, type_of};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The value of an operation and whether a comparison holds.
fn apply(op: BinaryOp, left: f64, right: f64) -> (f64, bool) {
    let value = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => left * right,
        BinaryOp::Div => left / right,
        BinaryOp::Mod => left % right,
        BinaryOp::Pow => left.powf(right),
        BinaryOp::Atan2 => left.atan2(right),
        BinaryOp::Equal => return (left, left == right),
        BinaryOp::NotEqual => return (left, left != right),
        BinaryOp::Greater => return (left, left > right),
        BinaryOp::Less => return (left, left < right),
        BinaryOp::GreaterEqual => return (left, left >= right),
        BinaryOp::LessEqual => return (left, left <= right),
        BinaryOp::TrimUpper | BinaryOp::TrimLower => return (GAP, false),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Unless => return (left, true),
    };
    (value, true)
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

impl Evaluator<'_> {
    pub(super) fn binary(&self, start: usize, binary: &Binary) -> Result<Vec<Column>> {
        let sides = (type_of(&binary.left), type_of(&binary.right));
        if is_trim(binary.op) && self.hints != Hints::Kept {
            return self.with_hints_kept().binary(start, binary);
        }
        match sides {
            (ValueType::Scalar, ValueType::Scalar) => {
                if is_trim(binary.op) {
                    return fail(format!("operator {:?} not allowed for Scalar operations", binary.op.symbol()));
                }
                let (left, right) = (self.scalar(&binary.left)?, self.scalar(&binary.right)?);
                let values = left.into_iter().zip(right).map(|(left, right)| {
                    let (value, holds) = apply(binary.op, left, right);
                    if binary.op.is_comparison() { truth(holds) } else { value }
                });
                Ok(scalar(values.collect()))
            }
            (ValueType::Vector, ValueType::Scalar) => {
                let number = self.scalar(&binary.right)?;
                self.with_scalar(start, binary, self.columns(&binary.left)?, &number, false)
            }
            (ValueType::Scalar, _) => {
                let number = self.scalar(&binary.left)?;
                self.with_scalar(start, binary, self.columns(&binary.right)?, &number, true)
            }
            _ => {
                let (left, right) = (self.columns(&binary.left)?, self.columns(&binary.right)?);
                if binary.op.is_set() {
                    Ok(self.set(binary, left, right))
                } else {
                    self.matched(start, binary, left, right)
                }
            }
        }
    }

    fn remark(&self, start: usize, remark: Remark) {
        match remark {
            Remark::Warning(message) => self.query.warn(start, message),
            Remark::Info(message) => self.query.inform(start, message),
        }
    }

    /// An operation on each series and a number.
    fn with_scalar(
        &self,
        start: usize,
        binary: &Binary,
        mut columns: Vec<Column>,
        number: &[f64],
        scalar_first: bool,
    ) -> Result<Vec<Column>> {
        for column in &mut columns {
            column.drop_name |= binary.op.changes_meaning() || binary.bool;
            for (step, slot) in column.histograms.iter_mut().enumerate() {
                let Some(histogram) = slot.take() else { continue };
                let (own, number) = (Sample::Histogram(histogram), Sample::Number(number[step]));
                let (left, right) = if scalar_first { (&number, &own) } else { (&own, &number) };
                let Operated { sample, remark } = apply_samples(binary.op, left, right);
                if let Some((Sample::Histogram(result), _)) = sample {
                    self.query.charge_histogram(&result)?;
                    *slot = Some(result);
                }
                if let Some(remark) = remark {
                    self.remark(start, remark);
                }
            }
            if is_trim(binary.op) {
                // Numbers have no buckets.
                if column.values.iter().any(|value| !is_gap(*value)) {
                    let number = Sample::Number(0.0);
                    self.remark(start, incompatible(binary.op, &number, &number));
                    column.values.fill(GAP);
                }
            } else {
                numbers_with_scalar(binary, &mut column.values, number, scalar_first);
            }
        }
        Ok(super::calls::present(columns))
    }

    fn set(&self, binary: &Binary, mut left: Vec<Column>, mut right: Vec<Column>) -> Vec<Column> {
        let groups = Groups::new(&left, &right, &binary.matching);
        let mut there = vec![false; groups.count];
        for step in 0..self.grid.count {
            there.fill(false);
            let (of, numbers) = match binary.op {
                BinaryOp::Or => (&left, &groups.left),
                _ => (&right, &groups.right),
            };
            for (column, number) in of.iter().zip(numbers) {
                there[*number] |= column.has(step);
            }
            let (filtered, numbers, keep) = match binary.op {
                BinaryOp::And => (&mut left, &groups.left, true),
                BinaryOp::Unless => (&mut left, &groups.left, false),
                _ => (&mut right, &groups.right, false),
            };
            for (column, number) in filtered.iter_mut().zip(numbers) {
                if there[*number] != keep {
                    column.clear(step);
                }
            }
        }
        if binary.op == BinaryOp::Or {
            left.append(&mut right);
        }
        super::calls::present(left)
    }

    /// An operation on the series of two vectors that match.
    fn matched(&self, start: usize, binary: &Binary, left: Vec<Column>, right: Vec<Column>) -> Result<Vec<Column>> {
        let matching = &binary.matching;
        let groups = Groups::new(&left, &right, matching);
        let swapped = matching.cardinality == Cardinality::OneToMany;
        let one_to_one = matching.cardinality == Cardinality::OneToOne;
        let (many, one) = if swapped { (right, left) } else { (left, right) };
        let (many_groups, one_groups) =
            if swapped { (&groups.right, &groups.left) } else { (&groups.left, &groups.right) };
        // As in Prometheus, `fill_left` is the value for the "many" side, even if that is the right side.
        let (fill_many, fill_one) = (matching.fill_left, matching.fill_right);
        let mut results = Results { numbers: HashMap::new(), columns: Vec::new(), pairs: HashMap::new() };
        let mut of_group: Vec<Option<usize>> = vec![None; groups.count];
        let mut of_many: Vec<bool> = vec![false; groups.count];
        let mut matched: Vec<bool> = vec![false; groups.count];
        let mut inserted: HashSet<(usize, usize)> = HashSet::new();
        for step in 0..self.grid.count {
            if step % 256 == 0 {
                self.query.check()?;
            }
            of_group.fill(None);
            of_many.fill(false);
            matched.fill(false);
            inserted.clear();
            let present = |column: &Column| column.has(step);
            if fill_many.is_none() && fill_one.is_none() && !(many.iter().any(present) && one.iter().any(present)) {
                continue;
            }
            for (number, column) in one.iter().enumerate().filter(|(_, column)| present(column)) {
                if let Some(other) = of_group[one_groups[number]].replace(number) {
                    return many_to_many(binary, &column.labels, &one[other].labels);
                }
            }
            // As in Prometheus, the last remark of a step counts.
            let mut last_remark = None;
            let mut operate = |many_labels: (usize, &Labels),
                               one_labels: (usize, &Labels),
                               sides: (Side<'_>, Side<'_>),
                               group: usize| {
                let (left, right) = if swapped { (sides.1, sides.0) } else { sides };
                let (sample, holds) = if left.1.is_none() && right.1.is_none() && !is_trim(binary.op) {
                    let (value, holds) = apply(binary.op, left.0, right.0);
                    (Sample::Number(value), holds)
                } else {
                    let Operated { sample, remark } = apply_samples(binary.op, &sample(left), &sample(right));
                    last_remark = remark.or(last_remark.take());
                    let Some(operated) = sample else { return Ok(()) };
                    if let Sample::Histogram(histogram) = &operated.0 {
                        self.query.charge_histogram(histogram)?;
                    }
                    operated
                };
                let result = results.number_of((many_labels.0, one_labels.0), self.grid.count, || {
                    result_labels(many_labels.1, one_labels.1, binary.op, matching)
                });
                if one_to_one {
                    if std::mem::replace(&mut matched[group], true) {
                        return fail(
                            "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)",
                        );
                    }
                } else {
                    matched[group] = true;
                    if !inserted.insert((group, result)) {
                        return fail("multiple matches for labels: grouping labels must ensure unique matches");
                    }
                }
                if !holds && !binary.bool {
                    return Ok(());
                }
                let sample = if binary.bool { Sample::Number(truth(holds)) } else { sample };
                let column = &mut results.columns[result];
                column.drop_name |= binary.bool;
                column.set(step, sample).map_err(|_| super::labelling::same_labels())
            };
            for (number, column) in many.iter().enumerate().filter(|(_, column)| present(column)) {
                let group = many_groups[number];
                let value = side(column, step);
                of_many[group] = true;
                match (of_group[group], fill_one) {
                    (Some(other), _) => {
                        let values = (value, side(&one[other], step));
                        operate((number, &column.labels), (other, &one[other].labels), values, group)?;
                    }
                    (None, Some(fill)) => {
                        let labels = signature(&column.labels, matching);
                        operate((number, &column.labels), (usize::MAX, &labels), (value, (fill, None)), group)?;
                    }
                    (None, None) => {}
                }
            }
            if let Some(fill) = fill_many {
                for (group, number) in of_group.iter().enumerate() {
                    let Some(number) = number.filter(|_| !of_many[group]) else { continue };
                    let labels = signature(&one[number].labels, matching);
                    let values = ((fill, None), side(&one[number], step));
                    operate((usize::MAX, &labels), (number, &one[number].labels), values, group)?;
                }
            }
            if let Some(remark) = last_remark {
                self.remark(start, remark);
            }
        }
        self.query.charge(results.columns.len() * self.grid.count)?;
        Ok(super::calls::present(results.columns))
    }
}

/// The columns of a result, by their labels and by the pair of series that they come from.
struct Results {
    numbers: HashMap<Labels, usize>,
    columns: Vec<Column>,
    pairs: HashMap<(usize, usize), usize>,
}

impl Results {
    fn number_of(&mut self, pair: (usize, usize), count: usize, labels: impl FnOnce() -> Labels) -> usize {
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

fn many_to_many(binary: &Binary, one: &Labels, other: &Labels) -> Result<Vec<Column>> {
    let side = if binary.matching.cardinality == Cardinality::OneToMany { "left" } else { "right" };
    let group = signature(one, &binary.matching);
    let (first, second) = if one <= other { (one, other) } else { (other, one) };
    let (group, first, second) = (spaced(&group), spaced(first), spaced(second));
    fail(format!(
        "found duplicate series for the match group {group} on the {side} hand-side of the operation: [{first}, \
         {second}];many-to-many matching not allowed: matching labels must be unique on one side"
    ))
}

/// All labels in braces, as Prometheus shows them in messages.
pub(super) fn spaced(labels: &Labels) -> String {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// A number, or a gap and a histogram.
type Side<'a> = (f64, Option<&'a Arc<Histogram>>);

fn side(column: &Column, step: usize) -> Side<'_> {
    (column.values[step], column.histogram(step))
}

fn sample((value, histogram): Side<'_>) -> Sample {
    histogram.map_or(Sample::Number(value), |histogram| Sample::Histogram(Arc::clone(histogram)))
}

fn is_trim(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::TrimLower | BinaryOp::TrimUpper)
}

/// An operation on each number of a series and another number.
fn numbers_with_scalar(binary: &Binary, values: &mut [f64], number: &[f64], scalar_first: bool) {
    let op = binary.op;
    for (value, number) in values.iter_mut().zip(number) {
        if is_gap(*value) {
            continue;
        }
        let own = *value;
        let (result, holds) = if scalar_first { apply(op, *number, own) } else { apply(op, own, *number) };
        *value = match (op.is_comparison(), binary.bool, holds) {
            (false, ..) => result,
            (true, true, _) => truth(holds),
            // A comparison keeps the value of the series, whether it is the left or the right side.
            (true, false, true) => own,
            (true, false, false) => GAP,
        };
    }
}
