//! The router's own tracking of what it sent where (kv mode), and the kv cost made of it.

use super::ids::WorkerId;
use super::min_index::{MinIndex, OUT};
use super::monitor::SchedulerLoad;
use super::output_growth::OutputGrowth;
use super::picker::Choose;

/// What the tracking counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackingOptions {
    block_size: u64,
    output_blocks: bool,
    prefill_tokens: bool,
    active_blocks: bool,
}

/// Why options cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrackingOptionsError {
    /// No tokens in a block.
    #[error("kv_cache_block_size must be 1 or more")]
    NoBlockSize,
    /// Output blocks would be added to prompt blocks that are not counted.
    #[error("router_track_output_blocks needs router_track_active_blocks")]
    OutputWithoutActive,
}

impl TrackingOptions {
    /// `router_track_output_blocks` off, the other two on; `block_size` in tokens.
    ///
    /// # Errors
    /// A block size of 0.
    pub const fn new(block_size: u32) -> Result<Self, TrackingOptionsError> {
        if block_size == 0 {
            return Err(TrackingOptionsError::NoBlockSize);
        }
        Ok(Self { block_size: block_size as u64, output_blocks: false, prefill_tokens: true, active_blocks: true })
    }

    /// These options with the three `router_track_*` settings.
    ///
    /// # Errors
    /// Output blocks without active blocks.
    pub const fn with(self, output: bool, prefill: bool, active: bool) -> Result<Self, TrackingOptionsError> {
        if output && !active {
            return Err(TrackingOptionsError::OutputWithoutActive);
        }
        Ok(Self { output_blocks: output, prefill_tokens: prefill, active_blocks: active, ..self })
    }

    /// `router_track_output_blocks`.
    pub const fn output_blocks(&self) -> bool {
        self.output_blocks
    }

    /// The kv cost of a rank with these tracked loads for a prompt of `isl` tokens that shares nothing:
    /// `(prefill + isl) / block_size` as floats, plus the whole blocks tracked and to come. A side that is not
    /// tracked costs 0.
    #[inline]
    pub fn cost(&self, active_prefill_tokens: u64, active_decode_blocks: u64, isl: u64) -> f64 {
        let prefill =
            if self.prefill_tokens { active_prefill_tokens.saturating_add(isl) as f64 / self.block_size as f64 } else { 0.0 };
        let blocks = if self.active_blocks { active_decode_blocks.saturating_add(isl / self.block_size) as f64 } else { 0.0 };
        prefill + blocks
    }

    /// The cost of a rank times the block size, less what is the same for every rank: a whole number by which ranks can be
    /// ordered ([`RouterTracking::choose`] says how far).
    #[inline]
    fn key(&self, active_prefill_tokens: u64, active_decode_blocks: u64) -> u64 {
        let prefill = if self.prefill_tokens { active_prefill_tokens } else { 0 };
        let blocks = if self.active_blocks { active_decode_blocks } else { 0 };
        prefill.saturating_add(blocks.saturating_mul(self.block_size)).min(OUT - 1)
    }

    /// Blocks a request holds after `generated` tokens: the whole blocks of its prompt, and what the output added.
    fn held(&self, isl: u64, generated: u64) -> u64 {
        if !self.active_blocks {
            return 0;
        }
        isl / self.block_size + (isl + generated).div_ceil(self.block_size) - isl.div_ceil(self.block_size)
    }
}

/// A booking, named by the caller: a small number, used again once its booking has ended. Memory follows the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookingId(pub u32);

/// Why a booking is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookingError {
    /// Its id is in use.
    #[error("a request is booked under this id already")]
    AlreadyBooked,
    /// The rank is not declared.
    #[error("rank {rank} of worker {worker} is not tracked")]
    UnknownRank {
        /// The worker.
        worker: WorkerId,
        /// The rank.
        rank: u32,
    },
    /// A length no request has.
    #[error("a prompt of {0} tokens is longer than the tracking counts")]
    PromptTooLong(u64),
}

/// Longest prompt and output the tracking counts, in tokens: sums of any number of live bookings stay in range.
pub const MAX_TRACKED_TOKENS: u64 = 1 << 40;

#[derive(Clone, Copy, Debug)]
struct Booking {
    /// Place of its rank.
    at: u32,
    isl: u64,
    /// Its prefill tokens still count.
    prefilling: bool,
    /// Output tokens when they were last said one by one, or when it joined the rank's common steps.
    generated: u64,
    /// The rank's common step count when it joined them; `None` outside.
    joined: Option<u64>,
}

