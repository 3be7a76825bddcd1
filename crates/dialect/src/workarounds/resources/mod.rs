//! Time and memory that DataFusion takes without a limit.

pub(super) mod bounded_functions;
pub(super) mod first_values;
pub(super) mod flat_cases;
pub(super) mod long_literals;
pub(super) mod repeated_parts;
