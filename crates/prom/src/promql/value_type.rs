//! The types of expressions.

/// What an expression yields.
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
    /// As Prometheus' documentation calls it.
    pub fn documented(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Vector => "instant vector",
            Self::Matrix => "range vector",
            Self::Text => "string",
        }
    }
}