/// What one frontend sent where, rank by rank.
///
/// Loads stand in arrays by rank in the order (worker, rank), which makes the choice of the lowest cost one tight pass.
#[derive(Clone, Debug)]
pub struct RouterTracking {
    options: TrackingOptions,
    ranks: Vec<(WorkerId, u32)>,
    prefill: Vec<u64>,
    blocks: Vec<u64>,
    /// [`TrackingOptions::key`] of each rank.
    keys: Vec<u64>,
    /// Whether the rank's worker is one of the candidates.
    candidate: Vec<bool>,
    /// The keys of the candidates, but for those of the places in `moved`.
    index: MinIndex,
    /// Places whose keys changed since [`Self::settle`], each once, and whether a place is one of them. What is booked and refused within
    /// an instant is back at its old key before anybody chooses.
    moved: Vec<u32>,
    has_moved: Vec<bool>,
    growth: Vec<OutputGrowth>,
    /// Each worker's ranks: from, to.
    workers: Vec<(WorkerId, u32, u32)>,
    bookings: Vec<Option<Booking>>,
}

impl RouterTracking {
    /// Tracking without any rank.
    pub fn new(options: TrackingOptions) -> Self {
        let (ranks, prefill, blocks, keys, candidate, index, moved, has_moved) = Default::default();
        let (growth, workers, bookings) = Default::default();
        Self { options, ranks, prefill, blocks, keys, candidate, index, moved, has_moved, growth, workers, bookings }
    }

    /// Tracking that stands at these loads without knowing the bookings behind them; the last entry of a rank counts.
    pub fn at_loads(options: TrackingOptions, loads: &[SchedulerLoad]) -> Self {
        let mut tracking = Self::new(options);
        tracking.set_ranks(loads.iter().map(|load| (load.worker, load.rank)));
        for load in loads {
            let at = tracking.place(load.worker, load.rank).expect("its rank was just set");
            tracking.prefill[at] = load.active_prefill_tokens;
            tracking.blocks[at] = load.active_decode_blocks;
            tracking.note_key(at);
        }
        tracking
    }

    /// The options.
    pub fn options(&self) -> TrackingOptions {
        self.options
    }

    /// The ranks are now exactly these. One that is gone loses its bookings, one that comes starts at 0 and is no candidate
    /// until [`Self::set_candidate`] says so; nothing is published.
    pub fn set_ranks(&mut self, ranks: impl IntoIterator<Item = (WorkerId, u32)>) {
        let mut new: Vec<(WorkerId, u32)> = ranks.into_iter().collect();
        new.sort_unstable();
        new.dedup();
        if new == self.ranks {
            return;
        }
        for slot in &mut self.bookings {
            *slot = slot.and_then(|booking| {
                let at = new.binary_search(&self.ranks[booking.at as usize]).ok()?;
                Some(Booking { at: at as u32, ..booking })
            });
        }
        let old = |key: &(WorkerId, u32)| self.ranks.binary_search(key).ok();
        let prefill = new.iter().map(|key| old(key).map_or(0, |at| self.prefill[at])).collect();
        let blocks = new.iter().map(|key| old(key).map_or(0, |at| self.blocks[at])).collect();
        let growth = new.iter().map(|key| old(key).map(|at| self.growth[at].clone()).unwrap_or_default()).collect();
        let candidate = new.iter().map(|key| old(key).is_some_and(|at| self.candidate[at])).collect();
        (self.prefill, self.blocks, self.growth, self.candidate) = (prefill, blocks, growth, candidate);
        self.workers.clear();
        for (at, &(worker, _)) in new.iter().enumerate() {
            match self.workers.last_mut() {
                Some((last, _, end)) if *last == worker => *end = at as u32 + 1,
                _ => self.workers.push((worker, at as u32, at as u32 + 1)),
            }
        }
        self.ranks = new;
        self.keys = (0..self.ranks.len()).map(|at| self.options.key(self.prefill[at], self.blocks[at])).collect();
        self.rebuild_index();
    }

    fn rebuild_index(&mut self) {
        let keys = self.keys.iter().zip(&self.candidate);
        self.index = MinIndex::new(keys.map(|(&key, &candidate)| if candidate { key } else { OUT }));
        self.moved.clear();
        self.has_moved.clear();
        self.has_moved.resize(self.ranks.len(), false);
    }

