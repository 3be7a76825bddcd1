//! The types of expressions.

/// The type of an expression's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// One number at each time.
    Scalar,
    /// One number for each series at each time.
    Vector,
    /// The samples of a range, for each series.
    Matrix,
    /// A text.
    Text,
}

impl ValueType {
    /// The name in Prometheus' documentation.
    pub fn documented(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Vector => "instant vector",
            Self::Matrix => "range vector",
            Self::Text => "string",
        }
    }
}
