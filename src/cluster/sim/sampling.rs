//! What a sample of the time series sees.

use super::{Engine, Simulation};
use crate::cluster::batching::StepGroup;
use crate::cluster::frontend::Frontend;
use crate::cluster::observer::{Observer, RankSample, WorkerSample};
use crate::control::{Check, Checks, WorkerId};

impl<G: StepGroup, O: Observer> Simulation<'_, G, O> {
    /// Takes a sample and hands it to the observer.
    pub(super) fn take_sample(&mut self) {
        for frontend in &mut self.frontends {
            frontend.control.advance(self.now);
        }
        let mut sample = std::mem::take(&mut self.sample);
        sample.workers.clear();
        sample.ranks.clear();
        let seen = &self.frontends[0].control;
        let tracks = self.observer.wants_tracking();
        for worker in &self.workers {
            let id = WorkerId(worker.id);
            let monitored = seen.monitor().worker(id);
            let mut excluded = Checks::NONE;
            if seen.router().is_busy(id) {
                let ranks = monitored.into_iter().flat_map(|state| state.ranks());
                excluded = ranks.fold(excluded, |all, (_, load)| all | load.fired);
            }
            if seen.router().lease_of(id).is_some() {
                excluded |= Check::Lease.into();
            }
            sample.workers.push(WorkerSample {
                present: worker.present,
                down: worker.present && !seen.router().is_routable(id),
                excluded,
                gate: worker.gate_state(),
                unconfigured: monitored.is_some_and(|state| state.config().is_none()),
            });
            for rank in 0..worker.ranks {
                let load = monitored.and_then(|state| state.ranks().find(|(r, _)| *r == rank)).map(|(_, load)| load);
                let blocks =
                    load.and_then(|l| [l.active_decode_blocks, l.kv_used_blocks].into_iter().flatten().map(|s| s.value).max());
                let mut of_rank = RankSample {
                    observed_blocks: blocks,
                    observed_prefill_tokens: load.and_then(|l| l.active_prefill_tokens).map(|s| s.value),
                    tracked: if tracks { tracked(&self.frontends, id, rank) } else { None },
                    ..RankSample::default()
                };
                if let Engine::Batching { .. } = self.engines[worker.kind] {
                    let (group, place) = worker.group_of(rank);
                    let rank = self.groups[group as usize].steps.snapshot(self.now, place);
                    of_rank.kv_used_blocks = rank.used_blocks;
                    of_rank.running = rank.running;
                    of_rank.waiting = rank.waiting;
                    of_rank.preemptions = rank.preemptions;
                }
                sample.ranks.push(of_rank);
            }
        }
        sample.unfinished = self.requests.len() as u64;
        sample.thresholds = seen.monitor().thresholds();
        self.observer.sample(self.now, &sample);
        self.sample = sample;
    }
}

/// Blocks and prefill tokens that the routers of all frontends track on a rank.
fn tracked(frontends: &[Frontend], worker: WorkerId, rank: u32) -> Option<[u64; 2]> {
    let loads = frontends.iter().filter_map(|frontend| frontend.control.tracking()?.load_of(worker, rank));
    loads.map(|load| [load.active_decode_blocks, load.active_prefill_tokens]).reduce(|[a, b], [c, d]| [a + c, b + d])
}
