//! A preset in a file of its own: what a calibration writes and a scenario may name as `engine = "my-gpu.toml"`.

use std::path::Path;

use crate::cluster::config::StepTiming;

use super::document::Document;
use super::engine;
use super::fault::{Fault, Faults};
use super::presets::PresetKind;
use super::resolved::step_timing;
use super::section::{Context, Section};

const KINDS: [(&str, PresetKind); 4] = [
    ("published", PresetKind::Published),
    ("table", PresetKind::Table),
    ("computed", PresetKind::Computed),
    ("fitted", PresetKind::Fitted),
];

/// A worker described in a file, the like of a built-in [`Preset`](super::Preset).
#[derive(Clone, Debug, PartialEq)]
pub struct PresetFile {
    /// Its name in reports.
    pub name: String,
    /// How its figures came about.
    pub kind: PresetKind,
    /// Where they come from.
    pub source: Option<String>,
    /// Where they hold.
    pub validity: Option<String>,
    /// Step times.
    pub timing: StepTiming,
    /// KV blocks per rank, 1 or more.
    pub kv_total_blocks: u64,
    /// Tokens in a KV block, 1 or more.
    pub kv_cache_block_size: u32,
    /// Running sequences at most, per rank.
    pub max_num_seqs: u32,
    /// Token budget of a step, at least `max_num_seqs`.
    pub max_num_batched_tokens: u64,
}

impl PresetFile {
    /// Reads a preset file.
    ///
    /// # Errors
    /// All faults of the file.
    pub fn load(path: &Path) -> Result<Self, Faults> {
        Self::read(&Document::load(path)?)
    }

    /// Reads a preset from a text; `origin` is the name of the file it came from.
    ///
    /// # Errors
    /// All faults of the text.
    pub fn parse(text: &str, origin: &str) -> Result<Self, Faults> {
        Self::read(&Document::parse(text, origin)?)
    }

    /// Reads a preset from a document.
    ///
    /// # Errors
    /// All faults of the document.
    pub fn read(document: &Document) -> Result<Self, Faults> {
        let context = Context::new(document, "a preset");
        let mut root = context.root();
        let preset = decode(&mut root);
        root.finish();
        let mut faults = context.finish();
        match preset {
            Some(preset) if faults.is_empty() => Ok(preset),
            _ => {
                if faults.is_empty() {
                    let message = "no preset can be read from it".to_owned();
                    faults.push(Fault { place: document.place_of_file(), path: String::new(), message, hint: None });
                }
                faults.sort();
                Err(faults)
            }
        }
    }

    /// The preset as TOML; reads back to an equal one.
    pub fn to_toml(&self) -> String {
        let text = |value: &str| toml::Value::String(value.to_owned()).to_string();
        let kind = KINDS.iter().find(|(_, kind)| *kind == self.kind).map_or("fitted", |(name, _)| name);
        let mut lines = vec![("name", text(&self.name)), ("kind", text(kind))];
        lines.extend(self.source.as_deref().map(|source| ("source", text(source))));
        lines.extend(self.validity.as_deref().map(|validity| ("validity", text(validity))));
        lines.push(("engine", step_timing(&self.timing)));
        lines.push(("kv_total_blocks", self.kv_total_blocks.to_string()));
        lines.push(("kv_cache_block_size", self.kv_cache_block_size.to_string()));
        lines.push(("max_num_seqs", self.max_num_seqs.to_string()));
        lines.push(("max_num_batched_tokens", self.max_num_batched_tokens.to_string()));
        lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
    }
}

fn decode(root: &mut Section<'_>) -> Option<PresetFile> {
    root.require("name", "the preset's name");
    root.require("engine", "a table of step-time coefficients");
    root.require("kv_total_blocks", "the KV blocks of a rank");
    let name = root.text("name", 100).map(str::to_owned);
    let engine = root.item("engine");
    if let Some(item) = engine.as_ref().filter(|item| !item.is_table()) {
        item.mistake("a table of step-time coefficients", None);
    }
    let engine = engine.filter(|item| item.is_table()).and_then(|item| engine::decode(&item));
    let kind = root.one_of("kind", &KINDS).unwrap_or(PresetKind::Fitted);
    let mut text = |key| root.item(key).and_then(|item| item.text(10_000)).map(str::to_owned);
    let [source, validity] = ["source", "validity"].map(&mut text);
    let kv_total_blocks = root.u64("kv_total_blocks", 1, super::fleet::MAX_BLOCKS);
    let block_size =
        root.aliased("kv_cache_block_size", &["block_size"]).and_then(|item| item.u32(1, super::fleet::MAX_BLOCK_SIZE));
    let seats = root.u32("max_num_seqs", 1, super::fleet::MAX_SEATS);
    let tokens = root.u64("max_num_batched_tokens", 1, super::fleet::MAX_TOKENS);
    let engine = engine?;
    let (max_num_seqs, max_num_batched_tokens) =
        (seats.unwrap_or(engine.max_num_seqs), tokens.unwrap_or(engine.max_num_batched_tokens));
    if max_num_batched_tokens < u64::from(max_num_seqs) {
        let message = format!(
            "`max_num_batched_tokens` is `{max_num_batched_tokens}`: expected at least `max_num_seqs` = `{max_num_seqs}`"
        );
        root.fault(Some("max_num_batched_tokens"), message, None);
    }
    Some(PresetFile {
        name: name?,
        kind,
        source,
        validity,
        timing: engine.timing,
        kv_total_blocks: kv_total_blocks?,
        kv_cache_block_size: block_size.unwrap_or(engine.kv_cache_block_size),
        max_num_seqs,
        max_num_batched_tokens,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_file_reads_back_from_what_it_writes() {
        let text = "name = \"my gpu\"\nsource = \"run of \\\"May\\\"\"\nkv_total_blocks = 2588\nmax_num_seqs = 64\n\
                    engine = { base = 0.0175, prefill = \"104.1us\", decode = 8.56e-5, context = \"62ns\" }\n";
        let preset = PresetFile::parse(text, "gpu.toml").unwrap();
        assert_eq!((preset.max_num_seqs, preset.max_num_batched_tokens, preset.kv_cache_block_size), (64, 8_192, 16));
        assert_eq!(PresetFile::parse(&preset.to_toml(), "gpu.toml"), Ok(preset));
    }

    #[test]
    fn a_faulty_preset_file_says_all_that_is_wrong() {
        let text = "name = \"x\"\nengine = \"dynamo-mocker\"\nkind = \"guessed\"\nmax_num_seqs = 0\nspeed = 3\n";
        insta::assert_snapshot!(PresetFile::parse(text, "gpu.toml").unwrap_err(), @r#"
    gpu.toml: `kv_total_blocks` is missing: expected the KV blocks of a rank
    gpu.toml:2:10: `engine` is `"dynamo-mocker"`: expected a table of step-time coefficients
    gpu.toml:3:8: `kind` is `"guessed"`: expected one of `published`, `table`, `computed`, `fitted`
    gpu.toml:4:16: `max_num_seqs` is `0`: expected a whole number from 1 to 1000000
    gpu.toml:5:1: `speed` is no key of a preset
      hint: the keys of a preset are `name`, `engine`, `kv_total_blocks`, `kind`, `source`, `validity`, `kv_cache_block_size`, `block_size`, `max_num_seqs`, `max_num_batched_tokens`
    "#);
    }
}
