//! `engine = ...`: a preset by name, or step-time coefficients in a table.

use crate::cluster::config::StepTiming;
use crate::units::Attos;

use super::item::{Item, NumberRange};
use super::preset_file::PresetFile;
use super::presets::Preset;
use super::section::Section;

/// Powers of ten of an attosecond.
const SECONDS: i32 = 18;
const MILLISECONDS: i32 = 15;

/// A batching engine before the limits that the fleet may override.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EngineSpec {
    /// Preset it came from, or that its coefficients are named after.
    pub preset: Option<String>,
    pub timing: StepTiming,
    /// KV blocks per rank; a table of coefficients knows none.
    pub kv_total_blocks: Option<u64>,
    pub kv_cache_block_size: u32,
    pub max_num_seqs: u32,
    pub max_num_batched_tokens: u64,
}

impl EngineSpec {
    fn new(name: Option<String>, timing: StepTiming) -> Self {
        let preset = name.as_deref().and_then(Preset::find);
        // Without a preset: the defaults of the vLLM API server on large GPUs.
        Self {
            timing,
            kv_total_blocks: preset.map(|p| p.kv_total_blocks),
            kv_cache_block_size: preset.map_or(16, |p| p.kv_cache_block_size),
            max_num_seqs: preset.map_or(1_024, |p| p.max_num_seqs),
            max_num_batched_tokens: preset.map_or(8_192, |p| p.max_num_batched_tokens),
            preset: name,
        }
    }
}

impl From<PresetFile> for EngineSpec {
    fn from(file: PresetFile) -> Self {
        Self {
            preset: Some(file.name),
            timing: file.timing,
            kv_total_blocks: Some(file.kv_total_blocks),
            kv_cache_block_size: file.kv_cache_block_size,
            max_num_seqs: file.max_num_seqs,
            max_num_batched_tokens: file.max_num_batched_tokens,
        }
    }
}

/// Reads the preset file that `item` names.
fn from_file(item: &Item<'_>, name: &str) -> Option<EngineSpec> {
    let path = item.existing(name)?;
    PresetFile::load(&path).map(EngineSpec::from).map_err(|faults| item.faults_of_file(&faults)).ok()
}

/// Decodes the value of `engine`.
pub(super) fn decode(item: &Item<'_>) -> Option<EngineSpec> {
    if item.is_any_text() {
        let name = item.text(4_096)?;
        if name.ends_with(".toml") {
            return from_file(item, name);
        }
        let preset = find_preset(item)?;
        return Some(EngineSpec::new(Some(preset.name.to_owned()), preset.step_timing()));
    }
    if !item.is_table() {
        item.mistake("the name of a preset, a preset file, or a table of step-time coefficients", None);
        return None;
    }
    let mut section = item.table()?;
    let spec = decode_table(&mut section);
    section.finish();
    spec
}

fn find_preset(item: &Item<'_>) -> Option<&'static Preset> {
    let name = item.text(4_096)?;
    let preset = Preset::find(name);
    if preset.is_none() {
        let hint = match Preset::nearest(name) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`shedcast presets` lists them; coefficients can be given in a table instead".to_owned(),
        };
        item.fault(format!("`{}` is {}: there is no preset of that name", item.path(), item.show()), Some(hint));
    }
    preset
}

fn decode_table(section: &mut Section<'_>) -> Option<EngineSpec> {
    let name = section.item("preset");
    let factor = section.item("served_factor").map(|item| item.decimal(NumberRange::above(0.0, 100.0)));
    let coefficients = ["base", "prefill", "prefill_squared", "decode", "context"];
    let timing = if section.given("timing") {
        section.one_of("timing", &[("mocker", StepTimingName::Mocker)]).map(|StepTimingName::Mocker| StepTiming::Mocker)
    } else if coefficients.iter().any(|key| section.given(key)) {
        decode_coefficients(section)
    } else {
        coefficients.iter().for_each(|key| section.ignore(key));
        section.ignore("timing");
        return preset_only(section, name.as_ref(), factor);
    };
    let name = match name {
        Some(item) => Some(item.text(100)?.to_owned()),
        None => None,
    };
    let timing = match factor {
        Some(factor) => scaled(section, &timing?, factor?)?,
        None => timing?,
    };
    Some(EngineSpec::new(name, timing))
}

