//! `shedcast verify`: how far to believe it.

use std::path::Path;
use std::sync::Arc;

use super::args::SummaryFormat;
use super::interrupt::stop_on_interrupt;
use super::run::{set_options, tell_files};
use super::terminal::Terminal;
use super::verify_args::VerifyArgs;
use super::{ExitStatus, Failure};
use crate::cluster::Remote;
use crate::report::verification::{against_json, against_text, tables_json, tables_text};
use crate::scenario::Scenario;
use crate::units::Span;
use crate::verify::against::{AgainstOptions, against};
use crate::verify::aisimulate::aisimulate;
use crate::verify::counters::Counters;
use crate::verify::fidelity::{Recording, fidelity};
use crate::verify::theory::theory;
use crate::verify::{CheckTable, VerifyError};

/// Makes every check and prints the tables.
pub(super) fn verify(args: &VerifyArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let remote = Arc::new(Remote::default());
    stop_on_interrupt(&remote);
    if let (Some(counters), Some(scenario)) = (&args.against, &args.target) {
        return hold_against(args, counters, scenario, &remote, terminal);
    }
    // Recordings are read first: a wrong path should not cost a minute.
    let recordings = args.target.as_deref().map(Recording::all).transpose()?.unwrap_or_default();
    let mut tables = vec![theory(&remote)?, aisimulate(&remote)?];
    for recording in &recordings {
        tables.extend(fidelity(recording)?);
    }
    terminal.print(&match args.format {
        SummaryFormat::Table => tables_text(&tables).into_bytes(),
        SummaryFormat::Json => tables_json(&tables),
    })?;
    Ok(if tables.iter().all(CheckTable::passed) { ExitStatus::Success } else { ExitStatus::AnsweredNo })
}

fn hold_against(
    args: &VerifyArgs,
    counters: &Path,
    scenario: &Path,
    remote: &Remote,
    terminal: &Terminal,
) -> Result<ExitStatus, Failure> {
    let seconds = |name: &str, text: &str| -> Result<f64, Failure> {
        let span: Span = text.parse().map_err(|error| Failure::Verify(format!("{name} `{text}`: {error}")))?;
        Ok(span.as_secs_f64())
    };
    let positive = |name: &str, text: &Option<String>| -> Result<Option<f64>, Failure> {
        let Some(text) = text else { return Ok(None) };
        match seconds(name, text)? {
            value if value > 0.0 => Ok(Some(value)),
            _ => Err(Failure::Verify(format!("{name} `{text}`: expected a time above 0"))),
        }
    };
    if !(0.0..=10.0).contains(&args.tolerance) {
        return Err(Failure::Verify(format!("--tolerance `{}`: expected a share, such as 0.1", args.tolerance)));
    }
    let options = AgainstOptions {
        window: positive("--window", &args.window)?,
        start: seconds("--start", &args.start)?,
        tolerance: args.tolerance,
    };
    let scenario = tell_files(Scenario::load(scenario, &set_options(&args.sets)?)?, terminal);
    let counters = Counters::read(counters, positive("--scrape-interval", &args.scrape_interval)?)?;
    let found = against(&counters, &scenario, &options, remote)?;
    terminal.print(&match args.format {
        SummaryFormat::Table => against_text(&found).into_bytes(),
        SummaryFormat::Json => against_json(&found),
    })?;
    Ok(if found.agrees() { ExitStatus::Success } else { ExitStatus::AnsweredNo })
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Scenario(faults) => Self::Scenario(faults),
            VerifyError::Workload(error) => Self::Workload(error),
            VerifyError::Recording(error) => Self::Calibration(error),
            VerifyError::Interrupted => Self::Interrupted("interrupted: nothing was verified".to_owned()),
            VerifyError::Other(text) => Self::Verify(text),
        }
    }
}
