//! Sessions of a trace by number.

use std::collections::BTreeMap;

/// Numbers of sessions by their names, in order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionIds {
    ids: BTreeMap<Box<str>, u32>,
    next: u32,
}

/// What a format writes where a request has none before it.
const NO_PARENT: &str = "-1";

/// Whether a request goes on with an earlier one, where a format says which.
pub(super) fn has_parent(parent: Option<&str>) -> bool {
    parent.is_some_and(|parent| parent != NO_PARENT)
}

impl SessionIds {
    /// The session of a request: that of its parent where the format names one (each request then has a name of its own), else
    /// the one that it names.
    pub(super) fn of(&mut self, name: &str, parent: Option<&str>) -> u32 {
        match parent.filter(|_| has_parent(parent)) {
            Some(parent) => {
                let session = self.number(parent);
                self.ids.insert(name.into(), session);
                session
            }
            None => self.number(name),
        }
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.next;
        self.next += 1;
        self.ids.insert(name.into(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_parents_lead_to_one_session() {
        let mut ids = SessionIds::default();
        assert_eq!(["a", "b", "a"].map(|name| ids.of(name, None)), [0, 1, 0]);
        let mut chats = SessionIds::default();
        let of =
            [("7", "-1"), ("8", "7"), ("9", "-1"), ("10", "8"), ("11", "5")].map(|(own, parent)| chats.of(own, Some(parent)));
        assert_eq!(of, [0, 0, 1, 0, 2]);
    }
}
