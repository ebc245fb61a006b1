//! `shedcast presets`: the built-in workers, where their figures come from and where they hold.

use std::fmt::Write as _;

use super::args::{PresetsArgs, SummaryFormat};
use super::terminal::Terminal;
use super::{ExitStatus, Failure};
use crate::report::wrap;
use crate::scenario::{PRESETS, Preset, PresetKind};

/// Prints every preset.
pub(super) fn presets(args: &PresetsArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let text = match args.format {
        SummaryFormat::Table => table(),
        SummaryFormat::Json => serde_json::to_string_pretty(PRESETS).expect("presets are plain data") + "\n",
    };
    terminal.print(text.as_bytes())?;
    Ok(ExitStatus::Success)
}

const fn kind_name(kind: PresetKind) -> &'static str {
    match kind {
        PresetKind::Published => "published",
        PresetKind::Table => "table",
        PresetKind::Computed => "computed",
        PresetKind::Fitted => "fitted",
    }
}

fn table() -> String {
    let mut text = format!("{:<34} {:<9} {:>9} {:>6} {:>6} {:>7}\n", "preset", "kind", "KV blocks", "tokens", "seats", "budget");
    for preset in PRESETS {
        let Preset { name, kind, kv_total_blocks, kv_cache_block_size, max_num_seqs, max_num_batched_tokens, .. } = preset;
        let kind = kind_name(*kind);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{name:<34} {kind:<9} {kv_total_blocks:>9} {kv_cache_block_size:>6} {max_num_seqs:>6} {max_num_batched_tokens:>7}"
        );
        for (label, what) in [("  source: ", preset.source), ("  holds:  ", preset.validity)] {
            text.push_str(&wrap(label, what, label.len(), 80));
        }
    }
    text.push_str(
        "KV blocks: per rank; tokens: in a block; seats: running sequences per rank; budget: tokens\nin a step. A scenario names one: engine = \"dynamo-mocker\"\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_listed_with_its_source() {
        let text = table();
        for preset in PRESETS {
            assert!(text.contains(preset.name), "{} is not listed", preset.name);
        }
        assert_eq!(text.matches("  source: ").count(), PRESETS.len());
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
    }
}
