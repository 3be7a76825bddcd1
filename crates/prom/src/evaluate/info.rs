//! The function `info`: adds the labels of info metrics, such as `target_info`, to series of the same instance and job.

use super::columns::{Column, GAP, is_gap};
use super::evaluator::{Evaluator, Result, fail};
use super::outcome::EvaluateError;
use super::select::TimeShift;
use crate::labels::{Labels, METRIC_NAME, MatchOp, Matcher};
use crate::promql::{Expr, ExprKind};
use std::collections::{BTreeMap, HashMap};

/// The labels that identify the target of a series.
const IDENTIFYING: [&str; 2] = ["instance", "job"];

/// The info metric if none is named.
const TARGET_INFO: &str = "target_info";

/// The matchers of a call: those on the metric's name, and those on other labels.
struct InfoMatchers {
    names: Vec<Matcher>,
    labels: Vec<Matcher>,
}

impl InfoMatchers {
    fn new(args: &[Expr]) -> Result<Self> {
        let matchers = match args.get(1).map(|arg| &arg.bare().kind) {
            Some(ExprKind::Selector(selector)) => selector.matchers.clone(),
            _ => Vec::new(),
        };
        let (mut names, labels): (Vec<Matcher>, Vec<Matcher>) =
            matchers.into_iter().partition(|matcher| matcher.name == METRIC_NAME);
        if names.is_empty() {
            names.push(Matcher::equal(METRIC_NAME, TARGET_INFO));
        } else if names.iter().all(|matcher| matches!(matcher.op, MatchOp::NotEqual | MatchOp::NotMatches)) {
            let any = Matcher::new(METRIC_NAME, MatchOp::Matches, ".+_info").map_err(EvaluateError::Execution)?;
            names.insert(0, any);
        }
        Ok(Self { names, labels })
    }

    fn is_info(&self, labels: &Labels) -> bool {
        self.names.iter().all(|matcher| matcher.matches(labels.metric()))
    }
}

