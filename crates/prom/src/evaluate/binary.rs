//! Binary operators on numbers, on a vector and a number, and on sets.

use super::binary_samples::{Operated, Remark, apply_numbers, apply_samples, incompatible, is_trim, truth};
use super::columns::{Column, GAP, is_gap, scalar};
use super::evaluator::{Evaluator, Hints, Result, fail};
use super::matched::Matched;
use super::matching::Groups;
use super::outcome::Sample;
use crate::promql::{Binary, BinaryOp, ValueType, type_of};

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
                    let (value, holds) = apply_numbers(binary.op, left, right);
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
                    Matched::new(self, binary, &left, &right).columns(start)
                }
            }
        }
    }

    pub(super) fn remark(&self, start: usize, remark: Remark) {
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
}

/// An operation on each number of a series and another number.
fn numbers_with_scalar(binary: &Binary, values: &mut [f64], number: &[f64], scalar_first: bool) {
    let op = binary.op;
    for (value, number) in values.iter_mut().zip(number) {
        if is_gap(*value) {
            continue;
        }
        let own = *value;
        let (result, holds) =
            if scalar_first { apply_numbers(op, *number, own) } else { apply_numbers(op, own, *number) };
        *value = match (op.is_comparison(), binary.bool, holds) {
            (false, ..) => result,
            (true, true, _) => truth(holds),
            // A comparison keeps the value of the series, whether it is the left or the right side.
            (true, false, true) => own,
            (true, false, false) => GAP,
        };
    }
}
