//! What a scenario alone gives reason to warn of: a pure function of it, so that its resolved form warns of the same.

mod clients;

use crate::cluster::config::{EventAction, RankDispatch, RouterMode, WorkerEngine, WorkerType};

use super::presets::Preset;
use super::resolved::type_path;
use super::types::Scenario;
use super::warning::{Warning, codes};
use crate::units::SimTime;

/// Collects warnings about one scenario.
struct Checker<'s> {
    scenario: &'s Scenario,
    warnings: Vec<Warning>,
}

impl Scenario {
    /// Settings without effect, checks that cannot fire, figures used outside their range, events that never happen.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut checker = Checker { scenario: self, warnings: Vec::new() };
        checker.fleet();
        checker.thresholds();
        checker.router();
        checker.telemetry();
        checker.clients();
        checker.events();
        checker.warnings
    }

    /// Paths and types of the workers.
    fn types(&self) -> impl Iterator<Item = (String, &WorkerType)> {
        self.fleet.types.iter().enumerate().map(|(n, t)| (type_path(&self.fleet, n), t))
    }
}

impl Checker<'_> {
    fn warn(&mut self, code: &'static str, subject: impl Into<String>, cause: impl Into<String>, next_step: impl Into<String>) {
        self.warnings.push(Warning { code, subject: subject.into(), cause: cause.into(), next_step: next_step.into() });
    }

    fn no_effect(&mut self, subject: impl Into<String>, because: &str, next_step: &str) {
        self.warn(codes::NO_EFFECT, subject, format!("has no effect because {because}"), next_step);
    }

    fn fleet(&mut self) {
        if self.scenario.fleet.worker_count() == 0 {
            let cause = "has no workers, and none can ever join: every request is answered with 503";
            self.warn(codes::NO_WORKERS, "fleet", cause, "give `fleet.workers`");
        }
        for (path, kind) in self.scenario.types() {
            if kind.request_queue_limit_idle {
                let because = "`engine_request_limit` is not set: without it a worker has no gate and no overflow queue";
                self.no_effect(
                    format!("{path}.request_queue_limit"),
                    because,
                    "set `engine_request_limit`, or remove `request_queue_limit`",
                );
            }
            if kind.dp_lockstep && kind.data_parallel_size == 1 {
                self.no_effect(
                    format!("{path}.dp_lockstep"),
                    "the worker has one rank",
                    "raise `data_parallel_size`, or remove it",
                );
            }
            if kind.rank_dispatch == RankDispatch::LeastLoaded && self.scenario.frontend.router_mode == RouterMode::Kv {
                let because = "in kv mode the router names the rank";
                self.no_effect(format!("{path}.rank_dispatch"), because, "remove it, or choose another `router_mode`");
            }
            self.preset_range(&path, kind);
        }
    }

    /// Mean contexts (the prompt and half the output) below what the preset was fitted to.
    fn preset_range(&mut self, path: &str, kind: &WorkerType) {
        let WorkerEngine::Batching(engine) = &kind.engine else { return };
        let Some(preset) = engine.preset.as_deref().and_then(Preset::find) else { return };
        let Some(least) = preset.min_context else { return };
        for stream in &self.scenario.workload.streams {
            let (input, output) = stream.lengths.means();
            let context = input + output / 2.0;
            if context < f64::from(least) {
                let cause = format!(
                    "holds for contexts above {least} tokens, but those of class `{}` have about {context:.0} on average: {}",
                    stream.class, preset.validity
                );
                let next_step = "read step times of this class as rough, or take another preset";
                self.warn(codes::PRESET_OUT_OF_RANGE, format!("{path}.engine"), cause, next_step);
            }
        }
    }

    fn thresholds(&mut self) {
        // Without workers no threshold is held against anything, which is told of the fleet.
        if self.scenario.fleet.worker_count() == 0 {
            return;
        }
        let set = self.scenario.frontend.thresholds;
        let posted = self.posted();
        if set.active_decode_blocks_threshold.is_some() || posted.0 {
            self.decode_check();
        }
        if set.active_decode_blocks_threshold == Some(1.0) {
            self.warn(
                codes::THRESHOLD_CANNOT_FIRE,
                "frontend.active_decode_blocks_threshold",
                "is 1.0 and can never fire below 100 % usage: the check is strict",
                "choose a value below 1, such as 0.9",
            );
        }
        if set.active_prefill_tokens_threshold.is_some() || posted.1 {
            self.prefill_signal("active_prefill_tokens_threshold");
        }
        if set.active_prefill_tokens_threshold_frac.is_some() || posted.2 {
            self.prefill_signal("active_prefill_tokens_threshold_frac");
            self.prefill_fraction_capacity();
        }
    }

    /// Which thresholds some event posts.
    fn posted(&self) -> (bool, bool, bool) {
        self.scenario.events.iter().fold((false, false, false), |seen, event| match &event.action {
            EventAction::PostBusyThreshold(post) => {
                let update = &post.update;
                (
                    seen.0 || update.active_decode_blocks_threshold.is_some(),
                    seen.1 || update.active_prefill_tokens_threshold.is_some(),
                    seen.2 || update.active_prefill_tokens_threshold_frac.is_some(),
                )
            }
            _ => seen,
        })
    }

    fn decode_check(&mut self) {
        let subject = "frontend.active_decode_blocks_threshold";
        for (path, kind) in self.scenario.types() {
            let reported = kind.advertised.kv_total_blocks.reported(kind.kv_total_blocks);
            if reported.is_none_or(|blocks| blocks == 0) {
                let cause = format!("cannot fire for the workers of `{path}` because they report no `kv_total_blocks`");
                self.warn(codes::CAPACITY_UNKNOWN, subject, cause, "let them report `kv_total_blocks`");
            }
        }
        let frontend = &self.scenario.frontend;
        let tracked = frontend.router_mode == RouterMode::Kv && frontend.router_track_active_blocks;
        let batching = self.scenario.fleet.types.iter().any(|t| !t.is_opaque());
        let reported = self.scenario.telemetry.worker_kv_metrics && batching;
        if !tracked && !reported && !self.scripted(|load| load.0) {
            let cause = "cannot fire because its signal never arrives: no worker publishes `kv_used_blocks` and the router tracks no blocks";
            self.warn(codes::SIGNAL_MISSING, subject, cause, "use `router_mode = \"kv\"`, or let the workers publish loads");
        }
    }

    fn prefill_signal(&mut self, key: &str) {
        let frontend = &self.scenario.frontend;
        if self.scripted(|load| load.1) || (frontend.router_mode == RouterMode::Kv && frontend.router_track_prefill_tokens) {
            return;
        }
        let (cause, next_step) = if frontend.router_mode == RouterMode::Kv {
            ("cannot fire because `router_track_prefill_tokens` is off", "switch `router_track_prefill_tokens` on")
        } else {
            ("can fire in kv mode only: no worker publishes prefill tokens", "use `router_mode = \"kv\"`, or unset it")
        };
        self.warn(codes::SIGNAL_MISSING, format!("frontend.{key}"), cause, next_step);
    }

    fn prefill_fraction_capacity(&mut self) {
        for (path, kind) in self.scenario.types() {
            if kind.advertised.max_num_batched_tokens.reported(kind.max_num_batched_tokens()).is_none() {
                let because = format!(
                    "the workers of `{path}` report no `max_num_batched_tokens`: the fraction is taken of 10,000,000 tokens"
                );
                let next_step = "give `max_num_batched_tokens`, or use `active_prefill_tokens_threshold`";
                self.no_effect("frontend.active_prefill_tokens_threshold_frac", &because, next_step);
            }
        }
    }

    /// Whether some scripted load carries decode blocks or prefill tokens, as `which` selects.
    fn scripted(&self, which: impl Fn((bool, bool)) -> bool) -> bool {
        self.scenario.events.iter().any(|event| match &event.action {
            EventAction::Load(load) => {
                let decode = load.active_decode_blocks.is_some() || load.kv_used_blocks.is_some();
                which((decode, load.active_prefill_tokens.is_some()))
            }
            EventAction::SchedulerLoad(_) => true,
            _ => false,
        })
    }

    fn router(&mut self) {
        let frontend = &self.scenario.frontend;
        if frontend.router_mode == RouterMode::Kv {
            return;
        }
        let unusual = [
            ("router_track_output_blocks", frontend.router_track_output_blocks),
            ("router_track_prefill_tokens", !frontend.router_track_prefill_tokens),
            ("router_track_active_blocks", !frontend.router_track_active_blocks),
        ];
        for (key, _) in unusual.into_iter().filter(|(_, unusual)| *unusual) {
            self.no_effect(
                format!("frontend.{key}"),
                "outside kv mode the router tracks nothing",
                "remove it, or use `router_mode = \"kv\"`",
            );
        }
    }

    fn telemetry(&mut self) {
        let telemetry = &self.scenario.telemetry;
        let default = crate::cluster::config::TelemetryConfig::default();
        let opaque = self.scenario.fleet.types.iter().all(WorkerType::is_opaque);
        let because = match (telemetry.worker_kv_metrics, opaque) {
            (false, _) => "`worker_kv_metrics` is off",
            (true, true) => "opaque workers publish no loads",
            (true, false) => return self.reports_arrive(),
        };
        let unusual = [
            ("debounce", telemetry.debounce != default.debounce),
            ("delay", telemetry.delay != default.delay),
            ("loss", telemetry.loss > 0.0),
        ];
        for (key, _) in unusual.into_iter().filter(|(_, unusual)| *unusual) {
            self.no_effect(format!("telemetry.{key}"), because, "remove it, or let batching workers publish loads");
        }
    }

    /// Whether any report reaches a frontend before the run ends.
    fn reports_arrive(&mut self) {
        let telemetry = &self.scenario.telemetry;
        let next_step = "choose less, or switch `worker_kv_metrics` off, which says the same plainly";
        let goes_without = "no load report ever reaches a frontend, which decides without them";
        let (least, horizon) = (telemetry.delay.least(), self.scenario.horizon);
        if telemetry.loss >= 1.0 {
            let cause = format!("is 1: {goes_without}");
            self.warn(codes::SIGNAL_MISSING, "telemetry.loss", cause, next_step);
        } else if let Some(horizon) = horizon.filter(|horizon| SimTime::ZERO.saturating_add(least) > *horizon) {
            let cause = format!("is {least} at least, and the run ends at {horizon}: {goes_without}");
            self.warn(codes::SIGNAL_MISSING, "telemetry.delay", cause, next_step);
        }
    }

    fn events(&mut self) {
        let frontend = &self.scenario.frontend;
        for (n, event) in self.scenario.events.iter().enumerate() {
            if self.scenario.horizon.is_some_and(|horizon| event.at > horizon) {
                let cause = format!("never happens: it is due at {} and the run ends before", event.at);
                self.warn(codes::EVENT_AFTER_END, format!("events.{n}"), cause, "move the event, or raise `horizon`");
            }
            let EventAction::PostBusyThreshold(post) = &event.action else { continue };
            let subject = format!("events.{n}.post_busy_threshold");
            if let Err(error) = post.update.validate() {
                let cause = format!("will be refused as a whole (400): {error}");
                self.warn(codes::POST_REFUSED, subject, cause, "correct the value, unless the refusal is what you want to see");
            } else if post.model.as_ref().is_some_and(|model| *model != frontend.model) {
                let cause = format!("will be refused (404): the frontend's model is `{}`", frontend.model);
                self.warn(codes::POST_REFUSED, subject, cause, "correct `model`, unless the refusal is what you want to see");
            }
        }
    }
}
