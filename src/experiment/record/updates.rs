//! Threshold updates on their way.

use crate::cluster::observer::{PostAnswer, UpdateStage};
use crate::control::ThresholdUpdate;
use crate::experiment::result::{MOST_UPDATE_WORKERS, MOST_UPDATES, UpdateLags, UpdateResult};
use crate::units::{SimTime, Span};

/// What became of the posts so far.
#[derive(Debug)]
pub(super) struct Updates {
    /// The first [`MOST_UPDATES`] posts, one by one.
    pub listed: Vec<UpdateResult>,
    /// All of them together.
    pub lags: UpdateLags,
    /// The update that is on its way at each frontend.
    under_way: Vec<Option<UnderWay>>,
    /// Instants of workers listed so far, over all updates.
    workers: usize,
}

/// The last update of a frontend that changed anything.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    at: SimTime,
    /// Where it is listed, if it is.
    listed: Option<usize>,
    noticed: bool,
    in_force: bool,
}

impl Updates {
    /// None yet, at this many frontends.
    pub fn new(frontends: u32) -> Self {
        Self { listed: Vec::new(), lags: UpdateLags::default(), under_way: vec![None; frontends as usize], workers: 0 }
    }

    /// An update reaches a frontend.
    pub fn posted(&mut self, now: SimTime, post: u32, frontend: u32, update: &ThresholdUpdate, answer: PostAnswer) {
        let listed = (self.listed.len() < MOST_UPDATES).then_some(self.listed.len());
        if listed.is_some() {
            self.listed.push(UpdateResult::posted(post, frontend, now, *update, answer));
        }
        self.lags.posts += 1;
        if answer == PostAnswer::Changed {
            self.lags.changed += 1;
            self.under_way[frontend as usize] = Some(UnderWay { at: now, listed, noticed: false, in_force: false });
        }
    }

    /// The update under way at a frontend reaches a stage; answers how long after it was posted.
    pub fn reached(&mut self, now: SimTime, frontend: u32, stage: UpdateStage) -> Span {
        let under_way = self.under_way[frontend as usize].as_mut().expect("a stage follows its post");
        let since = now.since(under_way.at);
        let lag = since.as_nanos();
        let (lags, mut listed) = (&mut self.lags, under_way.listed.map(|at| &mut self.listed[at]));
        match stage {
            UpdateStage::Noticed => {
                under_way.noticed = true;
                lags.noticed.record(lag);
                listed.into_iter().for_each(|update| update.noticed = Some(now));
            }
            UpdateStage::Worker { worker } => {
                self.workers += 1;
                if let Some(update) = listed.filter(|_| self.workers <= MOST_UPDATE_WORKERS) {
                    update.workers.push((worker, now));
                }
            }
            UpdateStage::All => {
                under_way.in_force = true;
                lags.all.record(lag);
                listed.into_iter().for_each(|update| update.all = Some(now));
            }
            UpdateStage::Effect => {
                lags.effect.record(lag);
                listed.into_iter().for_each(|update| update.effect = Some(now));
            }
            UpdateStage::Superseded => {
                if !under_way.in_force {
                    lags.superseded += 1;
                    listed.iter_mut().for_each(|update| update.superseded = Some(now));
                }
                listed.into_iter().filter(|u| u.effect.is_none()).for_each(|update| update.effect_superseded = Some(now));
            }
        }
        since
    }

    /// The run ends and the update under way at a frontend is not in force for `worker`, whose ranks `silent` did not report.
    pub fn never(&mut self, frontend: u32, worker: u32, silent: Vec<u32>) {
        let listed = self.under_way[frontend as usize].and_then(|under_way| under_way.listed);
        if let Some(at) = listed {
            self.listed[at].silent.push((worker, silent));
        }
    }

    /// A frontend decides while an update is under way there.
    pub fn decision(&mut self, frontend: u32) {
        if let Some(UnderWay { listed: Some(at), noticed, .. }) = self.under_way[frontend as usize] {
            self.listed[at].decisions[usize::from(noticed)] += 1;
        }
    }
}
