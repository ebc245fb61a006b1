//! Built-in workers: step times, KV blocks and limits of known pairs of GPU and model, each with its source.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cluster::config::StepTiming;
use crate::units::Attos;

use super::amount::{Decimal, parse_attos};
use super::section::nearest;

/// A built-in worker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Preset {
    /// Its name in scenario files.
    pub name: &'static str,
    /// How its figures came about.
    pub kind: PresetKind,
    /// Where they come from.
    pub source: &'static str,
    /// Where they hold.
    pub validity: &'static str,
    /// Mean context, in tokens, below which the fit is known to be poor.
    pub min_context: Option<u32>,
    /// Step times before `served_factor`.
    pub timing: PresetTiming,
    /// Measured over tabulated time of a served mix: multiplies every coefficient.
    pub served_factor: &'static str,
    /// KV blocks per rank.
    pub kv_total_blocks: u64,
    /// Tokens in a KV block.
    pub kv_cache_block_size: u32,
    /// Running sequences at most, per rank.
    pub max_num_seqs: u32,
    /// Token budget of a step.
    pub max_num_batched_tokens: u64,
}

/// How the figures of a preset came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PresetKind {
    /// Taken from a published text.
    Published,
    /// Taken from a published table or code.
    Table,
    /// Computed from published tables of kernel times.
    Computed,
    /// Fitted to a measured run or profile.
    Fitted,
}

