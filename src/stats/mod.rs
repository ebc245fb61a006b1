//! What turns recorded values into figures one may believe: quantiles, time-weighted values, thinned series, warm-up
//! cuts, confidence intervals, tests, and the closed forms of queueing theory that the simulator is held against.
//!
//! Recorders work on whole numbers (nanoseconds, counts) and are exact sums, so that their result does not depend on
//! the order in which equal-time events or merged parts come. Floats appear only where a result is read.

mod batch_means;
mod csv_row;
mod intervals;
mod ks;
mod quantiles;
mod rank;
mod ratio;
mod sequential;
mod series;
mod shares;
mod special;
pub mod text;
pub mod theory;
mod time_weighted;
mod trend;
mod warmup;

pub use batch_means::{autocorrelation, batch_means, batch_means_interval};
pub use csv_row::CsvRow;
pub use intervals::{
    Interval, MeanInterval, PairedDifference, mean_interval, paired_difference, quantile_ranks, sample_mean_and_variance,
    unpaired_difference,
};
pub use ks::{KsTest, ks_one_sample, ks_two_sample};
pub use quantiles::{EXACT_LIMIT, QuantileMethod, Quantiles};
pub use rank::RankRule;
pub use ratio::weighted_mean_interval;
pub use sequential::{SequentialTest, Side};
pub use series::{Merge, SeriesPoint, ThinnedSeries};
pub use shares::{ShareInterval, ShareMethod, clopper_pearson, replicated_share, share_interval, wilson};
pub use special::{
    beta_cdf, beta_quantile, binomial_cdf, gamma_cdf, kolmogorov_tail, normal_cdf, normal_quantile, t_cdf, t_quantile,
};
pub use time_weighted::{TimeWeighted, Window};
pub use trend::{Trend, backlog_trend, linear_trend};
pub use warmup::{WarmUp, mser5};
