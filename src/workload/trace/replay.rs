//! From the rows of a file to requests at simulated instants.
//!
//! Stages, each of which pulls from the one before and holds a bounded number of rows: decode and drop; order; window;
//! spread ticks; then cut gaps, scale the rate and start at 0. The time of the source counts from the first row of the
//! file (rows dropped for their tokens included); arrivals count from the first request replayed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::prefix::PrefixUse;
use super::profile::ArrivalProfile;
use super::reader::{RowOutcome, TraceReader, TraceRow};
use super::report::{DropReason, TraceReport, TraceWarning};
use super::timed::{Scale, Timed};
use crate::engine::rng::{SimRng, Streams};
use crate::units::{SimTime, Span};
use crate::workload::config::{PrefixReuse, SessionReplay, TraceConfig};
use crate::workload::error::WorkloadError;

/// Most rows that one width of ticks may hold.
const MOST_SPREAD: usize = 1 << 20;

/// A request of a trace at its simulated instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayedRequest {
    /// Arrival.
    pub arrival: SimTime,
    /// Prompt tokens, after caps and prefix reuse.
    pub input_tokens: u32,
    /// Generated tokens, after caps.
    pub output_tokens: u32,
    /// Index of its class in [`TraceReplay::class_names`]; `None` belongs to the trace's own class.
    pub class: Option<u16>,
    /// Service time at an opaque worker.
    pub service_time: Option<Span>,
    /// The worker asked for.
    pub worker: Option<u32>,
    /// Its session by number, where turns wait for the answer before.
    pub session: Option<u32>,
    /// Sent so long after the end of the turn before it, where turns wait.
    pub delay: Option<Span>,
    /// Line of the file.
    pub line: u64,
}

/// The replay of one trace file: requests in order of arrival, with constant memory.
pub struct TraceReplay {
    config: TraceConfig,
    reader: TraceReader,
    scale: Scale,
    ticks: SimRng,
    /// Rows held to be sorted.
    unordered: BinaryHeap<Reverse<Timed>>,
    /// Rows spread over their tick.
    spread: BinaryHeap<Reverse<Timed>>,
    /// The next row that is not spread yet.
    unspread: Option<Timed>,
    /// The first row of a repetition, which had to be looked at.
    ready: Option<Timed>,
    /// Rows of the present pass that were read.
    pass_rows: u64,
    /// All rows of the pass have been read.
    exhausted: bool,
    /// No row before this one may follow.
    latest: Option<i128>,
    /// First row of the file, on its own clock: source time 0.
    origin: Option<i128>,
    /// Instant of the source and simulated (unscaled) position of the last request.
    last: Option<(i128, i128)>,
    pass: Pass,
    counts: Counts,
    profile: ArrivalProfile,
    prefix: Option<PrefixUse>,
}

/// The present repetition.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    requests: u64,
    first: i128,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    rows: u64,
    emitted: u64,
    dropped: [u64; DropReason::ALL.len()],
    capped: (u64, u64),
    sessions: u64,
    last_arrival: Option<SimTime>,
}

impl TraceReplay {
    /// Opens a trace for replay; ticks are spread by the random stream `trace ticks`.
    ///
    /// # Errors
    /// As [`TraceReader::open`]; also if an option has no meaning or the file has no arrivals.
    pub fn open(config: &TraceConfig, streams: Streams) -> Result<Self, WorkloadError> {
        let options = &config.options;
        let scale = Scale::new(options.rate_scale)?;
        if let (Some(start), Some(end)) = (options.window_start, options.window_end)
            && end < start
        {
            let problem = format!("`{end}` is before the window's start `{start}`: expected a later end");
            return Err(WorkloadError::parameter("trace.window_end", problem, "both count from the first row of the trace"));
        }
        for (field, cap) in
            [("trace.max_input_tokens", options.max_input_tokens), ("trace.max_output_tokens", options.max_output_tokens)]
        {
            if cap == Some(0) {
                return Err(WorkloadError::parameter(
                    field,
                    "`0` tokens are no cap: expected 1 or more",
                    "leave it out to keep lengths as they are",
                ));
            }
        }
        if options.repeat && super::lines::is_stdin(&config.path) {
            let problem = "standard input can be read once only: expected a file";
            return Err(WorkloadError::parameter("trace.repeat", problem, "write the trace to a file first"));
        }
        if options.repeat && options.sessions == SessionReplay::Follow {
            let problem = "a trace whose sessions are followed has no end to start again after: expected one of the two";
            return Err(WorkloadError::parameter("trace.repeat", problem, "leave out `repeat`, or `sessions = \"follow\"`"));
        }
        let reader = TraceReader::open(config)?;
        if !reader.has_arrivals() {
            let problem = "the file has lengths but no arrivals: expected a trace";
            let hint = "use it as an empirical length distribution, and give the stream an arrival process";
            return Err(WorkloadError::File { path: config.path.clone(), problem: problem.into(), hint: hint.into() });
        }
        Ok(Self {
            config: config.clone(),
            reader,
            scale,
            ticks: streams.stream("trace ticks", 0),
            unordered: BinaryHeap::new(),
            spread: BinaryHeap::new(),
            unspread: None,
            ready: None,
            pass_rows: 0,
            exhausted: false,
            latest: None,
            origin: None,
            last: None,
            pass: Pass::default(),
            counts: Counts::default(),
            profile: ArrivalProfile::new(),
            prefix: None,
        })
    }

