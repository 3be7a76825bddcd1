//! Variances, standard deviations, covariances and correlations.

use atsdb_engine::Moments;

/// A function of the moments of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Variance(Population),
    Deviation(Population),
    Covariance(Population),
    Correlation,
}

/// The relation of a group's values to the population whose moment is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Population {
    /// The values are the whole population.
    Whole,
    /// The values are a sample of it. The sum of squares is divided by the number of values minus one.
    Sample,
}

impl Moment {
    /// The function with a name of DataFusion's.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "var" => Self::Variance(Population::Sample),
            "var_pop" => Self::Variance(Population::Whole),
            "stddev" => Self::Deviation(Population::Sample),
            "stddev_pop" => Self::Deviation(Population::Whole),
            "covar_samp" => Self::Covariance(Population::Sample),
            "covar_pop" => Self::Covariance(Population::Whole),
            "corr" => Self::Correlation,
            _ => return None,
        })
    }

    /// The number of the function's arguments.
    pub(super) fn argument_count(self) -> usize {
        match self {
            Self::Variance(_) | Self::Deviation(_) => 1,
            Self::Covariance(_) | Self::Correlation => 2,
        }
    }

    /// The value for a group of `count` values, or pairs of values. `None` if there are too few of them, and for a
    /// correlation also if one side of the pairs is constant.
    pub(super) fn value(self, moments: &Moments, count: u64) -> Option<f64> {
        let mean = |sum: f64, population| {
            let divisor = match population {
                Population::Whole => count,
                Population::Sample => count.saturating_sub(1),
            };
            (divisor > 0).then(|| sum / divisor as f64)
        };
        match self {
            Self::Variance(population) => mean(moments.sum_xx, population),
            Self::Deviation(population) => mean(moments.sum_xx, population).map(f64::sqrt),
            Self::Covariance(population) => mean(moments.sum_xy, population),
            Self::Correlation => {
                let is_constant = moments.sum_xx == 0.0 || moments.sum_yy == 0.0;
                (count > 0 && !is_constant).then(|| moments.sum_xy / (moments.sum_xx.sqrt() * moments.sum_yy.sqrt()))
            }
        }
    }
}