impl Evaluator<'_> {
    pub(super) fn info(&self, args: &[Expr]) -> Result<Vec<Column>> {
        let wanted = InfoMatchers::new(args)?;
        let base = self.columns(&args[0])?;
        let infos = self.info_series(&wanted, self.first_time_shift(&args[0])?.unwrap_or_default(), &base)?;
        let mut results: HashMap<Labels, usize> = HashMap::new();
        let mut columns: Vec<Column> = Vec::new();
        for series in &base {
            let ignored = wanted.is_info(&series.labels);
            // The info series that may belong to this one, by metric.
            let mut candidates: BTreeMap<&str, Vec<&(Labels, Vec<f64>)>> = BTreeMap::new();
            for info in infos.iter().filter(|info| !ignored && identity(&info.0) == identity(&series.labels)) {
                candidates.entry(info.0.metric()).or_default().push(info);
            }
            for step in 0..self.grid.count {
                let Some(sample) = series.sample(step) else { continue };
                let Some(labels) = self.enriched(&wanted, &series.labels, ignored, &candidates, step)? else {
                    continue;
                };
                let number = *results.entry(labels.clone()).or_insert(columns.len());
                if number == columns.len() {
                    self.query.charge(self.grid.count)?;
                    columns.push(Column::new(labels, series.drop_name, vec![GAP; self.grid.count]));
                }
                if columns[number].set(step, sample).is_err() {
                    return fail("vector cannot contain metrics with the same labelset");
                }
            }
        }
        Ok(columns)
    }

    /// The labels of a series at one step with those of its info series; `None` if it must have one and has none.
    fn enriched(
        &self,
        wanted: &InfoMatchers,
        labels: &Labels,
        ignored: bool,
        candidates: &BTreeMap<&str, Vec<&(Labels, Vec<f64>)>>,
        step: usize,
    ) -> Result<Option<Labels>> {
        if ignored {
            return Ok(Some(labels.clone()));
        }
        let mut added: BTreeMap<String, String> = BTreeMap::new();
        let mut found = false;
        for infos in candidates.values() {
            let mut newest: Option<&(Labels, Vec<f64>)> = None;
            for info in infos.iter().filter(|info| !is_gap(info.1[step])) {
                match newest {
                    Some(other) if other.1[step] == info.1[step] => {
                        let time = info.1[step];
                        let (one, other) = (super::matching::spaced(&other.0), super::matching::spaced(&info.0));
                        return fail(format!(
                            "found duplicate series for info metric: existing {one} @ {time}, new {other} @ {time}"
                        ));
                    }
                    Some(other) if other.1[step] > info.1[step] => {}
                    _ => newest = Some(info),
                }
            }
            let Some((info, _)) = newest else { continue };
            found = true;
            for (name, value) in info.iter().filter(|(name, _)| *name != METRIC_NAME) {
                let asked = wanted.labels.is_empty() || wanted.labels.iter().any(|matcher| matcher.name == name);
                if !asked {
                    continue;
                }
                if added.get(name).is_some_and(|other| other != value) {
                    return fail(format!("conflicting label: {name}"));
                }
                if labels.get(name).is_empty() {
                    added.insert(name.to_owned(), value.to_owned());
                }
            }
        }
        if !found && wanted.labels.iter().any(|matcher| !matcher.matches("")) {
            return Ok(None);
        }
        Ok(Some(added.iter().fold(labels.clone(), |labels, (name, value)| labels.with(name, value))))
    }

    /// The info series of the instances and jobs of some series, with the time of the sample that counts at each step.
    fn info_series(
        &self,
        wanted: &InfoMatchers,
        time_shift: TimeShift,
        base: &[Column],
    ) -> Result<Vec<(Labels, Vec<f64>)>> {
        let enriched: Vec<&Column> = base.iter().filter(|column| !wanted.is_info(&column.labels)).collect();
        let mut matchers = Vec::new();
        for name in IDENTIFYING {
            let mut values: Vec<String> = enriched
                .iter()
                .map(|column| column.labels.get(name))
                .filter(|value| !value.is_empty())
                .map(regex::escape)
                .collect();
            values.sort_unstable();
            values.dedup();
            if !values.is_empty() {
                let any = Matcher::new(name, MatchOp::Matches, values.join("|")).map_err(EvaluateError::Execution)?;
                matchers.push(any);
            }
        }
        if matchers.is_empty() {
            return Ok(Vec::new());
        }
        matchers.extend(wanted.names.iter().chain(&wanted.labels).cloned());
        let columns = self.sample_times(&matchers, time_shift)?;
        if columns.iter().any(|column| column.histograms.iter().any(Option::is_some)) {
            return fail("info sample should be float");
        }
        Ok(columns.into_iter().map(|column| (column.labels, column.values)).collect())
    }

    /// The `@` and `offset` of the first selector in an expression, which also apply to its info series.
    fn first_time_shift(&self, expr: &Expr) -> Result<Option<TimeShift>> {
        match &expr.kind {
            ExprKind::Number(_) | ExprKind::Text(_) => Ok(None),
            ExprKind::Selector(selector) | ExprKind::Range { selector, .. } => {
                self.time_shift(&selector.shift).map(Some)
            }
            ExprKind::Paren(inner) | ExprKind::Unary { expr: inner, .. } => self.first_time_shift(inner),
            ExprKind::Subquery { expr: inner, shift, .. } => {
                let outer = self.time_shift(shift)?;
                Ok(self.first_time_shift(inner)?.map(|time_shift| time_shift.inside(outer)))
            }
            ExprKind::Binary(binary) => match self.first_time_shift(&binary.left)? {
                None => self.first_time_shift(&binary.right),
                time_shift => Ok(time_shift),
            },
            ExprKind::Call { args, .. } => args
                .iter()
                .map(|arg| self.first_time_shift(arg))
                .find(|time_shift| !matches!(time_shift, Ok(None)))
                .unwrap_or(Ok(None)),
            ExprKind::Aggregate(aggregate) => self.first_time_shift(&aggregate.expr),
        }
    }
}

/// The identifying labels of a series.
fn identity(labels: &Labels) -> [&str; 2] {
    IDENTIFYING.map(|name| labels.get(name))
}
