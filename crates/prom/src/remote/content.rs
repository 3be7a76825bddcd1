//! The headers of a request: which version of remote write it is.

use super::error::RemoteError;

/// A version of remote write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteVersion {
    /// `prometheus.WriteRequest`
    V1,
    /// `io.prometheus.write.v2.Request`
    V2,
}

/// The content of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentKind {
    /// The message.
    pub version: WriteVersion,
    /// Whether the body is compressed by snappy.
    pub snappy: bool,
}

/// Reads `Content-Type` and `Content-Encoding`. A request without a type is version 1, as old senders are; one without
/// an encoding is compressed by snappy, as the specification demands.
pub fn negotiate(content_type: Option<&str>, encoding: Option<&str>) -> Result<ContentKind, RemoteError> {
    let mut parts = content_type.unwrap_or("application/x-protobuf").split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    if !media.eq_ignore_ascii_case("application/x-protobuf") {
        return Err(RemoteError::Unsupported(format!(
            "the content type is {media:?}, remote write is application/x-protobuf"
        )));
    }
    let mut version = WriteVersion::V1;
    for part in parts.filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        if !name.trim().eq_ignore_ascii_case("proto") {
            continue;
        }
        version = match value.trim().trim_matches('"') {
            "prometheus.WriteRequest" => WriteVersion::V1,
            "io.prometheus.write.v2.Request" => WriteVersion::V2,
            other => return Err(RemoteError::Unsupported(format!("the message {other:?} is not supported"))),
        };
    }
    match encoding.map(str::trim) {
        None | Some("") => Ok(ContentKind { version, snappy: true }),
        Some(name) if name.eq_ignore_ascii_case("snappy") => Ok(ContentKind { version, snappy: true }),
        Some(name) if name.eq_ignore_ascii_case("identity") => Ok(ContentKind { version, snappy: false }),
        Some(other) => Err(RemoteError::Unsupported(format!("the encoding {other:?} is not supported: use snappy"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_encodings_are_told_apart() {
        let kind = |version, snappy| Ok(ContentKind { version, snappy });
        let v1 = "application/x-protobuf;proto=prometheus.WriteRequest";
        let v2 = "application/x-protobuf; proto=io.prometheus.write.v2.Request";
        assert_eq!(negotiate(None, None), kind(WriteVersion::V1, true));
        assert_eq!(negotiate(Some("application/x-protobuf"), Some("snappy")), kind(WriteVersion::V1, true));
        assert_eq!(negotiate(Some(v1), Some("Snappy")), kind(WriteVersion::V1, true));
        assert_eq!(negotiate(Some(v2), Some("identity")), kind(WriteVersion::V2, false));
        for (media, encoding) in [
            (Some("application/json"), None),
            (Some("application/x-protobuf;proto=io.prometheus.write.v3.Request"), None),
            (Some(v2), Some("zstd")),
        ] {
            assert_eq!(negotiate(media, encoding).unwrap_err().status(), 415, "{media:?} {encoding:?}");
        }
    }
}
