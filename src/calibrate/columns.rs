//! The names under which serving engines and benchmarks log the same thing.

/// When the client sent it.
pub(super) const ARRIVAL: &[&str] = &["arrival_time", "arrival", "arrived_at", "arrival_ts", "start_time", "timestamp"];
/// When the engine's queue took it.
pub(super) const QUEUED: &[&str] = &["queued_ts", "queued_time", "queued", "queue_time_ts"];
/// When a step first took it.
pub(super) const SCHEDULED: &[&str] = &["scheduled_ts", "scheduled_time", "scheduled", "first_scheduled_time"];
/// When the first output token was out.
pub(super) const FIRST: &[&str] = &["first_token_ts", "first_token_time", "first_token", "first"];
/// When the last output token was out.
pub(super) const LAST: &[&str] =
    &["last_token_ts", "last_token_time", "last_token", "last", "finished_time", "finish_ts", "end_time"];
/// Prompt tokens.
pub(super) const INPUT: &[&str] = &["input_toks", "input_tokens", "prompt_tokens", "num_prompt_tokens", "isl", "input_length"];
/// Generated tokens.
pub(super) const OUTPUT: &[&str] =
    &["output_toks", "output_tokens", "completion_tokens", "num_output_tokens", "generation_tokens", "osl", "output_length"];

/// Keys of `--columns` for a log of requests.
pub(super) const LOG_KEYS: [&str; 7] = ["arrival", "queued", "scheduled", "first", "last", "input", "output"];
