//! Mutations: an input is a seed with a few of its bytes, words, lines or numbers changed.

use super::corpus::Corpus;

/// Random numbers by SplitMix64 (Steele, Lea, Flood 2014): the same on every machine.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64, number: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.next();
        dice
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Longest input, bytes.
const LONGEST: usize = 16_384;

/// A seed with 1 to 8 mutations.
pub fn mutate(dice: &mut Dice, corpus: &Corpus) -> Vec<u8> {
    let mut bytes = dice.pick(&corpus.entries).clone();
    for _ in 0..=dice.below(8) {
        once(dice, corpus, &mut bytes);
        bytes.truncate(LONGEST);
    }
    bytes
}

fn once(dice: &mut Dice, corpus: &Corpus, bytes: &mut Vec<u8>) {
    let at = dice.below(bytes.len() + 1);
    match dice.below(12) {
        0 => flip(dice, bytes),
        1 => bytes.insert(at, dice.next() as u8),
        2 => bytes.truncate(at),
        3 => remove(dice, bytes),
        4 => double(dice, bytes),
        5 | 6 => replace_word(dice, corpus, bytes),
        7 => insert(bytes, at, dice.pick::<Vec<u8>>(&corpus.words)),
        8 => splice(dice, corpus, bytes),
        9 => swap_lines(dice, bytes),
        10 => nest(dice, bytes, at),
        _ => change_number(dice, bytes),
    }
}

fn flip(dice: &mut Dice, bytes: &mut [u8]) {
    if !bytes.is_empty() {
        let at = dice.below(bytes.len());
        bytes[at] ^= 1 << dice.below(8);
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

/// A piece of the input.
fn piece(dice: &mut Dice, bytes: &[u8], longest: usize) -> std::ops::Range<usize> {
    let start = dice.below(bytes.len());
    let length = dice.below(longest.min(bytes.len() - start) + 1);
    start..start + length
}

fn remove(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let range = piece(dice, bytes, 64);
    bytes.drain(range);
}

fn double(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let range = piece(dice, bytes, 256);
    let copy = bytes[range].to_vec();
    let at = dice.below(bytes.len() + 1);
    for _ in 0..=dice.below(3) {
        insert(bytes, at, &copy);
    }
}

/// The word around a random place.
fn word_at(dice: &mut Dice, bytes: &[u8], is_part: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let at = dice.below(bytes.len());
    let start = bytes[..at].iter().rposition(|byte| !is_part(*byte)).map_or(0, |n| n + 1);
    let end = bytes[at..].iter().position(|byte| !is_part(*byte)).map_or(bytes.len(), |n| at + n);
    start..end.max(start)
}

fn replace_word(dice: &mut Dice, corpus: &Corpus, bytes: &mut Vec<u8>) {
    let range = word_at(dice, bytes, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    let word = dice.pick(&corpus.words).clone();
    bytes.splice(range, word);
}

fn change_number(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let Some(at) = bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(n, _)| n).nth(dice.below(64)) else {
        return;
    };
    let end = bytes[at..].iter().position(|byte| !byte.is_ascii_digit()).map_or(bytes.len(), |n| at + n);
    let number = match dice.below(4) {
        0 => dice.next().to_string(),
        1 => dice.below(300).to_string(),
        2 => format!("-{}", dice.below(300)),
        _ => format!("{}e{}", dice.below(10), dice.below(400)),
    };
    bytes.splice(at..end, number.into_bytes());
}

/// The head of this input and the tail of another.
fn splice(dice: &mut Dice, corpus: &Corpus, bytes: &mut Vec<u8>) {
    let other = dice.pick(&corpus.entries);
    let (cut, from) = (dice.below(bytes.len() + 1), dice.below(other.len() + 1));
    bytes.truncate(cut);
    bytes.extend_from_slice(&other[from..]);
}

fn swap_lines(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
    lines.swap(a, b);
    *bytes = lines.join(&b'\n');
}

/// Brackets in brackets.
fn nest(dice: &mut Dice, bytes: &mut Vec<u8>, at: usize) {
    let (open, close): (&[u8], &[u8]) =
        *dice.pick(&[(&b"["[..], &b"]"[..]), (b"{\"a\":", b"}"), (b"{a=", b"}"), (b"a.", b""), (b"(", b")")]);
    let depth = 1 + dice.below(200);
    let nested = [open.repeat(depth), close.repeat(dice.below(depth + 1))].concat();
    insert(bytes, at, &nested);
}

#[test]
fn inputs_are_a_function_of_seed_and_number() {
    let corpus = Corpus::of("grid");
    let make = |seed, number| mutate(&mut Dice::new(seed, number), &corpus);
    assert_eq!(make(1, 7), make(1, 7));
    assert_ne!((0..20).map(|n| make(1, n)).collect::<Vec<_>>(), (0..20).map(|n| make(2, n)).collect::<Vec<_>>());
    assert!((0..2_000).all(|n| make(3, n).len() <= LONGEST));
}
