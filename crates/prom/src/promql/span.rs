//! Durations: literals and the arithmetic on them.

/// A duration that may depend on the query's range and step.
#[derive(Debug, Clone, PartialEq)]
pub enum Span {
    /// Seconds.
    Literal(f64),
    /// `step()`
    Step,
    /// `range()`
    Range,
    /// `-span`
    Minus(Box<Span>),
    /// Arithmetic on two spans.
    Binary(SpanOp, Box<Span>, Box<Span>),
}

/// Arithmetic on spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum SpanOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Min,
    Max,
}

impl Span {
    /// Milliseconds, for a query of this range and step in seconds.
    pub fn milliseconds(&self, range: f64, step: f64, may_be_negative: bool) -> Result<i64, String> {
        if let Self::Literal(seconds) = self {
            return Ok(((seconds * 1e9).round() / 1e6).trunc() as i64);
        }
        let seconds = self.seconds(range, step)?;
        if !seconds.is_finite() {
            return Err("duration is NaN or infinite".to_owned());
        }
        if seconds <= 0.0 && !may_be_negative {
            return Err("duration must be greater than 0".to_owned());
        }
        if seconds.abs() > i64::MAX as f64 / 1e9 {
            return Err("duration is out of range".to_owned());
        }
        Ok((seconds * 1000.0).trunc() as i64)
    }

    fn seconds(&self, range: f64, step: f64) -> Result<f64, String> {
        Ok(match self {
            Self::Literal(seconds) => *seconds,
            Self::Step => step,
            Self::Range => range,
            Self::Minus(span) => -span.seconds(range, step)?,
            Self::Binary(op, left, right) => {
                let (left, right) = (left.seconds(range, step)?, right.seconds(range, step)?);
                match op {
                    SpanOp::Add => left + right,
                    SpanOp::Sub => left - right,
                    SpanOp::Mul => left * right,
                    SpanOp::Div if right == 0.0 => return Err("division by zero".to_owned()),
                    SpanOp::Div => left / right,
                    SpanOp::Mod if right == 0.0 => return Err("modulo by zero".to_owned()),
                    SpanOp::Mod => left % right,
                    SpanOp::Pow => left.powf(right),
                    SpanOp::Min => left.min(right),
                    SpanOp::Max => left.max(right),
                }
            }
        })
    }
}