    /// The loads of the rank at `at` changed.
    #[inline]
    fn note_key(&mut self, at: usize) {
        let key = self.options.key(self.prefill[at], self.blocks[at]);
        if self.keys[at] != key {
            self.keys[at] = key;
            if !std::mem::replace(&mut self.has_moved[at], true) {
                self.moved.push(at as u32);
            }
        }
    }

    /// Brings the order of the candidates up to date, before [`Self::choose_candidate`].
    #[inline]
    pub fn settle(&mut self) {
        while let Some(at) = self.moved.pop() {
            let at = at as usize;
            self.has_moved[at] = false;
            self.index.set(at, if self.candidate[at] { self.keys[at] } else { OUT });
        }
    }

    /// Whether `worker` is a candidate of [`Self::choose_candidate`].
    pub fn set_candidate(&mut self, worker: WorkerId, candidate: bool) {
        let Some(found) = self.place_of_worker(worker) else { return };
        let (_, from, to) = self.workers[found];
        for at in from as usize..to as usize {
            if self.candidate[at] != candidate {
                self.candidate[at] = candidate;
                self.index.set(at, if candidate { self.keys[at] } else { OUT });
            }
        }
    }

    /// The candidates of [`Self::choose_candidate`] are exactly those of `workers` (ascending) that are tracked.
    pub fn set_candidates(&mut self, workers: &[WorkerId]) {
        self.candidate = self.ranks.iter().map(|(worker, _)| workers.binary_search(worker).is_ok()).collect();
        self.rebuild_index();
    }

    /// Where the rank stands.
    #[inline]
    fn place(&self, worker: WorkerId, rank: u32) -> Option<usize> {
        // Workers number their ranks from 0 almost always: the first guess is right.
        let (_, from, _) = self.workers.get(self.place_of_worker(worker)?)?;
        let guess = *from as usize + rank as usize;
        if self.ranks.get(guess) == Some(&(worker, rank)) {
            return Some(guess);
        }
        self.ranks.binary_search(&(worker, rank)).ok()
    }

    /// Where the worker stands among those with ranks.
    #[inline]
    fn place_of_worker(&self, worker: WorkerId) -> Option<usize> {
        // Fleets number workers in a row almost always.
        let (first, _, _) = self.workers.first()?;
        let guess = worker.0.wrapping_sub(first.0) as usize;
        if self.workers.get(guess).is_some_and(|(id, _, _)| *id == worker) {
            return Some(guess);
        }
        self.workers.binary_search_by_key(&worker, |(id, _, _)| *id).ok()
    }

    /// What a publication of the rank at `at` says.
    #[inline]
    fn load(&self, at: usize) -> SchedulerLoad {
        let (worker, rank) = self.ranks[at];
        SchedulerLoad { worker, rank, active_decode_blocks: self.blocks[at], active_prefill_tokens: self.prefill[at] }
    }

    /// A request of `isl` prompt tokens is about to be sent to the rank. Returns what is published of the rank.
    ///
    /// # Errors
    /// An id in use, a rank that is not tracked, a prompt beyond [`MAX_TRACKED_TOKENS`].
    pub fn book(&mut self, id: BookingId, worker: WorkerId, rank: u32, isl: u64) -> Result<SchedulerLoad, BookingError> {
        if isl > MAX_TRACKED_TOKENS {
            return Err(BookingError::PromptTooLong(isl));
        }
        let at = self.place(worker, rank).ok_or(BookingError::UnknownRank { worker, rank })?;
        let slot = id.0 as usize;
        if slot >= self.bookings.len() {
            self.bookings.resize(slot + 1, None);
        }
        if self.bookings[slot].is_some() {
            return Err(BookingError::AlreadyBooked);
        }
        let prefilling = self.options.prefill_tokens && isl > 0;
        self.bookings[slot] = Some(Booking { at: at as u32, isl, prefilling, generated: 0, joined: None });
        self.blocks[at] += self.options.held(isl, 0);
        self.prefill[at] += if prefilling { isl } else { 0 };
        self.note_key(at);
        Ok(self.load(at))
    }

    #[inline]
    fn booking(&mut self, id: BookingId) -> Option<&mut Booking> {
        self.bookings.get_mut(id.0 as usize)?.as_mut()
    }

    /// Takes the booking's prefill tokens off its rank; the rank's place where there were any.
    fn end_prefill(&mut self, id: BookingId) -> Option<usize> {
        let booking = self.booking(id)?;
        if !std::mem::take(&mut booking.prefilling) {
            return None;
        }
        let (at, isl) = (booking.at as usize, booking.isl);
        self.prefill[at] -= isl;
        self.note_key(at);
        Some(at)
    }

