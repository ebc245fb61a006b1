//! Names of workers, and a small sorted map keyed by them.

use std::fmt;

use serde::Serialize;

/// A registered worker instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct WorkerId(pub u32);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Values by worker in ascending id order.
///
/// Fleets number their workers in a row, so a look-up first tries the place the id would have without gaps and
/// searches only where it was wrong. Inserting and removing move what follows: membership changes are rare.
#[derive(Clone, Debug)]
pub struct WorkerMap<T> {
    ids: Vec<WorkerId>,
    values: Vec<T>,
}

impl<T> Default for WorkerMap<T> {
    fn default() -> Self {
        Self { ids: Vec::new(), values: Vec::new() }
    }
}

impl<T> WorkerMap<T> {
    /// Where `id` stands, or where it would have to be inserted.
    #[inline]
    fn position(&self, id: WorkerId) -> Result<usize, usize> {
        let Some(first) = self.ids.first() else { return Err(0) };
        let guess = id.0.wrapping_sub(first.0) as usize;
        match self.ids.get(guess) {
            Some(&found) if found == id => Ok(guess),
            _ => self.ids.binary_search(&id),
        }
    }

    /// The value of `id`.
    #[inline]
    pub fn get(&self, id: WorkerId) -> Option<&T> {
        self.position(id).ok().map(|i| &self.values[i])
    }

    /// The value of `id`, to change.
    #[inline]
    pub fn get_mut(&mut self, id: WorkerId) -> Option<&mut T> {
        self.position(id).ok().map(|i| &mut self.values[i])
    }

    /// Whether `id` has a value.
    pub fn contains(&self, id: WorkerId) -> bool {
        self.position(id).is_ok()
    }

    /// The value of `id`, made by `default` where there is none.
    pub fn entry(&mut self, id: WorkerId, default: impl FnOnce() -> T) -> &mut T {
        let at = match self.position(id) {
            Ok(at) => at,
            Err(at) => {
                self.ids.insert(at, id);
                self.values.insert(at, default());
                at
            }
        };
        &mut self.values[at]
    }

    /// Keeps the entries for which `keep` holds; it is called in ascending order.
    pub fn retain(&mut self, mut keep: impl FnMut(WorkerId, &mut T) -> bool) {
        let mut kept = Vec::with_capacity(self.ids.len());
        let mut ids = std::mem::take(&mut self.ids).into_iter();
        self.values.retain_mut(|value| {
            let id = ids.next().expect("as many ids as values");
            let stays = keep(id, value);
            if stays {
                kept.push(id);
            }
            stays
        });
        self.ids = kept;
    }

    /// The values of `ids`, which must ascend, in one walk through the map.
    pub fn walk<'a>(&'a self, ids: &'a [WorkerId]) -> impl Iterator<Item = Option<&'a T>> + 'a {
        let mut at = 0;
        ids.iter().map(move |id| {
            while self.ids.get(at).is_some_and(|other| other < id) {
                at += 1;
            }
            (self.ids.get(at) == Some(id)).then(|| &self.values[at])
        })
    }

    /// All ids, ascending.
    pub fn ids(&self) -> &[WorkerId] {
        &self.ids
    }

    /// All entries, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (WorkerId, &T)> {
        self.ids.iter().copied().zip(&self.values)
    }

    /// All entries to change, ascending.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (WorkerId, &mut T)> {
        self.ids.iter().copied().zip(&mut self.values)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// `ids` ascending and without repetitions.
pub(crate) fn ascending(ids: &[WorkerId]) -> Vec<WorkerId> {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn the_map_agrees_with_a_tree(calls in prop::collection::vec((0u8..3, 0u32..20, any::<u16>()), 0..80)) {
            let mut map = WorkerMap::default();
            let mut tree = BTreeMap::new();
            for (call, id, value) in calls {
                let id = WorkerId(id * id);
                match call {
                    0 => { *map.entry(id, || 0) = value; tree.insert(id, value); }
                    1 => { map.retain(|i, _| i != id); tree.remove(&id); }
                    _ => prop_assert_eq!(map.get(id), tree.get(&id)),
                }
                let every_second: Vec<WorkerId> = (0..200).map(|i| WorkerId(2 * i)).collect();
                prop_assert!(map.walk(&every_second).eq(every_second.iter().map(|&id| tree.get(&id))));
                prop_assert_eq!(map.iter().collect::<Vec<_>>(), tree.iter().map(|(&i, v)| (i, v)).collect::<Vec<_>>());
            }
        }
    }
}
