//! Turns of recorded sessions in the order of the file: instants and prompts that follow from the turn before.

use super::reader::TraceRow;

/// The last turn of each session.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Later prompts hold the new input only: what was said before is added.
    delta: bool,
    last: Vec<Option<Turn>>,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    arrival: i128,
    context: u32,
}

impl Turns {
    pub(super) const fn new(delta: bool) -> Self {
        Self { delta, last: Vec::new() }
    }

    /// Gives a row what it takes from the turn before. A row without an instant of its own takes the one of that turn, to stand
    /// behind it in the order of arrivals. The error says what was expected.
    pub(super) fn complete(&mut self, row: &mut TraceRow) -> Result<(), &'static str> {
        let Some(session) = row.session else {
            return if row.arrival.is_some() { Ok(()) } else { Err("field `timestamp` is missing: expected a value") };
        };
        let index = session as usize;
        if index >= self.last.len() {
            self.last.resize(index + 1, None);
        }
        let before = self.last[index];
        row.arrival = row.arrival.or(before.map(|turn| turn.arrival));
        let Some(arrival) = row.arrival else {
            return Err("field `timestamp` is missing: expected a value in the first turn of a session");
        };
        if let Some(before) = before.filter(|_| self.delta) {
            row.input_tokens = row.input_tokens.saturating_add(before.context);
        }
        let context = row.input_tokens.saturating_add(row.output_tokens);
        self.last[index] = Some(Turn { arrival, context });
        Ok(())
    }
}