/// Step times of a preset, as decimals so that they are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PresetTiming {
    /// Milliseconds: constant, per token, per token squared; constant, per sequence, per context token.
    TwoPart {
        /// Prefill part.
        prefill: [&'static str; 3],
        /// Decode part.
        decode: [&'static str; 3],
    },
    /// Seconds: base, per prefill token, per prefill token squared, per decoding sequence, per context token.
    SingleBase([&'static str; 5]),
    /// The polynomials of NVIDIA's mocker.
    Mocker,
}

const COMPUTED: &str = "computed from the kernel tables of NVIDIA AIConfigurator (vLLM); blocks at 0.9 memory use";
const COMPUTED_VALIDITY: &str = "one fixed cost per part over-counts mixed steps; over 105 served rows measured / computed has median 1.07 \
     (H200) and 1.13 (H100), hence the factor 1.1";

/// A preset computed from kernel tables; vLLM's defaults by GPU: 8,192 tokens and 1,024 seats on large ones, else 2,048 and 256.
const fn computed(
    name: &'static str,
    prefill: [&'static str; 3],
    decode: [&'static str; 3],
    kv_total_blocks: u64,
    large: bool,
) -> Preset {
    let (max_num_batched_tokens, max_num_seqs) = if large { (8_192, 1_024) } else { (2_048, 256) };
    Preset {
        name,
        kind: PresetKind::Computed,
        source: COMPUTED,
        validity: COMPUTED_VALIDITY,
        min_context: None,
        timing: PresetTiming::TwoPart { prefill, decode },
        served_factor: "1.1",
        kv_total_blocks,
        kv_cache_block_size: 16,
        max_num_seqs,
        max_num_batched_tokens,
    }
}

/// All presets, in the order they are listed to people.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "h200-llama-3.1-8b-fp8-vllm",
        kind: PresetKind::Fitted,
        source: "fit to Dynamo's own H200 profile of Llama-3.1-8B FP8 (17 prefill and 41 decode points)",
        validity: "contexts above 400 tokens: median error 1.7 % (prefill) and 2.2 % (decode), at most 16 %; at context 350 with \
                   batches of 260 to 1,570 it is 30 % low to 36 % high",
        min_context: Some(400),
        timing: PresetTiming::TwoPart { prefill: ["18.55", "0.01411", "4.92e-7"], decode: ["4.38", "0.0230", "3.16e-5"] },
        served_factor: "1.0",
        kv_total_blocks: 59_064,
        kv_cache_block_size: 16,
        max_num_seqs: 1_024,
        max_num_batched_tokens: 8_192,
    },
    computed("h200-llama-3.1-8b-bf16-vllm", ["3.87", "0.01708", "5.672e-7"], ["4.95", "0.0112", "2.951e-5"], 55_170, true),
    computed("h100-llama-3.1-8b-bf16-vllm", ["5.28", "0.01655", "5.652e-7"], ["6.40", "0.0110", "4.170e-5"], 27_062, true),
    computed("a100-llama-3.1-8b-bf16-vllm", ["8.44", "0.05367", "1.573e-6"], ["11.58", "0.0294", "8.447e-5"], 27_062, false),
    computed("l40s-llama-3.1-8b-bf16-vllm", ["18.5", "0.05252", "2.435e-6"], ["22.24", "0.0370", "1.893e-4"], 10_928, false),
    computed("b200-llama-3.1-8b-bf16-vllm", ["3.13", "0.00847", "2.826e-7"], ["3.40", "0.0041", "1.813e-5"], 73_142, true),
    computed("a100x4-llama-3.1-70b-bf16-vllm", ["20.76", "0.15127", "1.759e-6"], ["27.64", "0.0974", "5.837e-5"], 28_376, false),
    computed("h100x4-llama-3.1-70b-bf16-vllm", ["12.76", "0.05444", "7.903e-7"], ["15.20", "0.0324", "2.645e-5"], 28_376, true),
    computed("h100x2-llama-3.1-70b-fp8-vllm", ["12.67", "0.06506", "1.203e-6"], ["16.32", "0.0374", "2.916e-5"], 27_460, true),
    computed("h200x2-llama-3.1-70b-fp8-vllm", ["10.44", "0.05940", "1.293e-6"], ["13.14", "0.0399", "2.624e-5"], 72_434, true),
    Preset {
        name: "rtx4090-llama-3.1-8b-bf16-vllm",
        kind: PresetKind::Fitted,
        source: "single-base fit to a vLLM 0.19 run of ShareGPT requests published with LLMServingSim",
        validity: "the run it was fitted to: KV exhausted, 256 seats; p50, p90 and p99 of TTFT, time per output token and end to end \
                   within 3.2 %",
        min_context: None,
        timing: PresetTiming::SingleBase(["0.01750", "1.041e-4", "0", "8.56e-5", "6.20e-8"]),
        served_factor: "1.0",
        kv_total_blocks: 2_588,
        kv_cache_block_size: 16,
        max_num_seqs: 256,
        max_num_batched_tokens: 2_048,
    },
    Preset {
        name: "rtxpro6000-llama-3.1-8b-bf16-vllm",
        kind: PresetKind::Fitted,
        source: "single-base fit to a vLLM 0.19 run of ShareGPT requests published with LLMServingSim",
        validity: "the run it was fitted to: 128 seats exhausted, KV not limiting (the run does not tell its blocks: 35,000 is what 96 GB \
                   hold by the ratio of the RTX 4090); within 2.2 %",
        min_context: None,
        timing: PresetTiming::SingleBase(["0.01337", "4.38e-5", "0", "8.30e-5", "2.86e-8"]),
        served_factor: "1.0",
        kv_total_blocks: 35_000,
        kv_cache_block_size: 16,
        max_num_seqs: 128,
        max_num_batched_tokens: 2_048,
    },
    Preset {
        name: "dynamo-mocker",
        kind: PresetKind::Table,
        source: "polynomials and defaults of NVIDIA's mocker engine (AISimulate 0.13.0)",
        validity: "agreement with NVIDIA's simulator; no particular GPU",
        min_context: None,
        timing: PresetTiming::Mocker,
        served_factor: "1.0",
        kv_total_blocks: 16_384,
        kv_cache_block_size: 64,
        max_num_seqs: 256,
        max_num_batched_tokens: 8_192,
    },
];

impl Preset {
    /// The preset of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The name most like `name`, if any is like it.
    pub(super) fn nearest(name: &str) -> Option<&'static str> {
        nearest(name, PRESETS.iter().map(|preset| preset.name))
    }

    /// Its step times, `served_factor` applied.
    pub fn step_timing(&self) -> StepTiming {
        let factor = Decimal::parse(self.served_factor).expect("built-in factors are decimals");
        self.unscaled_timing().scaled(factor).expect("built-in coefficients are small")
    }

    /// Its step times without `served_factor`.
    pub(super) fn unscaled_timing(&self) -> StepTiming {
        let read = |text: &str, unit| parse_attos(text, Some(unit)).expect("built-in coefficients are decimals");
        match self.timing {
            PresetTiming::TwoPart { prefill, decode } => {
                StepTiming::TwoPart { prefill: prefill.map(|c| read(c, 15)), decode: decode.map(|c| read(c, 15)) }
            }
            PresetTiming::SingleBase(coefficients) => {
                let [base, prefill, prefill_squared, decode, context] = coefficients.map(|c| read(c, 18));
                StepTiming::SingleBase { base, prefill, prefill_squared, decode, context }
            }
            PresetTiming::Mocker => StepTiming::Mocker,
        }
    }
}

impl StepTiming {
    /// Every coefficient times `factor`; `None` where that is out of range, or where there is no coefficient to scale.
    pub(super) fn scaled(&self, factor: Decimal) -> Option<Self> {
        let scale = |amount: Attos| factor.scale(amount).filter(|a| a.0 <= super::amount::MAX_ATTOS);
        let scale3 = |[a, b, c]: [Attos; 3]| Some([scale(a)?, scale(b)?, scale(c)?]);
        Some(match self {
            Self::SingleBase { base, prefill, prefill_squared, decode, context } => Self::SingleBase {
                base: scale(*base)?,
                prefill: scale(*prefill)?,
                prefill_squared: scale(*prefill_squared)?,
                decode: scale(*decode)?,
                context: scale(*context)?,
            },
            Self::TwoPart { prefill, decode } => Self::TwoPart { prefill: scale3(*prefill)?, decode: scale3(*decode)? },
            Self::Mocker | Self::Slowed { .. } => (factor == Decimal::ONE).then(|| self.clone())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_has_a_name_of_its_own_and_exact_step_times() {
        for (n, preset) in PRESETS.iter().enumerate() {
            assert!(PRESETS[..n].iter().all(|other| other.name != preset.name), "{}", preset.name);
            assert!(preset.max_num_batched_tokens >= u64::from(preset.max_num_seqs), "{}", preset.name);
            let _ = preset.step_timing();
        }
        assert_eq!(PRESETS.len(), 13);
    }

    #[test]
    fn computed_presets_carry_the_factor_of_a_served_mix() {
        let StepTiming::TwoPart { prefill, decode } = Preset::find("h100-llama-3.1-8b-bf16-vllm").unwrap().step_timing() else {
            panic!("two parts");
        };
        assert_eq!(prefill.map(|a| a.0), [5_808_000_000_000_000, 18_205_000_000_000, 621_720_000]);
        assert_eq!(decode.map(|a| a.0), [7_040_000_000_000_000, 12_100_000_000_000, 45_870_000_000]);
    }

    #[test]
    fn fitted_presets_are_taken_as_they_are() {
        let StepTiming::SingleBase { base, prefill, prefill_squared, decode, context } =
            Preset::find("rtx4090-llama-3.1-8b-bf16-vllm").unwrap().step_timing()
        else {
            panic!("single base");
        };
        let attos = [base, prefill, prefill_squared, decode, context].map(|a| a.0);
        assert_eq!(attos, [17_500_000_000_000_000, 104_100_000_000_000, 0, 85_600_000_000_000, 62_000_000_000]);
    }

    #[test]
    fn a_misspelt_preset_finds_its_neighbour() {
        assert_eq!(Preset::nearest("h100-llama-8b-bf16-vllm"), Some("h100-llama-3.1-8b-bf16-vllm"));
        assert_eq!(Preset::nearest("gpt"), None);
    }
}