    /// Whether rows may ask for one worker.
    pub(in crate::workload) fn names_workers(&self) -> bool {
        self.reader.names_workers()
    }

    /// Names of the classes that rows have named so far.
    pub fn class_names(&self) -> &[String] {
        self.reader.class_names()
    }

    /// The next request; `None` at the end.
    ///
    /// # Errors
    /// As [`TraceReader::next`]; also if a row is out of order, or if rows would be dropped in strict mode.
    #[expect(clippy::should_implement_trait, reason = "a row may be an error after which no other follows")]
    pub fn next(&mut self) -> Result<Option<ReplayedRequest>, WorkloadError> {
        loop {
            let ready = self.ready.take();
            if let Some(timed) = if ready.is_some() { ready } else { self.next_spread()? } {
                return self.place(timed).map(Some);
            }
            if !self.config.options.repeat || self.pass.requests == 0 {
                return Ok(None);
            }
            self.start_again()?;
        }
    }

    /// The next row that is a request, dropped rows counted; its prefix is looked up in the order of the file.
    fn next_kept(&mut self) -> Result<Option<TraceRow>, WorkloadError> {
        while self.config.options.max_rows.is_none_or(|most| self.pass_rows < most) {
            let Some(outcome) = self.reader.next()? else { break };
            self.pass_rows += 1;
            self.counts.rows += 1;
            let row = match outcome {
                RowOutcome::Request(row) => row,
                RowOutcome::Skipped(reason) => {
                    self.drop_row(reason, self.reader.line())?;
                    continue;
                }
            };
            self.note_origin(row.arrival);
            match self.zero_reason(&row) {
                Some(reason) => self.drop_row(reason, row.line)?,
                None => return Ok(Some(self.discount(row))),
            }
        }
        self.exhausted = true;
        Ok(None)
    }

    /// Source time 0 is the first row of the file, in order of arrival as far as the format's own disorder goes.
    fn note_origin(&mut self, arrival: Option<i128>) {
        let simulated = self.reader.is_simulated();
        let arrival = arrival.filter(|_| !simulated).unwrap_or(0);
        if self.latest.is_none() {
            self.origin = Some(self.origin.map_or(arrival, |origin| origin.min(arrival)));
        }
    }

    fn zero_reason(&self, row: &TraceRow) -> Option<DropReason> {
        match (row.input_tokens, row.output_tokens) {
            (0, 0) => Some(DropReason::NoTokens),
            (0, _) if !self.reader.is_simulated() => Some(DropReason::NoInput),
            (_, 0) => Some(DropReason::NoOutput),
            _ => None,
        }
    }

    fn drop_row(&mut self, reason: DropReason, line: u64) -> Result<(), WorkloadError> {
        // Rows of other kinds belong into such a file, and a window is asked for: neither is a fault of the file.
        let expected = matches!(reason, DropReason::OtherEvent | DropReason::OutsideWindow);
        if self.config.options.strict && !expected {
            let problem = format!("the row would be dropped ({}): expected a request, in strict mode", reason.name());
            return Err(self.reader.row_error(line, problem, "leave out `strict` to drop and count such rows"));
        }
        self.counts.dropped[reason as usize] += 1;
        Ok(())
    }

    /// Counts reusable leading blocks, and takes them off if asked to; at least one token is always computed.
    fn discount(&mut self, mut row: TraceRow) -> TraceRow {
        let ids = self.reader.hash_ids();
        if ids.is_empty() {
            return row;
        }
        let discount = self.config.options.prefix_reuse == PrefixReuse::Discount;
        let prefix = self.prefix.get_or_insert_with(|| if discount { PrefixUse::exact() } else { PrefixUse::bounded() });
        let reusable = prefix.add(ids, row.input_tokens, row.block_size);
        if prefix.full {
            self.reader.skip_hash_ids();
        }
        if discount {
            row.input_tokens = (row.input_tokens - reusable).max(1);
        }
        row
    }

