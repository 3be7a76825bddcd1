//! The kinds of tokens, which are those of PostgreSQL.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    AsciiWord,
    Word,
    NumberWord,
    Email,
    Url,
    Host,
    ScientificFloat,
    Version,
    NumberPart,
    WordPart,
    AsciiPart,
    Blank,
    Tag,
    Protocol,
    HyphenatedNumberWord,
    HyphenatedAsciiWord,
    HyphenatedWord,
    UrlPath,
    File,
    Float,
    Integer,
    UnsignedInteger,
    Entity,
}

impl TokenKind {
    /// Whether tokens of this kind are searched for.
    pub(super) fn is_searched(self) -> bool {
        !matches!(self, Self::Blank | Self::Tag | Self::Protocol | Self::Entity)
    }

    /// Whether tokens of this kind are words of a language.
    pub(super) fn is_of_language(self) -> bool {
        matches!(self, Self::AsciiWord | Self::Word | Self::WordPart | Self::AsciiPart)
            || matches!(self, Self::HyphenatedAsciiWord | Self::HyphenatedWord)
    }
}
