//! The parameters of a request, from its URL and its form.

use super::answer::{ApiError, Refusal};
use super::context::Prom;
use super::times;
use crate::ingest::body::read_body;
use crate::ingest::options::IngestOptions;
use crate::shared::form;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};

/// The maximum size of a form in bytes.
const FORM_BYTES_MAX: usize = 10 << 20;

/// Names and values in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    /// Reads the parameters in the URL, and those in the body if it is a form.
    pub(crate) async fn read(prom: &Prom, uri: &Uri, headers: &HeaderMap, body: Body) -> Result<Self, Response> {
        let mut params = Self::default();
        let is_form = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if is_form.is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")) {
            let limits = IngestOptions {
                body_bytes_max: FORM_BYTES_MAX,
                plain_bytes_max: FORM_BYTES_MAX,
                ..(*prom.ingest).clone()
            };
            let form = read_body(headers, body, &prom.memory, &limits)
                .await
                .map_err(|error| Refusal::from(&error).into_response())?;
            params.0.extend(form::all_pairs(&form.bytes));
        }
        params.0.extend(form::all_pairs(uri.query().unwrap_or_default().as_bytes()));
        Ok(params)
    }

    /// The first value of a name; `None` if there is none or it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next().filter(|value| !value.is_empty())
    }

    /// All values of a name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |pair| pair.0 == name).map(|pair| pair.1.as_str())
    }

    /// A time in milliseconds.
    pub(crate) fn time(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.parsed(name, times::time, "timestamp")
    }

    /// A duration in milliseconds.
    pub(crate) fn duration(&self, name: &str) -> Result<Option<i64>, ApiError> {
        self.parsed(name, times::duration, "duration")
    }

    /// The parameter `limit`; 0 if there is none.
    pub(crate) fn limit(&self) -> Result<usize, ApiError> {
        let number = self.parsed("limit", |text| text.parse::<usize>().ok(), "limit")?;
        Ok(number.unwrap_or_default())
    }

    fn parsed<T>(&self, name: &str, parse: fn(&str) -> Option<T>, what: &str) -> Result<Option<T>, ApiError> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let wrong =
            || ApiError::bad_data(format!("invalid parameter {name:?}: cannot parse {text:?} to a valid {what}"));
        parse(text).map(Some).ok_or_else(wrong)
    }

    /// A required parameter.
    pub(crate) fn required<T>(&self, name: &str, value: Option<T>) -> Result<T, ApiError> {
        value.ok_or_else(|| ApiError::bad_data(format!("invalid parameter {name:?}: it is missing")))
    }
}
