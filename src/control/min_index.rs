//! The lowest of many changing keys, how many share it, and any one of those, in logarithmic time.

/// A tournament over a fixed number of places. Each inner node knows the lowest key below it and how many places have it.
#[derive(Clone, Debug, Default)]
pub(crate) struct MinIndex {
    /// Number of leaves, a power of two; leaf `i` is node `leaves + i`, the root node 1.
    leaves: usize,
    nodes: Vec<(u64, u32)>,
}

/// The key of a place that takes no part.
pub(crate) const OUT: u64 = u64::MAX;

impl MinIndex {
    /// An index over these keys.
    pub fn new(keys: impl ExactSizeIterator<Item = u64>) -> Self {
        let leaves = keys.len().next_power_of_two();
        let mut index = Self { leaves, nodes: vec![(OUT, 0); 2 * leaves] };
        for (node, key) in index.nodes[leaves..].iter_mut().zip(keys) {
            *node = leaf(key);
        }
        for node in (1..leaves).rev() {
            index.nodes[node] = index.joined(node);
        }
        index
    }

    #[inline]
    fn joined(&self, node: usize) -> (u64, u32) {
        let ((left, left_count), (right, right_count)) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        let lowest = left.min(right);
        // Without a branch: which half is the lower one is anybody's guess.
        (lowest, left_count * u32::from(left == lowest) + right_count * u32::from(right == lowest))
    }

    /// Gives place `at` another key.
    #[inline]
    pub fn set(&mut self, at: usize, key: u64) {
        let mut node = self.leaves + at;
        self.nodes[node] = leaf(key);
        while node > 1 {
            node /= 2;
            let joined = self.joined(node);
            if self.nodes[node] == joined {
                break;
            }
            self.nodes[node] = joined;
        }
    }

    /// The lowest key and how many places have it; `None` where no place takes part.
    #[inline]
    pub fn lowest(&self) -> Option<(u64, u32)> {
        self.nodes.get(1).copied().filter(|&(_, count)| count > 0)
    }

    /// The `n`-th place (from 0) of those with the lowest key.
    #[inline]
    pub fn nth_lowest(&self, mut n: u32) -> usize {
        let mut node = 1;
        while node < self.leaves {
            let (lowest, _) = self.nodes[node];
            node *= 2;
            let (left, count) = self.nodes[node];
            let on_the_left = if left == lowest { count } else { 0 };
            if n >= on_the_left {
                n -= on_the_left;
                node += 1;
            }
        }
        node - self.leaves
    }
}

fn leaf(key: u64) -> (u64, u32) {
    (key, u32::from(key != OUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_index_agrees_with_a_scan(
            start in prop::collection::vec(0u64..4, 0..20),
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![0u64..4, Just(OUT)]), 0..60),
        ) {
            let mut keys = start;
            let mut index = MinIndex::new(keys.iter().copied());
            for (place, key) in changes {
                if !keys.is_empty() {
                    let at = place.index(keys.len());
                    keys[at] = key;
                    index.set(at, key);
                }
                let lowest = keys.iter().copied().min().filter(|&key| key != OUT);
                let places: Vec<usize> = (0..keys.len()).filter(|&at| Some(keys[at]) == lowest).collect();
                prop_assert_eq!(index.lowest(), lowest.map(|key| (key, places.len() as u32)));
                let found: Vec<usize> = (0..places.len()).map(|n| index.nth_lowest(n as u32)).collect();
                prop_assert_eq!(found, places);
            }
        }
    }
}
