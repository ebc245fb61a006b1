//! Headroom: the targets must hold with workers lost and with more traffic than today.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;

use super::load::scale;

/// Under which conditions the targets must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// Workers that may be lost, for good.
    pub survive: u32,
    /// How much more traffic than the scenario says, as a share of it.
    pub growth: f64,
}

impl Conditions {
    /// Whether they are those of the scenario itself.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// The scenario under these conditions: of a mixed fleet the dearest workers are lost. A fleet of no more workers than may
    /// be lost is left with none.
    pub(super) fn apply(self, scenario: &mut Scenario) {
        if self.growth != 0.0 {
            scale(scenario, 1.0 + self.growth);
        }
        let mut lost = self.survive;
        let types = &mut scenario.fleet.types;
        let mut order: Vec<usize> = (0..types.len()).collect();
        order.sort_by(|a, b| types[*b].cost.total_cmp(&types[*a].cost));
        for place in order {
            let taken = lost.min(types[place].workers);
            types[place].workers -= taken;
            lost -= taken;
        }
    }
}
