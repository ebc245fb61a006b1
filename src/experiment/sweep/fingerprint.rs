//! A fingerprint of what decides a sweep's results, so that parts of different sweeps are never joined.

/// FNV-1a with 128 bits (Fowler, Noll and Vo; RFC 9923): it tells different sweeps apart, it is no defence against forgery.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u128);

const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

impl Fingerprint {
    /// The fingerprint of nothing.
    pub const fn new() -> Self {
        Self(BASIS)
    }

    /// Adds bytes, with their length, so that `ab` + `c` differs from `a` + `bc`.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let length = (bytes.len() as u64).to_le_bytes();
        Self(length.iter().chain(bytes).fold(self.0, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME)))
    }

    /// As a number.
    pub const fn value(self) -> u128 {
        self.0
    }

    /// As 32 hexadecimal digits.
    pub fn text(self) -> String {
        format!("{:032x}", self.0)
    }
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_parts_are_cut_matters() {
        let of = |parts: &[&str]| parts.iter().fold(Fingerprint::new(), |f, part| f.with(part.as_bytes())).text();
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&[]), of(&[""]));
        assert_eq!(of(&["ab"]), of(&["ab"]));
    }
}
