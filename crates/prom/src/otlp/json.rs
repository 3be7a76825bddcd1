//! OTLP as JSON: the names of fields in camel case, whole numbers of 64 bits as texts.

use super::convert::{Converter, OtlpRequest};
use super::points::{
    ConsecutiveBuckets, ExponentialPoint, HistogramPoint, MetricHead, NO_RECORDED_VALUE, NumberPoint, PointExemplar,
    PointHead, PointKind, SummaryPoint, Temporality,
};
use super::values::attributes_of_json;
use crate::remote::RemoteError;
use serde_json::Value;

fn all<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

fn unsigned(value: &Value) -> u64 {
    value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or_default()
}

/// A whole number of 32 bits, or a text with one; 0 if there is none.
fn signed32(value: &Value) -> Result<i32, RemoteError> {
    let number = match value {
        Value::Null => Some(0),
        Value::String(text) => text.parse().ok(),
        other => other.as_i64().and_then(|number| i32::try_from(number).ok()),
    };
    number.ok_or_else(|| RemoteError::malformed(format!("{value} is no whole number of 32 bits")))
}

/// A number, a text with one, `NaN` or an infinity.
fn float(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| match value.as_str()? {
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        text => text.parse().ok(),
    })
}

pub(super) fn decode(body: &[u8], bytes_max: usize) -> Result<OtlpRequest, RemoteError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| RemoteError::malformed(format!("the body is not JSON: {error}")))?;
    if !body.is_object() {
        return Err(RemoteError::malformed("the body is not an object"));
    }
    let mut converter = Converter::new(bytes_max);
    for resource_metrics in all(&body, "resourceMetrics") {
        converter.begin_resource(attributes_of_json(&resource_metrics["resource"]["attributes"])?);
        for scope_metrics in all(resource_metrics, "scopeMetrics") {
            for own in all(scope_metrics, "metrics") {
                metric(own, &mut converter)?;
            }
        }
        converter.end_resource()?;
    }
    Ok(converter.finish())
}

fn metric(metric: &Value, converter: &mut Converter) -> Result<(), RemoteError> {
    let kinds = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"];
    let Some((name, data)) = kinds.iter().find_map(|kind| Some((*kind, metric.get(kind)?))) else { return Ok(()) };
    let temporality = match &data["aggregationTemporality"] {
        Value::String(name) if name.ends_with("_DELTA") => Temporality::Delta,
        Value::String(name) if name.ends_with("_CUMULATIVE") => Temporality::Cumulative,
        number => Temporality::of(unsigned(number)),
    };
    let kind = match name {
        "gauge" => PointKind::Gauge,
        "sum" => PointKind::Sum { temporality, is_monotonic: data["isMonotonic"].as_bool().unwrap_or_default() },
        "histogram" => PointKind::Histogram { temporality },
        "summary" => PointKind::Summary,
        _ => PointKind::Exponential { temporality },
    };
    let text = |name: &str| metric[name].as_str().unwrap_or_default().to_owned();
    let head = MetricHead { name: text("name"), description: text("description"), unit: text("unit"), kind };
    converter.begin_metric(&head)?;
    for point in all(data, "dataPoints") {
        match kind {
            PointKind::Gauge | PointKind::Sum { .. } => {
                let point = number_point(point, converter)?;
                converter.number(point)?;
            }
            PointKind::Histogram { .. } => {
                let point = histogram_point(point, converter)?;
                converter.histogram(point)?;
            }
            PointKind::Summary => {
                let point = summary_point(point, converter)?;
                converter.summary(point)?;
            }
            PointKind::Exponential { .. } => {
                let point = exponential_point(point, converter)?;
                converter.exponential(point)?;
            }
        }
    }
    Ok(())
}

fn head(point: &Value, converter: &mut Converter) -> Result<PointHead, RemoteError> {
    let mut head = PointHead {
        attributes: attributes_of_json(&point["attributes"])?,
        time_ns: unsigned(&point["timeUnixNano"]),
        is_empty: unsigned(&point["flags"]) & NO_RECORDED_VALUE != 0,
        exemplars: Vec::new(),
    };
    for own in all(point, "exemplars") {
        converter.add_exemplar(&mut head, exemplar(own)?)?;
    }
    Ok(head)
}

fn exemplar(exemplar: &Value) -> Result<PointExemplar, RemoteError> {
    Ok(PointExemplar {
        time_ns: unsigned(&exemplar["timeUnixNano"]),
        value: number(exemplar),
        attributes: attributes_of_json(&exemplar["filteredAttributes"])?,
        trace_id: id(&exemplar["traceId"]),
        span_id: id(&exemplar["spanId"]),
    })
}

/// The ID of a trace or a span. One of zeros means that there is none.
fn id(value: &Value) -> String {
    let digits = value.as_str().unwrap_or_default();
    if digits.bytes().all(|digit| digit == b'0') { String::new() } else { digits.to_ascii_lowercase() }
}

/// The number of a point or an exemplar.
fn number(owner: &Value) -> f64 {
    float(&owner["asDouble"]).or_else(|| float(&owner["asInt"])).unwrap_or_default()
}

fn number_point(point: &Value, converter: &mut Converter) -> Result<NumberPoint, RemoteError> {
    Ok(NumberPoint { head: head(point, converter)?, value: number(point) })
}

fn histogram_point(point: &Value, converter: &mut Converter) -> Result<HistogramPoint, RemoteError> {
    Ok(HistogramPoint {
        head: head(point, converter)?,
        count: unsigned(&point["count"]),
        sum: float(&point["sum"]),
        bucket_counts: all(point, "bucketCounts").map(unsigned).collect(),
        bounds: all(point, "explicitBounds").filter_map(float).collect(),
    })
}

fn exponential_point(point: &Value, converter: &mut Converter) -> Result<ExponentialPoint, RemoteError> {
    Ok(ExponentialPoint {
        head: head(point, converter)?,
        count: unsigned(&point["count"]),
        sum: float(&point["sum"]),
        scale: signed32(&point["scale"])?,
        zero_count: unsigned(&point["zeroCount"]),
        positive: buckets(&point["positive"])?,
        negative: buckets(&point["negative"])?,
    })
}

fn buckets(buckets: &Value) -> Result<ConsecutiveBuckets, RemoteError> {
    let counts = all(buckets, "bucketCounts").map(unsigned).collect();
    Ok(ConsecutiveBuckets { offset: signed32(&buckets["offset"])?, counts })
}

fn summary_point(point: &Value, converter: &mut Converter) -> Result<SummaryPoint, RemoteError> {
    let quantile =
        |own: &Value| (float(&own["quantile"]).unwrap_or_default(), float(&own["value"]).unwrap_or_default());
    Ok(SummaryPoint {
        head: head(point, converter)?,
        count: unsigned(&point["count"]),
        sum: float(&point["sum"]).unwrap_or_default(),
        quantiles: all(point, "quantileValues").map(quantile).collect(),
    })
}
