//! Requests over HTTP, with object_store's HTTP client. object_store's own store for HTTP needs the length of a file in
//! advance and shows whole URLs in errors. Here, servers need not send a length, and a cut answer is resumed.

use crate::address::HttpAddress;
use crate::answer::{Answer, Piece};
use crate::failure::Failure;
use atsdb_core::{Error, Result};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::client::{
    HttpClient, HttpConnector, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, ReqwestConnector,
};
use object_store::{ClientOptions, HeaderValue};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The maximum number of times that a request is retried, and that an answer is resumed.
pub(crate) const RETRIES_MAX: usize = 5;
/// The pause before the first retry. It doubles with each further one.
const PAUSE: Duration = Duration::from_millis(100);
/// The maximum time that a connection may take to open.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The statuses of answers that a retry may improve, besides 500 and above.
const BUSY: [u16; 2] = [408, 429];
const PARTIAL: u16 = 206;

/// A file of an HTTP server.
pub(crate) struct HttpFile {
    client: HttpClient,
    url: String,
    authorization: Option<HeaderValue>,
}

impl HttpFile {
    pub(crate) fn new(address: &HttpAddress) -> Result<Self> {
        let wrong = || Error::usage(format!("{} is not a URL", address.shown)).with_hint("write https://HOST/FILE");
        let url = Url::parse(&address.url).map_err(|_| wrong())?.to_string();
        let mut probe = HttpRequest::new(HttpRequestBody::empty());
        *probe.uri_mut() = url.parse().map_err(|_| wrong())?;
        let options = ClientOptions::new()
            .with_allow_http(address.is_plain)
            // A file may be large.
            .with_timeout_disabled()
            .with_connect_timeout(CONNECT_MAX)
            .with_user_agent(HeaderValue::from_static(concat!("atsdb/", env!("CARGO_PKG_VERSION"))));
        let client = ReqwestConnector::default()
            .connect(&options)
            .map_err(|error| Error::internal("there is no client of HTTP").with_source(error))?;
        let mut authorization =
            address.authorization.as_deref().map(HeaderValue::try_from).transpose().map_err(|_| wrong())?;
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        Ok(Self { client, url, authorization })
    }

    /// Requests the file, or a range of it; only this version, if there is one.
    pub(crate) async fn get(
        self: Arc<Self>,
        range: Option<Range<u64>>,
        version: Option<String>,
    ) -> std::result::Result<Answer, Failure> {
        let wanted = range.as_ref().map(|range| (range.start, Some(range.end)));
        let response = self.request(wanted, version.as_deref()).await?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let e_tag = header("etag").map(str::to_owned);
        let length = header("content-length").and_then(|length| length.trim().parse().ok());
        let has_end = length.is_some() || header("transfer-encoding").is_some();
        let byte_count = match &range {
            None => length,
            Some(range) => {
                let sent = sent_range(&response).filter(|(sent, _)| sent == range);
                sent.ok_or_else(|| Failure::of_cause("its server sends no ranges"))?.1
            }
        };
        let start = range.as_ref().map_or(0, |range| range.start);
        let end = range.map(|range| range.end).or(length);
        let arrival = Arrival { file: self, body: body(response), at: start, end, e_tag: e_tag.clone(), retries: 0 };
        let content = futures::stream::try_unfold(arrival, Arrival::next).boxed();
        Ok(Answer { byte_count, e_tag, has_end, content })
    }

    /// Sends a request until it succeeds. A range has no end if that is not known.
    async fn request(
        &self,
        range: Option<(u64, Option<u64>)>,
        version: Option<&str>,
    ) -> std::result::Result<HttpResponse, Failure> {
        let mut pause = PAUSE;
        for retry in 0.. {
            let (failure, may_retry) = match self.client.execute(self.message(range, version)?).await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => {
                    let status = response.status().as_u16();
                    (Failure::of_status(status), status >= 500 || BUSY.contains(&status))
                }
                Err(error) => {
                    use HttpErrorKind::{Connect, Interrupted, Request, Timeout};
                    let may_retry = matches!(error.kind(), Connect | Request | Timeout | Interrupted);
                    (Failure::of_error(&error), may_retry)
                }
            };
            if !may_retry || retry == RETRIES_MAX {
                return Err(failure);
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(Failure::of_cause("it was not answered"))
    }

    fn message(
        &self,
        range: Option<(u64, Option<u64>)>,
        version: Option<&str>,
    ) -> std::result::Result<HttpRequest, Failure> {
        let wrong = || Failure::of_cause("the request cannot be written");
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = self.url.parse().map_err(|_| wrong())?;
        let headers = request.headers_mut();
        if let Some(authorization) = &self.authorization {
            headers.insert("authorization", authorization.clone());
        }
        if let Some((start, end)) = range {
            let last = end.map_or(String::new(), |end| end.saturating_sub(1).to_string());
            headers.insert("range", HeaderValue::try_from(format!("bytes={start}-{last}")).map_err(|_| wrong())?);
        }
        // A weak version never matches.
        if let Some(version) = version.filter(|version| is_strong(version)) {
            headers.insert("if-match", HeaderValue::try_from(version).map_err(|_| wrong())?);
        }
        Ok(request)
    }
}

/// Returns whether files with this version are the same byte for byte.
fn is_strong(version: &str) -> bool {
    !version.starts_with("W/")
}

fn body(response: HttpResponse) -> BoxStream<'static, Piece> {
    let pieces = response.into_body().bytes_stream();
    pieces.map_ok(Vec::from).map_err(|error| Failure::of_error(&error)).boxed()
}

/// The range that an answer has, and the size of the whole file if it is known.
fn sent_range(response: &HttpResponse) -> Option<(Range<u64>, Option<u64>)> {
    let value = response.headers().get("content-range").filter(|_| response.status().as_u16() == PARTIAL)?;
    let (range, size) = value.to_str().ok()?.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    Some((first..last.checked_add(1)?, size.trim().parse().ok()))
}

/// An answer that is arriving. It is resumed if its connection is cut.
struct Arrival {
    file: Arc<HttpFile>,
    body: BoxStream<'static, Piece>,
    /// The next byte of the file.
    at: u64,
    /// The end of the answer, if it is known.
    end: Option<u64>,
    e_tag: Option<String>,
    retries: usize,
}

impl Arrival {
    async fn next(mut self) -> std::result::Result<Option<(Vec<u8>, Self)>, Failure> {
        loop {
            match self.body.next().await {
                None => return Ok(None),
                Some(Ok(piece)) => {
                    self.at += piece.len() as u64;
                    return Ok(Some((piece, self)));
                }
                Some(Err(failure)) => self.resume(failure).await?,
            }
        }
    }

    /// Requests the rest, if it certainly belongs to the same file.
    async fn resume(&mut self, failure: Failure) -> std::result::Result<(), Failure> {
        let Some(version) = self.e_tag.clone().filter(|version| is_strong(version)) else { return Err(failure) };
        if self.retries == RETRIES_MAX || self.end.is_some_and(|end| self.at >= end) {
            return Err(failure);
        }
        self.retries += 1;
        let response = self.file.request(Some((self.at, self.end)), Some(&version)).await?;
        let is_same = response.headers().get("etag").is_some_and(|tag| tag.as_bytes() == version.as_bytes());
        let is_rest = sent_range(&response)
            .is_some_and(|(sent, _)| sent.start == self.at && self.end.is_none_or(|end| sent.end == end));
        if !is_same || !is_rest {
            return Err(failure);
        }
        self.body = body(response);
        Ok(())
    }
}
