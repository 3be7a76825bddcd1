//! The message of an error of clap in one line, in the words of all other errors.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseIntError};

/// Returns the message without suggestions, the usage, and the advice to ask for help.
pub(super) fn message_of(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.strip_prefix("error: ").unwrap_or(&text).lines().map(str::trim);
    let message: Vec<&str> = lines
        .take_while(|line| !line.starts_with("tip:") && !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .collect();
    let message = message.join(" ");
    match error.source().and_then(|source| source.downcast_ref::<ParseIntError>()) {
        Some(number) => message.replace(&number.to_string(), in_words(number)),
        None => message,
    }
}

/// Why a text is not an integer.
fn in_words(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "the number is too large",
        _ => "write a whole number",
    }
}
