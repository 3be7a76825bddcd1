//! The kinds of tokens, with PostgreSQL's numbers and names.

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
    /// All kinds, in the order of their numbers.
    pub(super) const ALL: [Self; 23] = [
        Self::AsciiWord,
        Self::Word,
        Self::NumberWord,
        Self::Email,
        Self::Url,
        Self::Host,
        Self::ScientificFloat,
        Self::Version,
        Self::NumberPart,
        Self::WordPart,
        Self::AsciiPart,
        Self::Blank,
        Self::Tag,
        Self::Protocol,
        Self::HyphenatedNumberWord,
        Self::HyphenatedAsciiWord,
        Self::HyphenatedWord,
        Self::UrlPath,
        Self::File,
        Self::Float,
        Self::Integer,
        Self::UnsignedInteger,
        Self::Entity,
    ];

    /// PostgreSQL's name.
    pub(super) fn alias(self) -> &'static str {
        match self {
            Self::AsciiWord => "asciiword",
            Self::Word => "word",
            Self::NumberWord => "numword",
            Self::Email => "email",
            Self::Url => "url",
            Self::Host => "host",
            Self::ScientificFloat => "sfloat",
            Self::Version => "version",
            Self::NumberPart => "hword_numpart",
            Self::WordPart => "hword_part",
            Self::AsciiPart => "hword_asciipart",
            Self::Blank => "blank",
            Self::Tag => "tag",
            Self::Protocol => "protocol",
            Self::HyphenatedNumberWord => "numhword",
            Self::HyphenatedAsciiWord => "asciihword",
            Self::HyphenatedWord => "hword",
            Self::UrlPath => "url_path",
            Self::File => "file",
            Self::Float => "float",
            Self::Integer => "int",
            Self::UnsignedInteger => "uint",
            Self::Entity => "entity",
        }
    }

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
