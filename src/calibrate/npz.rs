//! NumPy archives: a ZIP file of `.npy` arrays.
//!
//! Only what `numpy.savez` and `numpy.savez_compressed` write is read: stored or deflated members without encryption, found
//! through the central directory (PKWARE APPNOTE 6.3.10, sections 4.3.12 and 4.3.16).

use std::io::Read as _;
use std::path::Path;

use flate2::read::DeflateDecoder;

use super::error::CalibrationError;
use super::npy::parse;
use super::rows::read_bytes;

const END_OF_DIRECTORY: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const MEMBER: [u8; 4] = *b"PK\x03\x04";
/// Length of the record at the end, without its comment.
const END_LENGTH: usize = 22;
/// Bytes of the unpacked arrays together at most: a small archive may name one member, or pack one byte, many times.
const MOST_BYTES: u64 = 64 << 20;
const HINT: &str =
    "expected an archive as `numpy.savez` writes it; Dynamo's profiler leaves `prefill_raw_data.npz` and `decode_raw_data.npz`";

/// The arrays of an archive by name, without the ending `.npy`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arrays(Vec<(String, Vec<f64>)>);

impl Arrays {
    /// Reads an archive.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub(super) fn read(path: &Path) -> Result<Self, CalibrationError> {
        Self::parse(&read_bytes(path)?).map_err(|problem| CalibrationError::file(path, &problem, HINT))
    }

    /// Reads the bytes of an archive.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (mut arrays, mut room) = (Vec::new(), MOST_BYTES);
        for entry in directory(bytes)? {
            let Some(name) = entry.name.strip_suffix(".npy") else { continue };
            let unpacked = entry.unpack(bytes, room).map_err(|problem| format!("`{}`: {problem}", entry.name))?;
            room -= unpacked.len() as u64;
            arrays.push((name.to_owned(), parse(&unpacked).map_err(|problem| format!("`{}`: {problem}", entry.name))?));
        }
        Ok(Self(arrays))
    }

    /// An array by name.
    pub(super) fn get(&self, name: &str) -> Option<&[f64]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, values)| values.as_slice())
    }

    /// The names.
    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// A member as the directory lists it.
struct Entry {
    name: String,
    method: u16,
    packed: usize,
    unpacked: u64,
    at: usize,
}

fn directory(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    // The record at the end may be followed by a comment of up to 64 KiB.
    let last = bytes.len().checked_sub(END_LENGTH).ok_or("it is too short for a ZIP archive")?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    let end = (first..=last).rev().find(|at| bytes[*at..].starts_with(&END_OF_DIRECTORY)).ok_or("it is no ZIP archive")?;
    let (count, mut at) = (u16_at(bytes, end + 10)?, u32_at(bytes, end + 16)? as usize);
    let mut entries = Vec::new();
    for _ in 0..count {
        if !bytes.get(at..).is_some_and(|rest| rest.starts_with(&ENTRY)) {
            return Err("its directory is damaged".to_owned());
        }
        let (name, extra, comment) = (u16_at(bytes, at + 28)?, u16_at(bytes, at + 30)?, u16_at(bytes, at + 32)?);
        let name_end = at + 46 + usize::from(name);
        let text = bytes.get(at + 46..name_end).ok_or("its directory is cut off")?;
        if u16_at(bytes, at + 8)? & 1 == 1 {
            return Err("it is encrypted".to_owned());
        }
        entries.push(Entry {
            name: String::from_utf8_lossy(text).into_owned(),
            method: u16_at(bytes, at + 10)?,
            packed: u32_at(bytes, at + 20)? as usize,
            unpacked: u32_at(bytes, at + 24)?.into(),
            at: u32_at(bytes, at + 42)? as usize,
        });
        at = name_end + usize::from(extra) + usize::from(comment);
    }
    Ok(entries)
}

