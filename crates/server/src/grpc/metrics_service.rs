//! OpenTelemetry's metrics: `MetricsService/Export`, which has one message, and one as its answer. The bodies of such
//! requests are read as those of HTTP are.

use crate::http::refusal;
use crate::ingest::body::{BodyError, Compression, HeldBody, decompress, read_compressed};
use crate::prom::{Prom, Refusal, export_protobuf};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming};
use hyper::{Request, Response};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tonic::{Code, Status};

/// A message begins with a flag, whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// Stores the points of a request. The answer is sent when they are durable.
pub(super) async fn export(prom: &Prom, request: Request<Incoming>) -> Response<tonic::body::Body> {
    let (head, body) = request.into_parts();
    match stored(prom, &head.headers, Body::new(body)).await {
        Ok(message) => answer(&message),
        Err(status) => prom.metrics.refused(status).into_http(),
    }
}

async fn stored(prom: &Prom, headers: &HeaderMap, body: Body) -> Result<Vec<u8>, Status> {
    let body = read_compressed(Compression::None, &HeaderMap::new(), body, &prom.memory, &prom.ingest).await;
    let body = message_of(body.map_err(|error| of_body(&error))?, headers, prom).await?;
    export_protobuf(prom, body).await.map_err(|refusal| of_refusal(&refusal))
}

/// The only message of a request, without its prefix and its compression.
async fn message_of(body: HeldBody, headers: &HeaderMap, prom: &Prom) -> Result<HeldBody, Status> {
    let HeldBody { mut bytes, reservation } = body;
    let not_one = || Status::invalid_argument("the request is not one message");
    let ([flag, length @ ..], message) = bytes.split_first_chunk::<PREFIX_BYTES>().ok_or_else(not_one)?;
    if u32::from_be_bytes(*length) as usize != message.len() {
        return Err(not_one());
    }
    let flag = *flag;
    bytes.drain(..PREFIX_BYTES);
    match (flag, headers.get("grpc-encoding").map(|value| value.as_bytes())) {
        (0, _) => Ok(HeldBody { bytes, reservation }),
        (1, Some(b"gzip")) => decompress(bytes, reservation, &prom.ingest).await.map_err(|error| of_body(&error)),
        _ => Err(Status::unimplemented("the message is compressed, but not with gzip")),
    }
}

fn of_body(refused: &BodyError) -> Status {
    let (status, message) = refusal::of_body(refused);
    Status::new(code_of(status), message)
}

fn of_refusal(refusal: &Refusal) -> Status {
    Status::new(code_of(refusal.status), refusal.message.clone())
}

/// The code for the status that the same refusal has over HTTP. Exporters retry after `Unavailable` alone.
fn code_of(status: StatusCode) -> Code {
    match status {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::REQUEST_TIMEOUT => Code::Unavailable,
        StatusCode::PAYLOAD_TOO_LARGE => Code::ResourceExhausted,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::Unimplemented,
        status if status.is_client_error() => Code::InvalidArgument,
        _ => Code::Internal,
    }
}

/// The answer to a request that was stored.
fn answer(message: &[u8]) -> Response<tonic::body::Body> {
    let mut framed = vec![0];
    framed.extend((message.len() as u32).to_be_bytes());
    framed.extend_from_slice(message);
    let mut trailers = HeaderMap::new();
    // An error is impossible: the headers of a success are few.
    let _ = Status::ok("").add_header(&mut trailers);
    let body = OneMessage { message: Some(Bytes::from(framed)), trailers: Some(trailers) };
    let mut response = Response::new(tonic::body::Body::new(body));
    let content_type = axum::http::HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(axum::http::header::CONTENT_TYPE, content_type);
    response
}

/// A body with one message, and the outcome after it.
struct OneMessage {
    message: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl HttpBody for OneMessage {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = self.message.take().map(Frame::data);
        Poll::Ready(frame.or_else(|| self.trailers.take().map(Frame::trailers)).map(Ok))
    }
}
