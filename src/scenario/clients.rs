//! `[clients]`.

use crate::cluster::config::{
    AtMaxContext, Backoff, ClientConfig, ClosedLoop, Jitter, RetryBudget, RetryPolicy, SessionConfig, SessionContext,
};
use crate::units::Span;
use crate::workload::config::SpanDistribution;

use super::item::{Item, NumberRange};
use super::section::Section;
use super::{lengths, spans};

const MAX_USERS: u32 = 10_000_000;
const MAX_ATTEMPTS: u32 = 1_000;
const MAX_STATUSES: usize = 900;

const BACKOFFS: [(&str, Backoff); 2] = [("fixed", Backoff::Fixed), ("exponential", Backoff::Exponential)];
const JITTERS: [(&str, Jitter); 3] = [("none", Jitter::None), ("full", Jitter::Full), ("equal", Jitter::Equal)];

pub(super) const CONTEXTS: [(&str, SessionContext); 2] = [("none", SessionContext::None), ("grow", SessionContext::Grow)];
pub(super) const AT_MAX_CONTEXT: [(&str, AtMaxContext); 2] = [("end", AtMaxContext::End), ("cut", AtMaxContext::Cut)];

/// Decodes `[clients]`.
pub(super) fn decode(section: &mut Section<'_>) -> ClientConfig {
    let closed_loop = closed_loop(section);
    let sessions = if closed_loop.is_some() {
        section.forbid("sessions", "in a closed loop users have them", "give `turns` and the rest in `clients.closed_loop`");
        None
    } else {
        section.optional("sessions").and_then(|item| open_sessions(&item))
    };
    ClientConfig {
        closed_loop,
        sessions,
        retry: section.optional("retry").and_then(|item| retry(&item)),
        patience_first_token: section.optional("patience_first_token").and_then(|item| item.positive_span()),
        patience: section.optional("patience").and_then(|item| item.positive_span()),
        server_notices: section.boolean("server_notices").unwrap_or(ClientConfig::default().server_notices),
    }
}

/// `closed_loop = { users, think_time }`, or `max_in_flight = n` for users who do not think.
fn closed_loop(section: &mut Section<'_>) -> Option<ClosedLoop> {
    if let Some(item) = section.optional("max_in_flight") {
        let why = "`max_in_flight` already makes a closed loop";
        section.forbid("closed_loop", why, "give only one of them");
        let users = item.u32(1, MAX_USERS)?;
        return Some(ClosedLoop { users, think_time: SpanDistribution::Constant { value: Span::ZERO }, sessions: None });
    }
    let mut table = section.optional("closed_loop")?.table()?;
    table.require("users", "how many users there are");
    let users = table.u32("users", 1, MAX_USERS);
    let think_time = match table.item("think_time") {
        Some(item) => spans::decode(&item),
        None => Some(SpanDistribution::Constant { value: Span::ZERO }),
    };
    let sessions = sessions(&mut table);
    table.finish();
    Some(ClosedLoop { users: users?, think_time: think_time?, sessions: sessions? })
}

/// `sessions = { turns, ... }` of an open loop.
fn open_sessions(item: &Item<'_>) -> Option<SessionConfig> {
    let mut table = item.table()?;
    table.require("turns", "how many turns a session has: a number, or a table with a `distribution`");
    let sessions = sessions(&mut table);
    table.finish();
    sessions.flatten()
}

/// `turns` and what goes with them; `None` if something is wrong with them.
fn sessions(table: &mut Section<'_>) -> Option<Option<SessionConfig>> {
    let Some(turns) = table.optional("turns") else {
        for key in ["turn_think_time", "context", "max_context_tokens", "at_max_context"] {
            table.forbid(key, "it is about sessions of several turns", "give `turns`, how many a session has");
        }
        return Some(None);
    };
    let turns = lengths::decode(&turns, 1);
    let turn_think_time = match table.item("turn_think_time") {
        Some(item) => spans::decode(&item),
        None => Some(SpanDistribution::Constant { value: Span::ZERO }),
    };
    let context = table.one_of("context", &CONTEXTS).unwrap_or_default();
    let max_context_tokens = table.optional("max_context_tokens").map(|item| item.u32(2, lengths::MAX_TOKENS));
    let at_max_context = table.one_of("at_max_context", &AT_MAX_CONTEXT);
    if at_max_context.is_some() && max_context_tokens.is_none() {
        table.require("max_context_tokens", "a number of tokens, because `at_max_context` is given");
    }
    if max_context_tokens == Some(None) {
        return None;
    }
    Some(Some(SessionConfig {
        turns: turns?,
        turn_think_time: turn_think_time?,
        context,
        max_context_tokens: max_context_tokens.flatten(),
        at_max_context: at_max_context.unwrap_or_default(),
    }))
}

fn retry(item: &Item<'_>) -> Option<RetryPolicy> {
    let mut section = item.table()?;
    section.require("statuses", "a list of statuses such as `[529, 503]`");
    section.require("attempts", "how many attempts there are in all, the first included");
    let statuses = section.item("statuses").and_then(|item| statuses(&item));
    let attempts = section.u32("attempts", 1, MAX_ATTEMPTS);
    let initial = section.span("initial");
    let max = section.optional("max").and_then(|item| item.positive_span());
    if let (Some(initial), Some(max)) = (initial, max)
        && max < initial
    {
        let message = format!("`{}` is `\"{max}\"`: expected at least `initial` = `\"{initial}\"`", section.path_of("max"));
        section.fault(Some("max"), message, None);
    }
    section.forbid("retry_after", "it is the frontend that sends it", "give `frontend.retry_after`");
    let policy = RetryPolicy {
        statuses: statuses.unwrap_or_default(),
        attempts: attempts.unwrap_or(1),
        backoff: section.one_of("backoff", &BACKOFFS).unwrap_or_default(),
        initial: initial.unwrap_or(Span::ZERO),
        max,
        jitter: section.one_of("jitter", &JITTERS).unwrap_or_default(),
        on_timeout: section.boolean("on_timeout").unwrap_or(false),
        timeout_delay: section.optional("timeout_delay").and_then(|item| item.span()),
        budget: section.optional("budget").and_then(|item| budget(&item)),
        obey_retry_after: section.boolean("obey_retry_after").unwrap_or(true),
    };
    section.finish();
    Some(policy)
}

fn statuses(item: &Item<'_>) -> Option<Vec<u16>> {
    let mut statuses = Vec::new();
    // What is below is no failure, and nobody tries again.
    for entry in item.filled_list(MAX_STATUSES)? {
        let Some(status) = entry.u32(400, 999).and_then(|s| u16::try_from(s).ok()) else { continue };
        if statuses.contains(&status) {
            entry.fault(format!("`{}` is `{status}`: it is in the list already", entry.path()), None);
        }
        statuses.push(status);
    }
    Some(statuses)
}

fn budget(item: &Item<'_>) -> Option<RetryBudget> {
    let mut section = item.table()?;
    section.require("max_tokens", "tokens at the start and at most");
    section.require("token_ratio", "tokens that a success gives back");
    // The bounds of gRPC's own throttle.
    let max_tokens = section.number("max_tokens", NumberRange::above(0.0, 1_000.0));
    let token_ratio = section.number("token_ratio", NumberRange::between(0.0, 1_000.0));
    section.finish();
    Some(RetryBudget { max_tokens: max_tokens?, token_ratio: token_ratio? })
}
