//! A worker: what it advertises, its admission gate, and where its requests compute.

use std::sync::Arc;

use super::batching::RankSpec;
use super::config::{FULL_SPEED, RankDispatch, RuntimeConfigChange, WorkerEngine, WorkerType};
use super::observer::GateState;
use crate::control::{AdmissionGate, GateLimits, RuntimeConfig};
use crate::units::{SimTime, Span};
use crate::workload::error::WorkloadError;
use crate::workload::spans::SpanSampler;

/// One worker of the fleet.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its id, from 1.
    pub id: u32,
    /// Index of its type.
    pub kind: usize,
    /// Registered, and able to serve. One that is not may still finish what it has (a drain).
    pub present: bool,
    /// Loading its model: it registers when that is done.
    pub loading: bool,
    /// Changes whenever the worker leaves, joins or begins to load: tells whether a planned joining still holds.
    pub stamp: u32,
    /// How many millionths of its time at full speed a step or service takes, and until when.
    pub pace: (u64, SimTime),
    /// What each direction between frontends and this worker takes, and until when.
    pub network: (Span, SimTime),
    /// What it has.
    pub truth: RuntimeConfig,
    /// What it advertises.
    pub advertised: RuntimeConfig,
    /// N + Q; `None` lets everything straight into the engine.
    pub gate: Option<AdmissionGate<u32>>,
    /// Requests in the engine.
    pub in_engine: u32,
    /// Its first rank, counted over the fleet.
    pub first_rank: u32,
    /// Its ranks.
    pub ranks: u32,
    /// Its first group of ranks (batching engines).
    pub first_group: u32,
    /// All its ranks step together.
    pub lockstep: bool,
    /// How it spreads requests over ranks.
    pub dispatch: RankDispatch,
    /// Requests spread so far, modulo 2^32.
    pub dispatched: u32,
}

/// What a type of worker computes with, made ready.
#[derive(Clone, Debug)]
pub enum Engine {
    /// Continuous batching.
    Batching {
        /// Each of its ranks.
        spec: Arc<RankSpec>,
        /// Longest context, if limited.
        max_model_len: Option<u64>,
    },
    /// A service time per request.
    Opaque(Option<SpanSampler>),
}

impl Engine {
    /// What workers of type `kind` compute with.
    ///
    /// # Errors
    /// A service-time distribution that does not exist.
    pub fn new(kind: &WorkerType) -> Result<Self, WorkloadError> {
        Ok(match &kind.engine {
            WorkerEngine::Batching(engine) => Self::Batching {
                spec: Arc::new(RankSpec {
                    block_size: kind.kv_cache_block_size,
                    total_blocks: kind.kv_total_blocks.expect("a resolved batching worker has a pool"),
                    max_num_seqs: engine.max_num_seqs,
                    max_num_batched_tokens: engine.max_num_batched_tokens,
                    timing: engine.timing.clone(),
                }),
                max_model_len: engine.max_model_len,
            },
            WorkerEngine::Opaque { service_time, .. } => Self::Opaque(service_time.as_ref().map(SpanSampler::new).transpose()?),
        })
    }

    /// Whether nothing is known of the inside.
    pub const fn is_opaque(&self) -> bool {
        matches!(self, Self::Opaque(_))
    }

    /// Tokens of the longest request that can ever be served, prompt and answer; `None` where nothing bounds them.
    pub fn longest(&self) -> Option<u64> {
        match self {
            Self::Opaque(_) => None,
            Self::Batching { spec, max_model_len } => {
                Some(max_model_len.map_or(spec.longest(), |limit| limit.min(spec.longest())))
            }
        }
    }

    /// Whether a request can ever be served.
    pub fn fits(&self, input_tokens: u32, output_tokens: u32) -> bool {
        match self {
            Self::Opaque(_) => true,
            Self::Batching { spec, max_model_len } => {
                let context = u64::from(input_tokens) + u64::from(output_tokens);
                spec.fits(input_tokens, output_tokens) && max_model_len.is_none_or(|limit| context <= limit)
            }
        }
    }
}

