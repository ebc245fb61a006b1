//! One NumPy array in its file format (NEP 1): a magic word, a header in Python's notation, then the values.

/// The values of a one-dimensional array of numbers.
///
/// # Errors
/// What is wrong: no array, or of another kind than little-endian integers or floats.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<f64>, String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("it is no NumPy array")?;
    let (length, from) = match rest {
        [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([*a, *b])), 4),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 6),
        _ => return Err("its version is unknown: expected 1, 2 or 3".to_owned()),
    };
    let header = rest.get(from..from + length).ok_or("its header is cut off")?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;
    let data = &rest[from + length..];
    let kind = field(header, "descr").ok_or("its header has no `descr`")?;
    let kind = kind.trim_matches(['\'', '"']);
    let count = count(header)?;
    type Read = fn(&[u8]) -> f64;
    let (size, read): (usize, Read) = match kind {
        "<f8" => (8, |b| f64::from_le_bytes(b.try_into().expect("eight bytes"))),
        "<f4" => (4, |b| f32::from_le_bytes(b.try_into().expect("four bytes")).into()),
        "<i8" => (8, |b| i64::from_le_bytes(b.try_into().expect("eight bytes")) as f64),
        "<u8" => (8, |b| u64::from_le_bytes(b.try_into().expect("eight bytes")) as f64),
        "<i4" => (4, |b| i32::from_le_bytes(b.try_into().expect("four bytes")).into()),
        "<u4" => (4, |b| u32::from_le_bytes(b.try_into().expect("four bytes")).into()),
        other => return Err(format!("its values are `{other}`: expected little-endian numbers such as `<f8`")),
    };
    let bytes = count.checked_mul(size).and_then(|n| data.get(..n)).ok_or("its values are cut off")?;
    Ok(bytes.chunks_exact(size).map(read).collect())
}

/// The text between a key and the next comma that is in no bracket.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let after = header.split_once(&format!("'{key}':"))?.1;
    let mut depth = 0;
    let end = after.find(|c| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        depth == 0 && (c == ',' || c == '}')
    })?;
    Some(after[..end].trim())
}

/// Values of an array of no or one dimension.
fn count(header: &str) -> Result<usize, String> {
    let shape = field(header, "shape").ok_or("its header has no `shape`")?;
    let sizes: Vec<&str> = shape.trim_matches(['(', ')']).split(',').map(str::trim).filter(|s| !s.is_empty()).collect();
    match sizes.as_slice() {
        [] => Ok(1),
        [one] => one.parse().map_err(|_| format!("its shape is `{shape}`")),
        _ => Err(format!("its shape is `{shape}`: expected one dimension")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn integers_and_scalars_are_read() {
        let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n";
        let data = [7i64, -1].map(i64::to_le_bytes).concat();
        assert_eq!(parse(&array(header, &data)), Ok(vec![7.0, -1.0]));
        let scalar = "{'descr': '<f4', 'fortran_order': False, 'shape': (), }\n";
        assert_eq!(parse(&array(scalar, &0.5f32.to_le_bytes())), Ok(vec![0.5]));
    }

    #[test]
    fn other_kinds_are_named() {
        let text = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n";
        assert_eq!(
            parse(&array(text, &[0; 8])).unwrap_err(),
            "its values are `|O`: expected little-endian numbers such as `<f8`"
        );
        let table = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n";
        assert_eq!(parse(&array(table, &[0; 32])).unwrap_err(), "its shape is `(2, 2)`: expected one dimension");
        let short = "{'descr': '<f8', 'fortran_order': False, 'shape': (5,), }\n";
        assert_eq!(parse(&array(short, &[0; 8])).unwrap_err(), "its values are cut off");
    }
}
