//! Case 68: settings that are accepted and then ignored.

use shedcast::scenario::codes;

use crate::harness::load;

#[test]
fn case_68_a_key_one_letter_short_is_refused_with_its_neighbour() {
    let said = load("68", &["frontend.active_decode_block_threshold=0.8"]).expect_err("the key does not exist");
    assert!(said.contains("`frontend.active_decode_block_threshold` is no key of `frontend`"), "{said}");
    assert!(said.contains("did you mean `active_decode_blocks_threshold`?"), "{said}");
}

#[test]
fn case_68_settings_that_can_do_nothing_are_told_with_their_reason() {
    let loaded = load("68", &[]).unwrap_or_else(|faults| panic!("{faults}"));
    let told: Vec<String> = loaded.warnings.iter().map(|warning| format!("[{}] {warning}", warning.code)).collect();
    let has = |code: &str, subject: &str, because: &str| {
        told.iter().any(|text| text.starts_with(&format!("[{code}] `{subject}`")) && text.contains(because))
    };
    assert!(has(codes::NO_EFFECT, "fleet.request_queue_limit", "has no effect because"), "{told:#?}");
    let fraction = "frontend.active_prefill_tokens_threshold_frac";
    assert!(has(codes::NO_EFFECT, fraction, "has no effect because") && told.len() == 2, "{told:#?}");
}