    /// The prefill side of the first output token. Publishes only if that removed prefill tokens. Of an id that is not
    /// booked it does nothing.
    pub fn first_token(&mut self, id: BookingId) -> Option<SchedulerLoad> {
        self.end_prefill(id).map(|at| self.load(at))
    }

    /// The worker's own first-token event: removes the prefill tokens silently, if it names the booking's rank.
    pub fn worker_mark(&mut self, id: BookingId, worker: WorkerId, rank: u32) {
        let place = self.place(worker, rank);
        if self.booking(id).is_some_and(|b| Some(b.at as usize) == place) {
            self.end_prefill(id);
        }
    }

    /// The request has generated `generated` tokens so far, in all. Publishes nothing; a number that is not larger than
    /// the last does nothing, nor does an id that is not booked. Tokens beyond [`MAX_TRACKED_TOKENS`] are not counted.
    pub fn output(&mut self, id: BookingId, generated: u64) {
        let generated = generated.min(MAX_TRACKED_TOKENS);
        if !self.options.output_blocks {
            return;
        }
        let joined = self.booking(id).is_some_and(|b| b.joined.is_some());
        self.set_in_step(id, false);
        let options = self.options;
        if let Some(booking) = self.booking(id).filter(|b| generated > b.generated) {
            let (at, grown) = (booking.at as usize, options.held(booking.isl, generated));
            let before = options.held(booking.isl, booking.generated);
            booking.generated = generated;
            self.blocks[at] += grown - before;
            self.note_key(at);
        }
        self.set_in_step(id, joined);
    }

    /// Whether the request takes part in the common steps of its rank ([`Self::step`]): from its first token on, except
    /// while preempted.
    pub fn set_in_step(&mut self, id: BookingId, in_step: bool) {
        if !self.options.output_blocks {
            return;
        }
        let block_size = self.options.block_size;
        let Some(Some(booking)) = self.bookings.get_mut(id.0 as usize) else { return };
        let growth = &mut self.growth[booking.at as usize];
        match booking.joined {
            None if in_step => {
                growth.join(booking.isl + booking.generated, block_size);
                booking.joined = Some(growth.steps());
            }
            Some(since) if !in_step => {
                booking.generated += growth.steps() - since;
                booking.joined = None;
                growth.leave(booking.isl + booking.generated, block_size);
            }
            _ => {}
        }
    }

    /// Every request in step on the rank generated `tokens` more tokens: the same as [`Self::output`] for each, at a cost
    /// of at most a block's worth of additions. Publishes nothing.
    pub fn step(&mut self, worker: WorkerId, rank: u32, tokens: u64) {
        if let Some(at) = self.place(worker, rank).filter(|_| self.options.output_blocks) {
            self.blocks[at] += self.growth[at].advance(tokens, self.options.block_size);
            self.note_key(at);
        }
    }

    /// The request is over: completed, cancelled, refused or failed. Publishes its rank even if no number changed; of an
    /// id that is not booked, nothing.
    pub fn end(&mut self, id: BookingId) -> Option<SchedulerLoad> {
        self.set_in_step(id, false);
        let booking = self.bookings.get_mut(id.0 as usize)?.take()?;
        let at = booking.at as usize;
        self.prefill[at] -= if booking.prefilling { booking.isl } else { 0 };
        self.blocks[at] -= self.options.held(booking.isl, booking.generated);
        self.note_key(at);
        Some(self.load(at))
    }

    /// Where the booking stands, while it does.
    pub fn booked_on(&self, id: BookingId) -> Option<(WorkerId, u32)> {
        let booking = self.bookings.get(id.0 as usize)?.as_ref()?;
        Some(self.ranks[booking.at as usize])
    }

    /// The tracked loads of every rank, ascending by (worker, rank).
    pub fn loads(&self) -> impl Iterator<Item = SchedulerLoad> {
        (0..self.ranks.len()).map(|at| self.load(at))
    }

    /// The tracked load of one rank.
    pub fn load_of(&self, worker: WorkerId, rank: u32) -> Option<SchedulerLoad> {
        self.place(worker, rank).map(|at| self.load(at))
    }

