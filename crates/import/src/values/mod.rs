//! Values as text: numbers, dates, times and zones. Everything here works on the bytes of one field.
//!
//! Owned here: numbers with a point ([`numbers`]) or a comma ([`comma_numbers`]), dates and times in all their forms
//! ([`dates`], [`times`]) and in the usual one ([`usual_times`]), times of day ([`clocks`]), counts since the epoch
//! ([`epochs`]), and zones ([`zones`]). Not owned: what the values of a column have in common (`facts`).

mod calendar_words;
pub(crate) mod clocks;
pub(crate) mod comma_numbers;
pub(crate) mod dates;
pub(crate) mod epochs;
pub(crate) mod numbers;
pub(crate) mod times;
pub(crate) mod usual_times;
pub(crate) mod zones;
