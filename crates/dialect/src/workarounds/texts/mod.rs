//! Functions and operators of texts, and texts of mapped columns, which are dictionaries.

pub(super) mod byte_lengths;
pub(super) mod functions_of_bytes;
pub(super) mod letter_cases;
pub(super) mod mapped_operands;
pub(super) mod outputs;
pub(super) mod plain_results;
pub(super) mod plain_values;
pub(super) mod regexp_like;
pub(super) mod regexp_match;
pub(super) mod regexp_replace;
pub(super) mod similar_to;
