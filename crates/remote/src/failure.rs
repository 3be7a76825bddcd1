//! Failed requests, described without secrets: the client's own messages contain whole URLs.

use atsdb_core::{Error, ErrorKind};

/// The variables that give access to a bucket.
const S3_VARIABLES: &str = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or the role of this machine; \
                            AWS_SKIP_SIGNATURE=true reads public buckets without them";

/// The reason why a request failed. The texts contain no URLs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure {
    /// The status of the answer, if there was one.
    status: Option<u16>,
    /// Details for the message.
    cause: String,
}

impl Failure {
    pub(crate) fn of_status(status: u16) -> Self {
        Self { status: Some(status), cause: String::new() }
    }

    pub(crate) fn of_cause(cause: impl Into<String>) -> Self {
        Self { status: None, cause: cause.into() }
    }

    /// The failure of a request without an answer, or of an answer that did not arrive: its innermost cause, which is
    /// the shortest description.
    pub(crate) fn of_error(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut error = error;
        while let Some(source) = error.source() {
            error = source;
        }
        Self::of_cause(error.to_string())
    }

    /// The failure of a request to S3.
    pub(crate) fn of_store(error: &object_store::Error) -> Self {
        use object_store::Error as Cause;
        let text = format!("{error:?}");
        let status = match error {
            Cause::NotFound { .. } => Some(404),
            Cause::PermissionDenied { .. } => Some(403),
            Cause::Unauthenticated { .. } => Some(401),
            Cause::Precondition { .. } => Some(412),
            error => {
                let text = error.to_string();
                let (_, rest) = text.split_once("status code: ").unwrap_or_default();
                rest.get(..3).and_then(|code| code.parse().ok())
            }
        };
        match status {
            Some(_) => Self { status, cause: s3_code(&text).map_or(String::new(), |code| format!(", {code}")) },
            None => Self::of_error(error),
        }
    }
}

/// Returns the error of a request for a file. `shown` names the file.
pub(crate) fn explain(shown: &str, failure: &Failure) -> Error {
    let is_s3 = shown.starts_with("s3://");
    let cause = &failure.cause;
    match failure.status {
        Some(404 | 410) if is_s3 => Error::not_found(format!("{shown} does not exist{cause}"))
            .with_hint("check bucket and name; AWS_ENDPOINT_URL and AWS_REGION say where the bucket is"),
        Some(status @ (404 | 410)) => {
            Error::not_found(format!("{shown} does not exist: its server answers with status {status}"))
                .with_hint("check the address")
        }
        Some(status @ (401 | 403)) => {
            let message = format!("{shown}: its server refuses access, status {status}{cause}");
            let hint = match is_s3 {
                true => format!("access is given by {S3_VARIABLES}"),
                false => "https://USER:PASSWORD@HOST/... gives a login; a signed URL may have expired".to_owned(),
            };
            Error::new(ErrorKind::Unavailable, message).with_hint(hint)
        }
        Some(412) => changed(shown),
        Some(status) => {
            Error::new(ErrorKind::Unavailable, format!("{shown}: its server answers with status {status}{cause}"))
                .with_hint("retry later, or check the address")
        }
        None => unreached(shown, is_s3, cause),
    }
}

/// The error for a file that is no longer the one whose beginning was read.
pub(crate) fn changed(shown: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{shown} was changed while it was read")).with_hint("import it again")
}

/// The error for a file that ended too early.
pub(crate) fn cut(shown: &str, got: u64, expected: u64) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{shown}: only {got} of {expected} bytes arrived"))
        .with_hint("the connection was cut, or the file was changed: import it again")
}

fn unreached(shown: &str, is_s3: bool, cause: &str) -> Error {
    let hint = match cause.to_lowercase() {
        text if text.contains("certificate") => {
            "the server's certificate is not trusted here; SSL_CERT_FILE names a file with further ones".to_owned()
        }
        _ if is_s3 && !has_s3_credentials() => format!("there are no credentials: set {S3_VARIABLES}"),
        text if text.contains("scheme is not allowed") => {
            "a redirection to http:// is not followed: name the final address if you trust it".to_owned()
        }
        text if text.contains("refused") || text.contains("lookup") || text.contains("dns") => {
            "check the name of the server, its port and the network".to_owned()
        }
        _ => "nothing was stored; retry".to_owned(),
    };
    Error::new(ErrorKind::Unavailable, format!("cannot read {shown}: {cause}")).with_hint(hint)
}

/// Returns whether the environment has credentials of S3. The machine may also have a role.
fn has_s3_credentials() -> bool {
    const NAMES: [&str; 5] = [
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_SKIP_SIGNATURE",
    ];
    NAMES.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The code in an answer of S3, such as `NoSuchBucket`.
fn s3_code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    (code.len() < 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_say_what_happened_and_hide_urls() {
        let source = || "http://me:secret@h/x?sig=secret <Code>NoSuchKey</Code>".into();
        let missing = Failure::of_store(&object_store::Error::NotFound { path: "x".to_owned(), source: source() });
        let status = Failure::of_status;
        for (shown, failure, kind, part) in [
            ("http://h/x?...", status(404), ErrorKind::NotFound, "answers with status 404"),
            ("s3://b/x", missing, ErrorKind::NotFound, "does not exist, NoSuchKey"),
            ("s3://b/x", status(403), ErrorKind::Unavailable, "refuses access, status 403"),
            ("http://h/x", status(503), ErrorKind::Unavailable, "answers with status 503"),
            ("http://h/x", status(412), ErrorKind::Unavailable, "was changed while it was read"),
            ("http://h/x", Failure::of_cause("Connection refused"), ErrorKind::Unavailable, "h/x: Connection refused"),
        ] {
            let error = explain(shown, &failure);
            assert!(error.kind() == kind && error.message().contains(part), "{error}");
            assert!(!format!("{error}{:?}", error.hint()).contains("secret"), "{error}");
        }
        let busy =
            object_store::Error::Generic { store: "S3", source: "status code: 503 Slow: <Code>SlowDown</Code>".into() };
        assert!(explain("s3://b", &Failure::of_store(&busy)).message().ends_with("status 503, SlowDown"));
        let hint = explain("https://h", &Failure::of_cause("invalid peer certificate: UnknownIssuer"));
        assert!(hint.hint().is_some_and(|hint| hint.contains("SSL_CERT_FILE")));
    }
}