    /// Turns wait for the answer before them.
    fn follows(&self) -> bool {
        self.config.options.sessions == SessionReplay::Follow
    }

    /// The next row in order of arrival.
    fn next_ordered(&mut self) -> Result<Option<Timed>, WorkloadError> {
        let window = if self.config.options.sort || self.follows() { usize::MAX } else { self.reader.window() };
        while !self.exhausted && self.unordered.len() < window {
            if let Some(row) = self.next_kept()? {
                let at = row.arrival.expect("files without arrivals are refused at opening");
                self.unordered.push(Reverse(Timed { at, row }));
            }
        }
        let Some(Reverse(timed)) = self.unordered.pop() else { return Ok(None) };
        if let Some(latest) = self.latest.filter(|latest| timed.at < *latest) {
            let by = Span::from_nanos(u64::try_from(latest - timed.at).unwrap_or(u64::MAX));
            let held = if window == 1 { String::new() } else { format!(", more than {window} rows out of order") };
            let problem = format!("the row arrives {by} before one above it{held}: expected rows in order of arrival");
            let hint = "sort the file (`shedcast trace convert --sort`), or set `sort = true` if it fits in memory";
            return Err(self.reader.row_error(timed.row.line, problem, hint));
        }
        self.latest = Some(timed.at);
        Ok(Some(timed))
    }

    /// The next row within the time window; reading stops behind it.
    fn next_windowed(&mut self) -> Result<Option<Timed>, WorkloadError> {
        let options = &self.config.options;
        let nanos = |span: Span| i128::from(span.as_nanos());
        let (start, end) = (options.window_start.map(nanos), options.window_end.map(nanos));
        while let Some(timed) = self.next_ordered()? {
            let offset = timed.at - self.origin.unwrap_or(0);
            if start.is_some_and(|start| offset < start) {
                self.drop_row(DropReason::OutsideWindow, timed.row.line)?;
            } else if end.is_some_and(|end| offset > end) {
                self.drop_row(DropReason::OutsideWindow, timed.row.line)?;
                while let Some(Reverse(later)) = self.unordered.pop() {
                    self.drop_row(DropReason::OutsideWindow, later.row.line)?;
                }
                self.exhausted = true;
                return Ok(None);
            } else {
                return Ok(Some(timed));
            }
        }
        Ok(None)
    }

    /// The next row after ticks are spread: each moves by a random span below the width, so those of the ticks within
    /// one width are held.
    fn next_spread(&mut self) -> Result<Option<Timed>, WorkloadError> {
        let Some(width) = self.config.options.dequantise.filter(|w| !w.is_zero()) else { return self.next_windowed() };
        loop {
            if self.unspread.is_none() {
                self.unspread = self.next_windowed()?;
            }
            let first = self.spread.peek().map(|Reverse(timed)| timed.at);
            match self.unspread.take_if(|next| first.is_none_or(|first| next.at <= first)) {
                Some(mut timed) => {
                    timed.at += i128::from(self.ticks.below(width.as_nanos()));
                    self.spread.push(Reverse(timed));
                }
                None => return Ok(self.spread.pop().map(|Reverse(timed)| timed)),
            }
            if self.spread.len() > MOST_SPREAD {
                let problem = format!("`{width}` holds more than {MOST_SPREAD} rows: expected the width of one tick");
                return Err(WorkloadError::parameter("trace.dequantise", problem, "`trace inspect` shows the ticks of a file"));
            }
        }
    }

    /// Gives a row its simulated instant: gaps cut, rate scaled, the first one at 0.
    fn place(&mut self, timed: Timed) -> Result<ReplayedRequest, WorkloadError> {
        self.profile_first_pass(timed.at);
        let position = match self.last {
            Some((before, position)) => {
                let longest = self.config.options.max_gap.map_or(i128::MAX, |gap| i128::from(gap.as_nanos()));
                position + (timed.at - before).min(longest)
            }
            // A simulated clock starts at 0, or with the window.
            None if self.reader.is_simulated() => {
                timed.at - self.config.options.window_start.map_or(0, |start| i128::from(start.as_nanos()))
            }
            None => 0,
        };
        if self.pass.requests == 0 {
            self.pass.first = position;
        }
        self.pass.requests += 1;
        self.last = Some((timed.at, position));
        let too_late = |_| {
            let problem = "the row arrives more than 584 years after the first, or before time 0: expected times of one clock";
            self.reader.row_error(
                timed.row.line,
                problem,
                "set the trace's time unit (s, ms, us, ns) if it was recognised wrongly",
            )
        };
        let nanos = u64::try_from(self.scale.apply(position)).map_err(too_late)?;
        let arrival = SimTime::from_nanos(nanos);
        self.counts.emitted += 1;
        self.counts.last_arrival = Some(arrival);
        let follows = self.follows();
        self.counts.sessions += u64::from(timed.row.in_session);
        let TraceRow { class, service_time, worker, line, .. } = timed.row;
        let (session, delay) = if follows { (timed.row.session, timed.row.delay) } else { (None, None) };
        let (input_tokens, output_tokens) = self.capped(&timed.row);
        Ok(ReplayedRequest { arrival, input_tokens, output_tokens, class, service_time, worker, session, delay, line })
    }