#[derive(Clone, Copy)]
enum StepTimingName {
    Mocker,
}

/// A table that names a preset alone, perhaps with another `served_factor`.
fn preset_only(
    section: &mut Section<'_>,
    name: Option<&Item<'_>>,
    factor: Option<Option<super::amount::Decimal>>,
) -> Option<EngineSpec> {
    let Some(item) = name else {
        let message = format!(
            "`{}` has no step times: expected `preset`, or `base` and its kin in seconds, or the lists `prefill` and `decode` in milliseconds",
            section.path()
        );
        section.fault(None, message, None);
        return None;
    };
    let preset = find_preset(item)?;
    let timing = match factor {
        Some(factor) => scaled(section, &preset.unscaled_timing(), factor?)?,
        None => preset.step_timing(),
    };
    Some(EngineSpec::new(Some(preset.name.to_owned()), timing))
}

fn scaled(section: &Section<'_>, timing: &StepTiming, factor: super::amount::Decimal) -> Option<StepTiming> {
    let scaled = timing.scaled(factor);
    if scaled.is_none() {
        let message = format!("`{}` cannot scale these step times", section.path_of("served_factor"));
        section.fault(Some("served_factor"), message, Some("the mocker's timing has no coefficients to scale".to_owned()));
    }
    scaled
}

fn decode_coefficients(section: &mut Section<'_>) -> Option<StepTiming> {
    let is_list = |section: &mut Section<'_>, key| section.item(key).is_some_and(|item| item.is_list());
    let timing =
        if is_list(section, "prefill") || is_list(section, "decode") { two_part(section) } else { single_base(section) }?;
    if takes_no_time(&timing) {
        let message = format!("all step times of `{}` are zero: expected at least one above zero", section.path());
        section.fault(None, message, None);
        return None;
    }
    Some(timing)
}

fn two_part(section: &mut Section<'_>) -> Option<StepTiming> {
    section.require("prefill", "three coefficients in milliseconds: constant, per token, per token squared");
    section.require("decode", "three coefficients in milliseconds: constant, per sequence, per context token");
    let prefill = section.item("prefill").and_then(|item| three(&item));
    let decode = section.item("decode").and_then(|item| three(&item));
    Some(StepTiming::TwoPart { prefill: prefill?, decode: decode? })
}

fn three(item: &Item<'_>) -> Option<[Attos; 3]> {
    let list = item.list()?;
    let Ok(list) = <[Item<'_>; 3]>::try_from(list) else {
        item.mistake("a list of three coefficients, in milliseconds or with a unit", None);
        return None;
    };
    let [a, b, c] = list.map(|entry| entry.attos(MILLISECONDS));
    Some([a?, b?, c?])
}

fn single_base(section: &mut Section<'_>) -> Option<StepTiming> {
    section.require("base", "the fixed time of a step, in seconds or with a unit");
    let mut read = |key| section.item(key).map_or(Some(Attos::ZERO), |item| item.attos(SECONDS));
    let [base, prefill, prefill_squared] = ["base", "prefill", "prefill_squared"].map(&mut read);
    let [decode, context] = ["decode", "context"].map(&mut read);
    Some(StepTiming::SingleBase {
        base: base?,
        prefill: prefill?,
        prefill_squared: prefill_squared?,
        decode: decode?,
        context: context?,
    })
}

fn takes_no_time(timing: &StepTiming) -> bool {
    match timing {
        StepTiming::SingleBase { base, prefill, prefill_squared, decode, context } => {
            [base, prefill, prefill_squared, decode, context].iter().all(|a| **a == Attos::ZERO)
        }
        StepTiming::TwoPart { prefill, decode } => prefill.iter().chain(decode).all(|a| *a == Attos::ZERO),
        StepTiming::Mocker | StepTiming::Slowed { .. } => false,
    }
}
