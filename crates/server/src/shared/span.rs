//! The span of a statement, as OTLP writes it in JSON.

use atsdb::sql::verb_of;
use atsdb::{Environment, SystemEnvironment, hex};
use serde_json::{Value, json};
use std::time::Duration;

/// `SPAN_KIND_SERVER`.
const SERVER: u8 = 2;

/// `STATUS_CODE_ERROR`.
const FAILED: u8 = 2;

/// A statement that has ended.
#[derive(Debug)]
pub(crate) struct StatementSpan {
    pub(crate) protocol: &'static str,
    pub(crate) database: Option<String>,
    pub(crate) user: Option<String>,
    /// The text without literals.
    pub(crate) statement: String,
    /// The time at which it ended, in nanoseconds since 1970.
    pub(crate) end_ns: i64,
    pub(crate) elapsed: Duration,
    /// The number of rows that it has returned or changed.
    pub(crate) row_count: u64,
    pub(crate) is_cancelled: bool,
}

impl StatementSpan {
    /// The body of a request with spans. A span for which there are no random bits is left out.
    pub(crate) fn request(spans: &[Self]) -> String {
        let spans: Vec<Value> = spans.iter().filter_map(Self::json).collect();
        let of_service = [text("service.name", "atsdb"), text("service.version", env!("CARGO_PKG_VERSION"))];
        let of_scope = json!({ "scope": { "name": "atsdb" }, "spans": spans });
        json!({ "resourceSpans": [{ "resource": { "attributes": of_service }, "scopeSpans": [of_scope] }] }).to_string()
    }

    /// The span with numbers of its own.
    fn json(&self) -> Option<Value> {
        let (trace, own) = (SystemEnvironment.random().ok()?, SystemEnvironment.random().ok()?);
        let verb = verb_of(self.statement.trim_start());
        let start_ns = self.end_ns.saturating_sub(i64::try_from(self.elapsed.as_nanos()).unwrap_or(i64::MAX));
        let mut attributes = vec![
            text("db.system.name", "atsdb"),
            text("db.operation.name", &verb),
            text("db.query.text", &self.statement),
            text("network.protocol.name", self.protocol),
            json!({ "key": "db.response.returned_rows", "value": { "intValue": self.row_count.to_string() } }),
        ];
        attributes.extend(self.database.as_deref().map(|name| text("db.namespace", name)));
        attributes.extend(self.user.as_deref().map(|name| text("user.name", name)));
        let status = if self.is_cancelled { json!({ "code": FAILED, "message": "cancelled" }) } else { json!({}) };
        Some(json!({
            "traceId": hex::encode(&trace),
            "spanId": hex::encode(&own[..8]),
            "name": if verb.is_empty() { "statement" } else { verb.as_str() },
            "kind": SERVER,
            "startTimeUnixNano": start_ns.to_string(),
            "endTimeUnixNano": self.end_ns.to_string(),
            "attributes": attributes,
            "status": status,
        }))
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_the_names_of_opentelemetry() {
        let span = StatementSpan {
            protocol: "postgresql",
            database: Some("air".to_owned()),
            user: Some("anna".to_owned()),
            statement: "SELECT max(x) FROM t WHERE name = ?".to_owned(),
            end_ns: 1_700_000_000_000_000_000,
            elapsed: Duration::from_millis(2),
            row_count: 3,
            is_cancelled: true,
        };
        let request: Value = serde_json::from_str(&StatementSpan::request(&[span])).unwrap();
        let resource = &request["resourceSpans"][0];
        assert_eq!(resource["resource"]["attributes"][0], text("service.name", "atsdb"));
        let span = &resource["scopeSpans"][0]["spans"][0];
        let digits = |name: &str| span[name].as_str().unwrap().len();
        assert_eq!((digits("traceId"), digits("spanId")), (32, 16), "{span}");
        assert_eq!((&span["name"], &span["kind"]), (&json!("SELECT"), &json!(2)));
        assert_eq!(span["startTimeUnixNano"], json!("1699999999998000000"));
        assert_eq!(span["endTimeUnixNano"], json!("1700000000000000000"));
        assert_eq!(span["status"], json!({ "code": 2, "message": "cancelled" }));
        let attributes = span["attributes"].as_array().unwrap();
        for expected in [
            text("db.query.text", "SELECT max(x) FROM t WHERE name = ?"),
            text("db.operation.name", "SELECT"),
            text("db.namespace", "air"),
            text("user.name", "anna"),
            text("network.protocol.name", "postgresql"),
            json!({ "key": "db.response.returned_rows", "value": { "intValue": "3" } }),
        ] {
            assert!(attributes.contains(&expected), "{expected}: {span}");
        }
    }
}
