//! Storage with stable indices and no allocation once warm.

use std::ops::{Index, IndexMut};

/// Items by index; a removed item's place is reused, its stamp tells the two apart.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    items: Vec<Option<T>>,
    stamps: Vec<u32>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// An empty slab.
    pub const fn new() -> Self {
        Self { items: Vec::new(), stamps: Vec::new(), free: Vec::new() }
    }

    /// Stores an item; answers its index.
    pub fn insert(&mut self, item: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.items[index as usize] = Some(item);
            return index;
        }
        self.items.push(Some(item));
        self.stamps.push(0);
        u32::try_from(self.items.len() - 1).expect("runs are bounded to fewer requests in the system")
    }

    /// Drops an item where it is, which is cheaper than to take it out.
    pub fn discard(&mut self, index: u32) {
        self.items[index as usize] = None;
        self.stamps[index as usize] = self.stamps[index as usize].wrapping_add(1);
        self.free.push(index);
    }

    /// Takes an item out.
    pub fn remove(&mut self, index: u32) -> T {
        let item = self.items[index as usize].take().expect("the item is there");
        self.stamps[index as usize] = self.stamps[index as usize].wrapping_add(1);
        self.free.push(index);
        item
    }

    /// Changes with each removal at this index.
    pub fn stamp(&self, index: u32) -> u32 {
        self.stamps[index as usize]
    }

    /// The item, unless it was removed or replaced since `stamp`.
    pub fn current(&self, index: u32, stamp: u32) -> Option<&T> {
        (self.stamps[index as usize] == stamp).then(|| self.items[index as usize].as_ref()).flatten()
    }

    /// The item at this index, if there is one.
    pub fn get(&self, index: u32) -> Option<&T> {
        self.items[index as usize].as_ref()
    }

    /// Items stored.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items in the order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.items.iter().enumerate().filter_map(|(i, item)| item.as_ref().map(|item| (i as u32, item)))
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
        self.items[index as usize].as_ref().expect("the item is there")
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        self.items[index as usize].as_mut().expect("the item is there")
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
