//! The sink that counts, samples, and writes the text at the end.

use std::io::{self, Read, Seek, Write};

use super::catalogue::Catalogue;
use super::spool::Spool;
use super::tally::{End, Tally};
use super::text;
use crate::cluster::observer::{AttemptOutcome, FleetSample, RankSample, UpdateStage, WorkerSample};
use crate::cluster::request::{Attempt, Request};
use crate::cluster::worker::Worker;
use crate::control::DispatchFailure;
use crate::experiment::Sink;
use crate::experiment::result::Point;
use crate::scenario::Scenario;
use crate::units::{SimTime, Span};

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Why `metrics.om` cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ScrapeError {
    /// The samples cannot be kept until the end.
    #[error("keeping the samples: {0}")]
    Spool(io::Error),
    /// The text cannot be written.
    #[error("writing the text: {0}")]
    Text(io::Error),
}

/// What a Prometheus would have scraped of a run.
#[derive(Debug)]
pub struct Scrape<F> {
    catalogue: Catalogue,
    tally: Tally,
    /// Whether the server notices that a client leaves.
    server_notices: bool,
    /// Milliseconds since 1970 at which simulated time begins.
    epoch: i64,
    /// Dates of the rows of the spool, in seconds since 1970.
    dates: Vec<i64>,
    spool: Spool<F>,
    /// The last sample: it goes to the spool when one of a later second follows.
    row: Vec<f64>,
    date: i64,
    error: Option<io::Error>,
}

impl<F: Read + Write + Seek> Scrape<F> {
    /// Nothing counted yet, at the start of a run of `scenario`; samples are kept in `file`, which is empty, until the end.
    pub fn new(scenario: &Scenario, file: F) -> Self {
        let catalogue = Catalogue::of(scenario);
        let tally = Tally::new(scenario.fleet.worker_count() as usize, scenario.frontend.frontends as usize);
        let mut row = Vec::new();
        catalogue.fill(&tally, &at_start(scenario), &mut row);
        let epoch = scenario.output.metrics_epoch.millis();
        Self {
            spool: Spool::new(file, catalogue.width(), scenario.limits.max_output_bytes),
            catalogue,
            tally,
            server_notices: scenario.clients.server_notices,
            epoch,
            dates: Vec::new(),
            row,
            date: second_of(epoch),
            error: None,
        }
    }

    /// Writes the text.
    ///
    /// # Errors
    /// The samples could not be kept, or the text cannot be written.
    pub fn finish(mut self, out: &mut impl Write) -> Result<(), ScrapeError> {
        self.keep();
        if let Some(error) = self.error.take() {
            return Err(ScrapeError::Spool(error));
        }
        text::write(&self.catalogue, &self.dates, &mut self.spool, out)
    }

    /// Puts the last sample into the spool.
    fn keep(&mut self) {
        if self.error.is_none() {
            self.dates.push(self.date);
            self.error = self.spool.push(&self.row).err();
        }
    }
}

/// The whole second, since 1970, at which a scrape sees what was so at `millis`: nobody scrapes more often, and whole numbers are
/// dates to every reader of Prometheus' formats.
const fn second_of(millis: i64) -> i64 {
    millis.div_euclid(1_000) + (millis.rem_euclid(1_000) > 0) as i64
}

/// What is there before the first event: workers without work.
fn at_start(scenario: &Scenario) -> FleetSample {
    let types = scenario.fleet.types.iter();
    let each = types.flat_map(|t| (0..t.count()).map(move |i| (i < t.workers, t.data_parallel_size)));
    let mut sample = FleetSample { thresholds: scenario.frontend.thresholds, ..FleetSample::default() };
    for (present, ranks) in each {
        sample.workers.push(WorkerSample { present, ..WorkerSample::default() });
        let rank = RankSample { tracked: present.then_some([0, 0]), ..RankSample::default() };
        sample.ranks.extend(std::iter::repeat_n(rank, ranks as usize));
    }
    sample
}

impl<F: Read + Write + Seek> Sink for Scrape<F> {
    fn attempt_started(&mut self) {
        self.tally.started += 1;
    }

    fn first_token(&mut self, now: SimTime, attempt: &Attempt) {
        self.tally.first_token(now, attempt);
    }

    fn migrated(&mut self, failure: DispatchFailure) {
        self.tally.migrated[usize::from(failure == DispatchFailure::StreamCut)] += 1;
    }

    fn worker_rejected(&mut self, worker: u32) {
        self.tally.rejections[Worker::index(worker)] += 1;
    }

    fn attempt(&mut self, now: SimTime, attempt: &Attempt, _: &Request, outcome: &AttemptOutcome) {
        // A server that does not notice works on; the end comes later.
        if *outcome != AttemptOutcome::Cancelled || self.server_notices {
            self.tally.end(now, attempt, End::of(outcome));
        }
    }

    fn orphan_ended(&mut self, now: SimTime, attempt: &Attempt, outcome: &AttemptOutcome) {
        // An answer in full is a success to a server that did not notice; all else nobody was there to be refused.
        let end = if *outcome == AttemptOutcome::Completed { End::Success } else { End::Cancelled };
        self.tally.end(now, attempt, end);
    }

    fn update_reached(&mut self, frontend: u32, stage: UpdateStage, lag: Span) {
        let place = match stage {
            UpdateStage::Noticed => 0,
            UpdateStage::All => 1,
            UpdateStage::Effect => 2,
            UpdateStage::Worker { .. } | UpdateStage::Superseded => return,
        };
        self.tally.lags[frontend as usize][place] = Some(lag);
    }

    fn wants_tracking(&self) -> bool {
        true
    }

    fn interval(&mut self, _: SimTime, now: SimTime, _: &Point, fleet: &FleetSample) {
        let date = self.epoch.saturating_add_unsigned(now.as_nanos() / NANOS_PER_MILLI);
        // Of several samples in a second the last stands.
        let date = second_of(date);
        if date != self.date {
            self.keep();
            self.date = date;
        }
        self.catalogue.fill(&self.tally, fleet, &mut self.row);
    }
}
