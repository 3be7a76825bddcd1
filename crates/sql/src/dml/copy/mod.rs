//! `COPY` as PostgreSQL 15 has it: the statement ([`statement`]), and the options of its formats ([`options`]), which
//! are read from words ([`option_words`]). Not owned: reading and writing rows, which the caller does.

mod option_words;
pub(crate) mod options;
pub(crate) mod statement;
