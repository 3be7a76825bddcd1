//! The kinds of tokens, which are those of PostgreSQL.

/// The kind of a token.
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

    /// PostgreSQL's number and names of the kind.
    fn shown(self) -> (i32, &'static str, &'static str) {
        match self {
            Self::AsciiWord => (1, "asciiword", "Word, all ASCII"),
            Self::Word => (2, "word", "Word, all letters"),
            Self::NumberWord => (3, "numword", "Word, letters and digits"),
            Self::Email => (4, "email", "Email address"),
            Self::Url => (5, "url", "URL"),
            Self::Host => (6, "host", "Host"),
            Self::ScientificFloat => (7, "sfloat", "Scientific notation"),
            Self::Version => (8, "version", "Version number"),
            Self::NumberPart => (9, "hword_numpart", "Hyphenated word part, letters and digits"),
            Self::WordPart => (10, "hword_part", "Hyphenated word part, all letters"),
            Self::AsciiPart => (11, "hword_asciipart", "Hyphenated word part, all ASCII"),
            Self::Blank => (12, "blank", "Space symbols"),
            Self::Tag => (13, "tag", "XML tag"),
            Self::Protocol => (14, "protocol", "Protocol head"),
            Self::HyphenatedNumberWord => (15, "numhword", "Hyphenated word, letters and digits"),
            Self::HyphenatedAsciiWord => (16, "asciihword", "Hyphenated word, all ASCII"),
            Self::HyphenatedWord => (17, "hword", "Hyphenated word, all letters"),
            Self::UrlPath => (18, "url_path", "URL path"),
            Self::File => (19, "file", "File or path name"),
            Self::Float => (20, "float", "Decimal notation"),
            Self::Integer => (21, "int", "Signed integer"),
            Self::UnsignedInteger => (22, "uint", "Unsigned integer"),
            Self::Entity => (23, "entity", "XML entity"),
        }
    }

    pub(super) fn number(self) -> i32 {
        self.shown().0
    }

    pub(super) fn alias(self) -> &'static str {
        self.shown().1
    }

    pub(super) fn description(self) -> &'static str {
        self.shown().2
    }

    /// Returns whether tokens of this kind are followed by their parts, which are tokens, too.
    pub(super) fn has_parts(self) -> bool {
        matches!(self, Self::Url | Self::HyphenatedNumberWord | Self::HyphenatedAsciiWord | Self::HyphenatedWord)
    }

    /// Returns whether tokens of this kind are searched for.
    pub(super) fn is_searched(self) -> bool {
        !matches!(self, Self::Blank | Self::Tag | Self::Protocol | Self::Entity)
    }

    /// Returns whether tokens of this kind are words of a language.
    pub(super) fn is_of_language(self) -> bool {
        matches!(self, Self::AsciiWord | Self::Word | Self::WordPart | Self::AsciiPart)
            || matches!(self, Self::HyphenatedAsciiWord | Self::HyphenatedWord)
    }
}
