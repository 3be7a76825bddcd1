//! The types of expressions.

use strum::IntoStaticStr;

/// The type of an expression's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum ValueType {
    /// One number at each time.
    Scalar,
    /// One number for each series at each time.
    Vector,
    /// The samples of a range, for each series.
    Matrix,
    /// A text.
    #[strum(serialize = "string")]
    Text,
}

impl ValueType {
    /// The name in Prometheus' HTTP API: `scalar`, `vector`, `matrix` or `string`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The name in Prometheus' documentation: `scalar`, `instant vector`, `range vector` or `string`.
    pub fn documented(self) -> &'static str {
        match self {
            Self::Vector => "instant vector",
            Self::Matrix => "range vector",
            Self::Scalar | Self::Text => self.name(),
        }
    }
}
