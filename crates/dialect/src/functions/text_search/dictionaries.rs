//! Dictionaries, which normalize words, and the configurations that say which tokens go to which dictionary.

use super::token_kinds::TokenKind;
use super::tokens::{Token, Tokens};
use super::vector::{POSITION_MAX, WORD_BYTES_MAX};
use atsdb_core::{Error, Result};
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;

/// Words that the English dictionary leaves out, sorted.
const ENGLISH_STOP_WORDS: [&str; 127] = [
    "a",
    "about",
    "above",
    "after",
    "again",
    "against",
    "all",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "below",
    "between",
    "both",
    "but",
    "by",
    "can",
    "did",
    "do",
    "does",
    "doing",
    "don",
    "down",
    "during",
    "each",
    "few",
    "for",
    "from",
    "further",
    "had",
    "has",
    "have",
    "having",
    "he",
    "her",
    "here",
    "hers",
    "herself",
    "him",
    "himself",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "itself",
    "just",
    "me",
    "more",
    "most",
    "my",
    "myself",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "ourselves",
    "out",
    "over",
    "own",
    "s",
    "same",
    "she",
    "should",
    "so",
    "some",
    "such",
    "t",
    "than",
    "that",
    "the",
    "their",
    "theirs",
    "them",
    "themselves",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "through",
    "to",
    "too",
    "under",
    "until",
    "up",
    "very",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "whom",
    "why",
    "will",
    "with",
    "you",
    "your",
    "yours",
    "yourself",
    "yourselves",
];

/// The greatest length of a word in bytes that is stemmed.
const STEMMED_BYTES_MAX: usize = 1_000;

/// A dictionary, which normalizes words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dictionary {
    /// Small letters.
    Simple,
    /// The stems of English words, without the most frequent words.
    EnglishStem,
}

impl Dictionary {
    /// The dictionary with a name.
    pub(super) fn of_name(name: &str) -> Result<Self> {
        match plain_name(name).as_str() {
            "simple" => Ok(Self::Simple),
            "english_stem" => Ok(Self::EnglishStem),
            _ => {
                let error = Error::invalid(format!("text search dictionary \"{name:.60}\" does not exist"));
                Err(error.with_hint("available: simple, english_stem"))
            }
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::EnglishStem => "english_stem",
        }
    }

    /// A word in its normal form; `None` if it is left out.
    pub(super) fn normalized(self, word: &str) -> Option<Cow<'_, str>> {
        let lower = lower_case(word);
        match self {
            Self::Simple => Some(lower),
            Self::EnglishStem if ENGLISH_STOP_WORDS.binary_search(&lower.as_ref()).is_ok() => None,
            Self::EnglishStem if lower.len() > STEMMED_BYTES_MAX => Some(lower),
            Self::EnglishStem => {
                let stemmer = Stemmer::create(Algorithm::English);
                Some(match lower {
                    Cow::Borrowed(lower) => stemmer.stem(lower),
                    Cow::Owned(lower) => Cow::Owned(stemmer.stem(&lower).into_owned()),
                })
            }
        }
    }
}

fn lower_case(word: &str) -> Cow<'_, str> {
    let is_lower = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    if word.bytes().all(is_lower) { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) }
}

/// A name without its schema, in small letters.
pub(super) fn plain_name(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    match name.strip_prefix("pg_catalog.") {
        Some(name) => name.to_owned(),
        None => name,
    }
}

/// A configuration, which says which tokens go to which dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Configuration {
    Simple,
    English,
}

impl Configuration {
    /// The configuration of calls that name none.
    pub(super) const DEFAULT: Self = Self::English;

    /// The name in SQL.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::English => "english",
            Self::Simple => "simple",
        }
    }

    /// The configuration with a name.
    pub(super) fn of_name(name: &str) -> Result<Self> {
        match plain_name(name).as_str() {
            "simple" => Ok(Self::Simple),
            "english" => Ok(Self::English),
            _ => {
                let error = Error::invalid(format!("text search configuration \"{name:.60}\" does not exist"));
                Err(error.with_hint("available: english, simple"))
            }
        }
    }

    /// The dictionary for a kind of tokens; `None` if they are not searched for.
    pub(super) fn dictionary(self, kind: TokenKind) -> Option<Dictionary> {
        if !kind.is_searched() {
            return None;
        }
        let is_stemmed = self == Self::English && kind.is_of_language();
        Some(if is_stemmed { Dictionary::EnglishStem } else { Dictionary::Simple })
    }

    /// The tokens of a text, each with the position of the last word so far, and with its normal form if it is a word
    /// that is searched for. Words that are left out take a position, too.
    pub(super) fn tokens(self, text: &str) -> impl Iterator<Item = (Token<'_>, u16, Option<Cow<'_, str>>)> {
        let mut last = 0_u16;
        Tokens::of(text).map(move |token| {
            let dictionary = self.dictionary(token.kind).filter(|_| token.text.len() <= WORD_BYTES_MAX);
            if dictionary.is_some() {
                last = last.saturating_add(1).min(POSITION_MAX);
            }
            (token, last, dictionary.and_then(|of| of.normalized(token.text)))
        })
    }

    /// The words of a text in their normal forms, with their positions.
    pub(super) fn words(self, text: &str) -> impl Iterator<Item = (u16, Cow<'_, str>)> {
        self.tokens(text).filter_map(|(_, position, word)| Some((position, word?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english_words_have_stems() {
        assert!(ENGLISH_STOP_WORDS.is_sorted());
        let stem = |word| Dictionary::EnglishStem.normalized(word);
        for (word, expected) in [
            ("skies", "sky"),
            ("Connections", "connect"),
            ("timed", "time"),
            ("timeout", "timeout"),
            ("PostgreSQL", "postgresql"),
            ("naïvely", "naïv"),
        ] {
            assert_eq!(stem(word).as_deref(), Some(expected), "{word}");
        }
        assert!(stem("The").is_none() && stem("them").is_none());
        assert_eq!(Dictionary::Simple.normalized("The").as_deref(), Some("the"));
        assert_eq!(stem(&"é".repeat(400)).map(|word| word.len()), Some(800));
    }

    #[test]
    fn words_that_are_left_out_take_a_position() {
        let words: Vec<(u16, String)> =
            Configuration::English.words("The cat's rats").map(|(at, word)| (at, word.into_owned())).collect();
        assert_eq!(words, [(2, "cat".to_owned()), (4, "rat".to_owned())]);
    }
}