    fn profile_first_pass(&mut self, at: i128) {
        if self.counts.emitted == self.pass.requests {
            self.profile.add(at);
        }
    }

    fn capped(&mut self, row: &TraceRow) -> (u32, u32) {
        let options = &self.config.options;
        let input = options.max_input_tokens.map_or(row.input_tokens, |cap| row.input_tokens.min(cap));
        let output = options.max_output_tokens.map_or(row.output_tokens, |cap| row.output_tokens.min(cap));
        self.counts.capped.0 += u64::from(input < row.input_tokens);
        self.counts.capped.1 += u64::from(output < row.output_tokens);
        (input, output)
    }

    /// Opens the file once more; its first request follows the last one by the mean gap.
    fn start_again(&mut self) -> Result<(), WorkloadError> {
        let (_, position) = self.last.expect("a pass that is repeated had requests");
        let gap = (position - self.pass.first) / i128::from((self.pass.requests - 1).max(1));
        if gap == 0 {
            let problem = "all requests arrive at one instant: expected a span of time to repeat";
            return Err(WorkloadError::File {
                path: self.config.path.clone(),
                problem: problem.into(),
                hint: "leave out `repeat`".into(),
            });
        }
        let names = self.reader.class_names().to_vec();
        self.reader = TraceReader::open(&self.config)?;
        self.reader.keep_class_names(names);
        (self.pass_rows, self.exhausted, self.latest, self.origin) = (0, false, None, None);
        self.pass = Pass::default();
        if let Some(prefix) = &mut self.prefix {
            prefix.forget();
        }
        let first = self.next_spread()?;
        let Some(first) = first else { return Ok(()) };
        self.last = Some((first.at - gap, position));
        self.ready = Some(first);
        Ok(())
    }

    /// The account so far. Rows that are held count as dropped, because no request has come of them.
    pub fn report(&self) -> TraceReport {
        let counts = &self.counts;
        let mut dropped = counts.dropped;
        let held = counts.rows - counts.emitted - dropped.iter().sum::<u64>();
        dropped[DropReason::AfterTheEnd as usize] += held;
        TraceReport {
            path: self.reader.path().to_owned(),
            format: self.reader.format(),
            rows_read: counts.rows,
            emitted: counts.emitted,
            dropped,
            last_arrival: counts.last_arrival,
            warnings: self.warnings(),
        }
    }

    fn warnings(&self) -> Vec<TraceWarning> {
        let counts = &self.counts;
        let mut warnings = self.profile.warnings(self.reader.unit());
        if self.config.options.dequantise.is_some() {
            warnings.retain(|w| !matches!(w, TraceWarning::Ticks { .. }));
        }
        if let Some(prefix) = self.prefix.as_ref().filter(|prefix| prefix.share() > 0.0) {
            let discounted = self.config.options.prefix_reuse == PrefixReuse::Discount;
            warnings.push(TraceWarning::PrefixReuse { share: prefix.share(), rows: prefix.rows, discounted });
        }
        warnings.extend(self.prefix.as_ref().and_then(PrefixUse::block_doubt));
        match (self.follows(), counts.sessions) {
            (true, 0) if counts.emitted > 0 => warnings.push(TraceWarning::NoSessions),
            (true, _) | (false, 0) => {}
            (false, rows) => warnings.push(TraceWarning::SessionsFlattened { rows }),
        }
        if counts.capped != (0, 0) {
            warnings.push(TraceWarning::Capped { inputs: counts.capped.0, outputs: counts.capped.1 });
        }
        if counts.emitted == 0 && self.exhausted {
            let windowed = counts.dropped[DropReason::OutsideWindow as usize] > 0;
            warnings.push(if windowed { TraceWarning::NoRowsInWindow } else { TraceWarning::NoRows });
        }
        warnings
    }
}

#[cfg(test)]
mod tests;
