//! How the numbers of a page came about.

use crate::report::summary::Summary;

/// Of one run.
pub(super) fn run(summary: &Summary) -> Vec<String> {
    let rule = match summary.quantile_method.as_str() {
        "rounded_rank" => "the sample at rank round((n - 1) p)",
        _ => "nearest rank",
    };
    let mut said = vec![
        format!(
            "A discrete-event simulation of one run with seed {}: the control code of request rejection against synthetic workers. \
             The same scenario and seed give the same bytes.",
            summary.seed
        ),
        "Attempts are tries, requests are what users wanted: with retries one request makes several attempts. Refused is always over \
         attempts, lost over requests; 529 and 503 are never added up."
            .to_owned(),
        "The decisive check is the one that alone, unset, would have routed this request, all else as it was; `joint` where none alone would. \
         It is no forecast of a run without that check."
            .to_owned(),
        "Shares of requests within latency targets are over offered requests, so that refusing cannot improve them.".to_owned(),
        format!("Quantiles are {rule}; latencies are those of completed requests ({}).", precision(summary)),
        "Charts over time show at most 600 intervals; where several share a pixel, the lowest and the highest value are drawn. The files \
         have all of them."
            .to_owned(),
    ];
    if summary.measured_from_s > 0.0 {
        said.push(format!(
            "Statistics leave out the warm-up, the first {}; conservation counts it in.",
            crate::report::marks::instant(summary.measured_from_s)
        ));
    }
    if !summary.complete {
        said.push(format!("The run ended early (`{}`): it did not go as far as the scenario asks.", summary.end));
    }
    said
}

fn precision(summary: &Summary) -> &'static str {
    match summary.total.latency.e2e_s.precision.as_str() {
        "exact" => "exact",
        _ => "from a histogram, within 0.05 %",
    }
}

/// Of a sweep.
pub(super) fn sweep() -> Vec<String> {
    [
        "Every cell is simulated several times; replication r uses the same random numbers in every cell (common random numbers), so that \
         differences between cells are sharper than either figure.",
        "Means have Student-t intervals over the replications, shares Wilson's on the effective number of trials (near 0 and 1 that of \
         Clopper and Pearson); all at 95 %.",
        "A target is met if the whole interval meets it, met by the mean if only the mean does.",
        "`cells.csv` has every measure of every cell, `replications.csv` every run, `differences.csv` the paired differences to the baseline.",
    ]
    .map(str::to_owned)
    .to_vec()
}