impl Entry {
    /// The content of the member, if that is at most `room` bytes.
    fn unpack(&self, bytes: &[u8], room: u64) -> Result<Vec<u8>, String> {
        if self.unpacked > room || self.packed as u64 > room {
            return Err(format!("its arrays have more than {MOST_BYTES} bytes"));
        }
        if !bytes.get(self.at..).is_some_and(|rest| rest.starts_with(&MEMBER)) {
            return Err("it is not where the directory says".to_owned());
        }
        let skip = usize::from(u16_at(bytes, self.at + 26)?) + usize::from(u16_at(bytes, self.at + 28)?);
        let from = self.at + 30 + skip;
        let packed = from.checked_add(self.packed).and_then(|to| bytes.get(from..to)).ok_or("it is cut off")?;
        match self.method {
            0 => Ok(packed.to_vec()),
            8 => {
                let mut out = Vec::new();
                let mut reader = DeflateDecoder::new(packed).take(self.unpacked + 1);
                reader.read_to_end(&mut out).map_err(|error| format!("it cannot be unpacked: {error}"))?;
                if out.len() as u64 != self.unpacked {
                    return Err(format!("it does not unpack to {} bytes, as its directory says", self.unpacked));
                }
                Ok(out)
            }
            other => Err(format!("compression method {other}: expected stored (0) or deflated (8)")),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, String> {
    let two = bytes.get(at..at + 2).ok_or("it is cut off")?;
    Ok(u16::from_le_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    Ok(u32::from(u16_at(bytes, at)?) | u32::from(u16_at(bytes, at + 2)?) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use std::io::Write as _;

    /// An archive of one member.
    fn archive(name: &str, content: &[u8], deflate: bool) -> Vec<u8> {
        let packed = if deflate {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        } else {
            content.to_vec()
        };
        let method = if deflate { [8, 0] } else { [0, 0] };
        let sizes = [(packed.len() as u32).to_le_bytes(), (content.len() as u32).to_le_bytes()].concat();
        let name_length = (name.len() as u16).to_le_bytes();
        let mut bytes = [&MEMBER[..], &[20, 0, 0, 0], &method, &[0; 8], &sizes, &name_length, &[0, 0]].concat();
        bytes.extend([name.as_bytes(), packed.as_slice()].concat());
        let directory = bytes.len() as u32;
        bytes.extend([&ENTRY[..], &[20, 0, 20, 0, 0, 0], &method, &[0; 8], &sizes, &name_length, &[0; 16]].concat());
        bytes.extend(name.as_bytes());
        let length = bytes.len() as u32 - directory;
        bytes.extend([&END_OF_DIRECTORY[..], &[0; 4], &[1, 0, 1, 0], &length.to_le_bytes(), &directory.to_le_bytes()].concat());
        bytes.extend([0, 0]);
        bytes
    }

    fn array() -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
        bytes.extend(format!("{:<69}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }").as_bytes());
        bytes.extend([1.5f64, -2.0].map(f64::to_le_bytes).concat());
        bytes
    }

    #[test]
    fn stored_and_deflated_arrays_are_read() {
        for deflate in [false, true] {
            let arrays = Arrays::parse(&archive("x.npy", &array(), deflate)).unwrap();
            assert_eq!(arrays.get("x"), Some([1.5, -2.0].as_slice()));
            assert_eq!(arrays.names(), ["x"]);
        }
    }

    #[test]
    fn a_member_named_many_times_is_not_unpacked_many_times() {
        // 4 MiB that pack into some kilobytes, and a directory that names them 40 times.
        let header = format!("{:<69}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (524288,), }");
        let array = [b"\x93NUMPY\x01\x00\x46\x00", header.as_bytes(), &[0; 8 * 524_288]].concat();
        let one = archive("x.npy", &array, true);
        assert_eq!(Arrays::parse(&one).unwrap().get("x").unwrap().len(), 524_288);
        let end = one.len() - END_LENGTH;
        let start = u32_at(&one, end + 16).unwrap() as usize;
        let entry = &one[start..end];
        let mut bomb = [&one[..start], &entry.repeat(40)].concat();
        bomb.extend([&END_OF_DIRECTORY[..], &[0; 4], &[40, 0, 40, 0]].concat());
        bomb.extend([(40 * entry.len() as u32).to_le_bytes(), (start as u32).to_le_bytes()].concat());
        bomb.extend([0, 0]);
        assert!(bomb.len() < 20_000);
        assert_eq!(Arrays::parse(&bomb).unwrap_err(), "`x.npy`: its arrays have more than 67108864 bytes");
    }

    #[test]
    fn damage_is_told_and_never_a_panic() {
        let good = archive("x.npy", &array(), true);
        for cut in 0..good.len() {
            assert!(Arrays::parse(&good[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            let _ = Arrays::parse(&bad);
        }
        assert_eq!(Arrays::parse(b"PK").unwrap_err(), "it is too short for a ZIP archive");
    }
}
