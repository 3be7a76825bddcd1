//! Values as text: numbers, dates, times and zones. Everything here works on the bytes of one field.
//!
//! Owned here: numbers with a point ([`numbers`]), commas ([`comma_numbers`]) or the sign of a currency or percentage
//! ([`number_signs`]), dates and times in all their forms ([`times`]) and in the usual one ([`usual_times`]), times of
//! day ([`clocks`]), dates and times as one number ([`digit_times`]), counts since the epoch ([`epochs`]), and zones
//! ([`zones`]). Not owned: the forms of times (`time_text` of `atsdb-core`), and what the values of a column have in
//! common (`facts`).

pub(crate) mod clocks;
pub(crate) mod comma_numbers;
pub(crate) mod digit_times;
pub(crate) mod epochs;
pub(crate) mod number_signs;
pub(crate) mod numbers;
pub(crate) mod times;
pub(crate) mod usual_times;
pub(crate) mod zones;
