//! The earliest of many deadlines, one for each of a fixed number of owners, which change often.

use crate::units::SimTime;

/// One deadline per owner: a tournament, in which each inner node knows the earlier of its two halves.
///
/// Setting one costs the logarithm of their number, and a deadline that is replaced leaves nothing behind. Of equal ones the lowest
/// owner comes first.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// Number of leaves, a power of two; owner `i` is node `leaves + i`, the root node 1.
    leaves: usize,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    at: SimTime,
    owner: u32,
}

impl Deadlines {
    /// No deadline, for owners below `owners`.
    pub fn new(owners: usize) -> Self {
        let leaves = owners.next_power_of_two();
        let mut nodes = vec![Node { at: SimTime::NEVER, owner: 0 }; 2 * leaves];
        for (owner, leaf) in nodes[leaves..].iter_mut().enumerate() {
            leaf.owner = u32::try_from(owner).expect("owners are counted in 32 bits");
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { leaves, nodes }
    }

    /// The deadline of `owner` is `at` from now on; [`SimTime::NEVER`] is none.
    ///
    /// # Panics
    /// If there is no such owner.
    #[inline]
    pub fn set(&mut self, owner: u32, at: SimTime) {
        let mut node = self.leaves + owner as usize;
        let mut winner = Node { at, owner };
        self.nodes[node] = winner;
        while node > 1 {
            let (left, right) = (self.nodes[node & !1], self.nodes[node | 1]);
            winner = if right.at < left.at { right } else { left };
            node /= 2;
            if self.nodes[node] == winner {
                break;
            }
            self.nodes[node] = winner;
        }
    }

    /// The earliest deadline and whose it is; [`SimTime::NEVER`] where there is none.
    #[inline]
    pub fn earliest(&self) -> (SimTime, u32) {
        let Node { at, owner } = self.nodes[1];
        (at, owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tournament_agrees_with_a_scan(
            owners in 1usize..20,
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![0u64..5, Just(u64::MAX)]), 0..60),
        ) {
            let mut times = vec![SimTime::NEVER; owners];
            let mut deadlines = Deadlines::new(owners);
            prop_assert_eq!(deadlines.earliest().0, SimTime::NEVER);
            for (owner, at) in changes {
                let (owner, at) = (owner.index(owners), SimTime::from_nanos(at));
                times[owner] = at;
                deadlines.set(owner as u32, at);
                let earliest = *times.iter().min().expect("there is an owner");
                prop_assert_eq!(deadlines.earliest().0, earliest);
                if earliest != SimTime::NEVER {
                    let first = times.iter().position(|&at| at == earliest).expect("it is one of them");
                    prop_assert_eq!(deadlines.earliest().1, first as u32);
                }
            }
        }
    }
}
