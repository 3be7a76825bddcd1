//! Errors of QuestDB: unknown statements and types, and other failures.

use crate::failure::Failure;
use crate::server::postgres_failure;

/// QuestDB's messages about statements, types and functions that it does not have, apart from those about words in the
/// wrong place. Its errors have no codes.
const NOT_KNOWN: [&str; 6] = [
    "unexpected token",
    "unsupported",
    "not supported",
    "unknown function name",
    "there is no matching function",
    "no such function",
];

/// The server's own error message.
pub(super) fn questdb_failure(error: postgres::Error) -> Failure {
    match error.as_db_error().map(|reported| reported.message().to_owned()) {
        Some(message) if is_not_known(&message) => Failure::Cannot(message),
        _ => postgres_failure(error),
    }
}

fn is_not_known(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.ends_with(" expected") || NOT_KNOWN.iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_no_failure() {
        let messages = [
            "unexpected token [having]",
            "Unsupported column type: KEY",
            "unknown function name: median(DOUBLE)",
            "found [tok='PRIMARY', len=7] ',' or ')' expected",
        ];
        assert!(messages.into_iter().all(is_not_known));
        assert!(!is_not_known("table does not exist [table=t]"));
    }
}