impl Worker {
    /// Ids start here.
    pub const FIRST_ID: u32 = 1;

    /// Index of the worker `id` in the fleet.
    pub const fn index(id: u32) -> usize {
        (id - Self::FIRST_ID) as usize
    }

    /// A worker of type `kind`, empty; the caller places its ranks and groups.
    pub fn new(id: u32, kind: usize, of: &WorkerType) -> Self {
        Self {
            id,
            kind,
            present: true,
            loading: false,
            stamp: 0,
            pace: (FULL_SPEED, SimTime::NEVER),
            network: (Span::ZERO, SimTime::NEVER),
            truth: truth(of),
            advertised: advertised(of),
            gate: of.engine_request_limit.map(|n| {
                let limits = GateLimits::new(n, of.request_queue_limit);
                AdmissionGate::new(limits.expect("a resolved scenario has valid gate limits"))
            }),
            in_engine: 0,
            first_rank: 0,
            ranks: of.data_parallel_size,
            first_group: 0,
            lockstep: of.dp_lockstep,
            dispatch: of.rank_dispatch,
            dispatched: 0,
        }
    }

    /// The group that `rank` of this worker steps with, and its place in it.
    pub const fn group_of(&self, rank: u32) -> (u32, u32) {
        if self.lockstep { (self.first_group, rank) } else { (self.first_group + rank, 0) }
    }

    /// The groups its ranks step in (batching engines).
    pub const fn groups(&self) -> std::ops::Range<u32> {
        let groups = if self.lockstep { 1 } else { self.ranks };
        self.first_group..self.first_group + groups
    }

    /// Its gate as reports see it.
    pub fn gate_state(&self) -> GateState {
        match &self.gate {
            Some(gate) => {
                GateState { in_engine: gate.in_engine(), waiting: gate.queued() as u32, gauge: gate.queue_gauge() as u32 }
            }
            None => GateState { in_engine: self.in_engine, waiting: 0, gauge: 0 },
        }
    }

    /// Whether its gate has a place for one more request.
    pub fn has_place(&self) -> bool {
        self.gate.as_ref().is_none_or(|gate| !gate.is_full())
    }

    /// Takes over a change of what the worker advertises.
    pub fn reconfigure(&mut self, change: &RuntimeConfigChange) {
        let advertised = &mut self.advertised;
        advertised.dp_size = change.data_parallel_size.unwrap_or(advertised.dp_size);
        if let Some(change) = change.kv_total_blocks {
            advertised.kv_total_blocks = change.reported(self.truth.kv_total_blocks);
        }
        if let Some(change) = change.max_num_batched_tokens {
            advertised.max_num_batched_tokens = change.reported(self.truth.max_num_batched_tokens);
        }
    }
}

/// What a worker of this type has.
fn truth(of: &WorkerType) -> RuntimeConfig {
    RuntimeConfig {
        dp_start: 0,
        dp_size: of.data_parallel_size,
        kv_total_blocks: of.kv_total_blocks,
        max_num_batched_tokens: of.max_num_batched_tokens(),
    }
}

/// What a worker of this type reports when it registers.
pub fn advertised(of: &WorkerType) -> RuntimeConfig {
    let truth = truth(of);
    let ranks = of.advertised.data_parallel_size.reported(Some(u64::from(truth.dp_size)));
    RuntimeConfig {
        dp_size: ranks.and_then(|n| u32::try_from(n).ok()).unwrap_or(truth.dp_size),
        kv_total_blocks: of.advertised.kv_total_blocks.reported(truth.kv_total_blocks),
        max_num_batched_tokens: of.advertised.max_num_batched_tokens.reported(truth.max_num_batched_tokens),
        ..truth
    }
}
