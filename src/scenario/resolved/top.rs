//! The whole file, and its small tables.

use super::super::types::{QuantileMethod, Scenario, Warmup};
use super::events::write_event;
use super::fleet::write_fleet;
use super::frontend::{write_clients, write_frontend, write_telemetry};
use super::workload::write_workload;
use super::writer::{Writer, instant, list, quoted, span};

impl Scenario {
    /// The scenario as TOML, complete: every default written out, presets expanded to their coefficients. Reads back to an
    /// equal scenario.
    pub fn to_toml(&self) -> String {
        let mut w = Writer::default();
        self.write_top(&mut w);
        write_fleet(&mut w, &self.fleet);
        write_frontend(&mut w, &self.frontend);
        write_telemetry(&mut w, &self.telemetry);
        write_workload(&mut w, &self.workload);
        write_clients(&mut w, &self.clients);
        self.write_small(&mut w);
        self.events.iter().for_each(|event| write_event(&mut w, event, &self.fleet));
        w.text
    }

    fn write_top(&self, w: &mut Writer) {
        w.line("name", quoted(&self.name));
        w.optional("description", self.description.as_ref().map(quoted));
        w.line("seed", self.seed);
        w.optional("horizon", self.horizon.map(instant));
        w.optional("requests", self.requests.map(|n| n.to_string()));
        w.line(
            "warmup",
            match self.warmup {
                Warmup::Fixed(time) => span(time),
                Warmup::Mser5 => quoted("mser-5"),
            },
        );
        let phases = self.phases.as_ref().map(|phases| list(phases.iter().copied().map(instant)));
        w.line("phases", phases.unwrap_or_else(|| quoted("auto")));
    }

    fn write_small(&self, w: &mut Writer) {
        w.header("[slo]");
        w.optional("ttft", self.slo.ttft.map(span));
        w.optional("tpot", self.slo.tpot.map(span));
        w.optional("e2e", self.slo.e2e.map(span));
        w.header("[output]");
        w.line("requests", self.output.requests);
        w.line("decision_quality", self.output.decision_quality.map_or_else(|| quoted("auto"), |on| on.to_string()));
        w.line("timeseries_interval", self.output.timeseries_interval.map_or_else(|| quoted("auto"), span));
        let method = match self.output.quantile_method {
            QuantileMethod::NearestRank => "nearest_rank",
            QuantileMethod::RoundedRank => "rounded_rank",
        };
        w.line("quantile_method", quoted(method));
        w.line("metrics", self.output.metrics);
        w.line("metrics_epoch", quoted(self.output.metrics_epoch));
        w.header("[limits]");
        w.line("max_events", self.limits.max_events);
        w.line("max_requests_in_system", self.limits.max_requests_in_system);
        w.line("max_output_bytes", self.limits.max_output_bytes);
    }
}