    /// The places of those of `workers` (ascending) that are tracked, less those `tried`.
    fn places<'a>(&'a self, workers: &'a [WorkerId], tried: &'a [WorkerId]) -> impl Iterator<Item = usize> + Clone + 'a {
        let mut known = self.workers.iter().peekable();
        let spans = workers.iter().filter_map(move |&worker| {
            while known.next_if(|(id, _, _)| *id < worker).is_some() {}
            let &&(id, from, to) = known.peek()?;
            (id == worker && !tried.contains(&worker)).then_some(from as usize..to as usize)
        });
        spans.flatten()
    }

    /// The rank of the lowest kv cost for a prompt of `isl` tokens over all ranks of `workers` (ascending) but those
    /// `tried`; of equals one evenly at random. `None` where no rank is left.
    ///
    /// Ranks are ordered by whole numbers, and only those with the lowest one are compared by the cost as a float. That is
    /// exact: two costs that differ do so by a whole multiple of 1 / `block_size`, and below 2^48 tokens the cost's two
    /// roundings are too small to hide that. A block size that is a power of two rounds nothing at all. Beyond that size
    /// every float is looked at.
    pub fn choose(
        &self,
        isl: u64,
        workers: &[WorkerId],
        tried: &[WorkerId],
        choose: &mut impl Choose,
    ) -> Option<(WorkerId, u32)> {
        let places = self.places(workers, tried);
        let (mut lowest, mut tied) = (OUT, 0);
        for at in places.clone() {
            match self.keys[at] {
                key if key < lowest => (lowest, tied) = (key, 1),
                key => tied += u32::from(key == lowest),
            }
        }
        let at = match (tied, self.rounding(lowest, isl)) {
            (0, _) => return None,
            (_, Rounding::Large) => self.lowest_cost(places, isl, choose),
            (_, Rounding::Small) => self.lowest_cost(places.filter(|&at| self.keys[at] == lowest), isl, choose),
            (_, Rounding::None) => {
                let n = below(tied, choose);
                places.filter(|&at| self.keys[at] == lowest).nth(n as usize)
            }
        };
        at.map(|at| self.ranks[at])
    }

    /// [`Self::choose`] over the candidates ([`Self::set_candidate`]), without a look at each: the same rank by the same
    /// draws. [`Self::settle`] comes before it.
    #[inline]
    pub fn choose_candidate(&self, isl: u64, choose: &mut impl Choose) -> Option<(WorkerId, u32)> {
        debug_assert!(self.moved.is_empty(), "keys changed since the order was brought up to date");
        let (lowest, tied) = self.index.lowest()?;
        let at = match self.rounding(lowest, isl) {
            Rounding::None => Some(self.index.nth_lowest(below(tied, choose))),
            Rounding::Small => self.lowest_cost((0..tied).map(|n| self.index.nth_lowest(n)), isl, choose),
            Rounding::Large => self.lowest_cost((0..self.ranks.len()).filter(|&at| self.candidate[at]), isl, choose),
        };
        at.map(|at| self.ranks[at])
    }

    /// What roundings do to costs whose lowest key is `lowest`.
    #[inline]
    fn rounding(&self, lowest: u64, isl: u64) -> Rounding {
        if lowest.saturating_add(isl.saturating_mul(2)) >= 1 << 48 {
            Rounding::Large
        } else if self.options.block_size.is_power_of_two() {
            Rounding::None
        } else {
            Rounding::Small
        }
    }

    /// The place of the lowest cost as a float, of equals one evenly at random.
    fn lowest_cost(&self, places: impl Iterator<Item = usize> + Clone, isl: u64, choose: &mut impl Choose) -> Option<usize> {
        let cost = |at: usize| self.options.cost(self.prefill[at], self.blocks[at], isl);
        let (mut lowest, mut tied) = (f64::INFINITY, 0);
        for at in places.clone() {
            match cost(at) {
                value if value < lowest => (lowest, tied) = (value, 1),
                value => tied += u32::from(value == lowest),
            }
        }
        let n = if tied == 0 { return None } else { below(tied, choose) };
        places.filter(|&at| cost(at) == lowest).nth(n as usize)
    }
}

/// Whether the order of costs can be told from whole numbers.
enum Rounding {
    /// Exactly.
    None,
    /// But for equal ones.
    Small,
    /// No.
    Large,
}

/// One of `n` (1 or more) places; drawn only where there is a choice.
#[inline]
fn below(n: u32, choose: &mut impl Choose) -> u32 {
    if n > 1 { choose.below(u64::from(n)) as u32 } else { 0 }
}

#[cfg(test)]
#[path = "tracking_tests.rs"]
mod tests;
