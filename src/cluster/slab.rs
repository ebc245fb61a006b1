//! Storage with stable indices and no allocation once warm.

use std::ops::{Index, IndexMut};

use prefetch_index::prefetch_index;

/// Items by index; a removed item's place is reused, its stamp tells the two apart.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

/// A place for an item. It begins with a cache line: items are met in any order, each a wait for as many lines as it touches.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Slot<T> {
    item: Option<T>,
    stamp: u32,
}

impl<T> Slab<T> {
    /// An empty slab.
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Stores an item; answers its index.
    pub fn insert(&mut self, item: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.slots[index as usize].item = Some(item);
            return index;
        }
        self.slots.push(Slot { item: Some(item), stamp: 0 });
        u32::try_from(self.slots.len() - 1).expect("runs are bounded to fewer requests in the system")
    }

    /// Drops an item where it is, which is cheaper than to take it out.
    pub fn discard(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        slot.item = None;
        slot.stamp = slot.stamp.wrapping_add(1);
        self.free.push(index);
    }

    /// Takes an item out.
    pub fn remove(&mut self, index: u32) -> T {
        let slot = &mut self.slots[index as usize];
        let item = slot.item.take().expect("the item is there");
        slot.stamp = slot.stamp.wrapping_add(1);
        self.free.push(index);
        item
    }

    /// Changes with each removal at this index.
    pub fn stamp(&self, index: u32) -> u32 {
        self.slots[index as usize].stamp
    }

    /// The item, unless it was removed or replaced since `stamp`.
    pub fn current(&self, index: u32, stamp: u32) -> Option<&T> {
        let slot = &self.slots[index as usize];
        slot.item.as_ref().filter(|_| slot.stamp == stamp)
    }

    /// The item at this index, if there is one.
    pub fn get(&self, index: u32) -> Option<&T> {
        self.slots[index as usize].item.as_ref()
    }

    /// Asks for the item to be at hand soon; waits for nothing, and changes nothing but the time it takes to look at it then.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        prefetch_index(&self.slots, index as usize);
    }

    /// Items stored.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items in the order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().enumerate().filter_map(|(i, slot)| slot.item.as_ref().map(|item| (i as u32, item)))
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, index: u32) -> &T {
        self.slots[index as usize].item.as_ref().expect("the item is there")
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        self.slots[index as usize].item.as_mut().expect("the item is there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_place_has_a_new_stamp() {
        let mut slab = Slab::new();
        let a = slab.insert("a");
        let stamp = slab.stamp(a);
        assert_eq!(slab.current(a, stamp), Some(&"a"));
        assert_eq!(slab.remove(a), "a");
        let b = slab.insert("b");
        assert_eq!(a, b);
        assert_eq!(slab.current(a, stamp), None);
        assert_eq!((slab[b], slab.len()), ("b", 1));
    }
}
