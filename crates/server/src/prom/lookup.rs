//! Lists of series, names and values of labels, exemplars and metadata.

use super::answer::{ApiError, success};
use super::context::Prom;
use super::json::{self, array, push_labels, quoted};
use super::params::Params;
use super::source::StoreSource;
use super::tables::METADATA;
use super::work::blocking;
use atsdb::arrow::array::{AsArray, RecordBatch};
use atsdb::{Database, ScanRequest, TimeRange};
use atsdb_prom::labels::{Labels, Matcher};
use atsdb_prom::promql::{parse, parse_selector};
use axum::response::Response;
use std::collections::{BTreeMap, BTreeSet};

/// The selectors of `match[]`, or one that selects everything if there are none.
fn selectors(params: &Params) -> Result<Vec<Vec<Matcher>>, ApiError> {
    let mut selectors = Vec::new();
    for text in params.all("match[]") {
        let selector = parse_selector(text)
            .map_err(|error| ApiError::bad_data(format!("invalid parameter \"match[]\": {error}")))?;
        selectors.push(selector.matchers);
    }
    Ok(if selectors.is_empty() { vec![Vec::new()] } else { selectors })
}

fn time_range(params: &Params) -> Result<TimeRange, ApiError> {
    let (start, end) = (params.time("start")?, params.time("end")?);
    if let (Some(start), Some(end)) = (start, end)
        && end < start
    {
        return Err(ApiError::bad_data("invalid parameter \"end\": end timestamp must not be before start timestamp"));
    }
    Ok(TimeRange { start, end: end.map(|end| end.saturating_add(1)) })
}

/// Returns the label sets that a request selects.
async fn found(prom: &Prom, params: &Params) -> Result<Vec<Labels>, ApiError> {
    let (selectors, range) = (selectors(params)?, time_range(params)?);
    let (database, labels) = (prom.database.clone(), prom.labels.clone());
    blocking(prom, move |stop| Ok(StoreSource::new(&database, labels, stop)?.labels(&selectors, range)?)).await
}

/// The number of items to show; a limit of 0 means all.
fn shown(count: usize, limit: usize) -> usize {
    if limit == 0 { count } else { count.min(limit) }
}

fn truncated(count: usize, limit: usize) -> Vec<String> {
    if shown(count, limit) < count { vec!["results truncated due to limit".to_owned()] } else { Vec::new() }
}

pub(crate) async fn series(prom: Prom, params: Params) -> Result<Response, ApiError> {
    if params.all("match[]").next().is_none() {
        return Err(ApiError::bad_data("no match[] parameter provided"));
    }
    let limit = params.limit()?;
    let all = found(&prom, &params).await?;
    let mut json = String::from("[");
    for (index, labels) in all[..shown(all.len(), limit)].iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        push_labels(&mut json, labels);
    }
    json.push(']');
    Ok(success(&json, &truncated(all.len(), limit), &[]))
}

pub(crate) async fn label_names(prom: Prom, params: Params) -> Result<Response, ApiError> {
    let limit = params.limit()?;
    let all = found(&prom, &params).await?;
    let names: BTreeSet<&str> = all.iter().flat_map(|labels| labels.iter().map(|(name, _)| name)).collect();
    let json = array(names.iter().copied().take(shown(names.len(), limit)));
    Ok(success(&json, &truncated(names.len(), limit), &[]))
}

pub(crate) async fn label_values(prom: Prom, name: &str, params: Params) -> Result<Response, ApiError> {
    let limit = params.limit()?;
    let all = found(&prom, &params).await?;
    let values: BTreeSet<&str> = all.iter().map(|labels| labels.get(name)).filter(|value| !value.is_empty()).collect();
    let json = array(values.iter().copied().take(shown(values.len(), limit)));
    Ok(success(&json, &truncated(values.len(), limit), &[]))
}

/// The exemplars of all series that a query selects.
pub(crate) async fn exemplars(prom: Prom, params: Params) -> Result<Response, ApiError> {
    let range = time_range(&params)?;
    let text = params.get("query").unwrap_or_default();
    let expr = parse(text).map_err(|error| ApiError::bad_data(error.to_string()))?;
    let selectors: Vec<Vec<Matcher>> = expr.selectors().into_iter().map(|one| one.matchers.clone()).collect();
    let (database, labels, bytes_max) = (prom.database.clone(), prom.labels.clone(), prom.memory_bytes());
    let all = blocking(&prom, move |stop| {
        Ok(StoreSource::new(&database, labels, stop)?.exemplars(&selectors, range, bytes_max)?)
    });
    Ok(success(&json::exemplars(&all.await?), &[], &[]))
}

/// Kind, help and unit by metric.
type Metadata = BTreeMap<String, [String; 3]>;

pub(crate) async fn metadata(prom: Prom, params: Params) -> Result<Response, ApiError> {
    let (limit, wanted) = (params.limit()?, params.get("metric").map(str::to_owned));
    let database = prom.database.clone();
    let all: Metadata = blocking(&prom, move |_| Ok(stored_metadata(&database)?)).await?;
    let chosen = all.iter().filter(|(metric, _)| wanted.as_ref().is_none_or(|wanted| wanted == *metric));
    let objects: Vec<String> = chosen
        .take(shown(all.len(), limit))
        .map(|(metric, [kind, help, unit])| {
            let (metric, kind, help, unit) = (quoted(metric), quoted(kind), quoted(help), quoted(unit));
            format!("{metric}:[{{\"type\":{kind},\"help\":{help},\"unit\":{unit}}}]")
        })
        .collect();
    Ok(success(&format!("{{{}}}", objects.join(",")), &[], &[]))
}

fn stored_metadata(database: &Database) -> atsdb::Result<Metadata> {
    let snapshot = database.snapshot()?;
    let Some(table) = snapshot.tables().iter().find(|table| table.definition.name == METADATA) else {
        return Ok(Metadata::new());
    };
    let mut all = Metadata::new();
    for rows in snapshot.scan(table, &ScanRequest::all(table))?.batches() {
        let rows = rows?;
        for row in 0..rows.num_rows() {
            let text = |column: &str| text_of(&rows, column, row);
            all.insert(text("metric"), [text("kind"), text("help"), text("unit")]);
        }
    }
    Ok(all)
}

fn text_of(rows: &RecordBatch, column: &str, row: usize) -> String {
    let texts = rows.column_by_name(column).and_then(|column| column.as_string_opt::<i32>());
    texts.map_or_else(String::new, |texts| texts.value(row).to_owned())
}
