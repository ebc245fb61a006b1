//! Rows of equal width, kept outside memory until they are wanted by columns.

use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bytes of a value.
const VALUE: usize = size_of::<f64>();

/// Rows that are written one by one and read again from the start, any number of times.
#[derive(Debug)]
pub struct Spool<F> {
    file: F,
    /// Values of a row.
    width: usize,
    rows: u64,
    /// Bytes it may hold.
    limit: u64,
    buffer: Vec<u8>,
}

/// Bytes gathered before they are written.
const CHUNK: usize = 1 << 16;

impl<F: Read + Write + Seek> Spool<F> {
    /// A spool of rows of `width` values in `file`, which is empty and may hold `limit` bytes.
    pub const fn new(file: F, width: usize, limit: u64) -> Self {
        Self { file, width, rows: 0, limit, buffer: Vec::new() }
    }

    /// How many rows there are.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The file cannot be written, or would be larger than the limit.
    pub fn push(&mut self, row: &[f64]) -> io::Result<()> {
        debug_assert_eq!(row.len(), self.width);
        self.rows += 1;
        if self.rows * (self.width * VALUE) as u64 > self.limit {
            let message = format!("it would be larger than `limits.max_output_bytes` = {}", self.limit);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        row.iter().for_each(|value| self.buffer.extend_from_slice(&value.to_le_bytes()));
        if self.buffer.len() >= CHUNK { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// The columns from `first` on, `count` of them: their values row by row.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn columns(&mut self, first: usize, count: usize) -> io::Result<Vec<f64>> {
        self.write_out()?;
        self.file.seek(SeekFrom::Start(0))?;
        let mut reader = io::BufReader::with_capacity(CHUNK, &mut self.file);
        let mut row = vec![0; self.width * VALUE];
        let mut values = Vec::with_capacity(self.rows as usize * count);
        for _ in 0..self.rows {
            reader.read_exact(&mut row)?;
            let wanted = &row[first * VALUE..(first + count) * VALUE];
            values.extend(wanted.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)));
        }
        self.file.seek(SeekFrom::End(0))?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn columns_come_back_in_the_order_of_the_rows() {
        let mut spool = Spool::new(Cursor::new(Vec::new()), 3, u64::MAX);
        let rows = 10_000;
        (0..rows).for_each(|i| spool.push(&[f64::from(i), -f64::from(i), 0.5]).unwrap());
        assert_eq!(spool.rows(), 10_000);
        let expected: Vec<f64> = (0..rows).flat_map(|i| [-f64::from(i), 0.5]).collect();
        assert_eq!(spool.columns(1, 2).unwrap(), expected);
        // It can be read again, and goes on.
        spool.push(&[7.0, 8.0, 9.0]).unwrap();
        assert_eq!(spool.columns(0, 1).unwrap().last(), Some(&7.0));
    }

    #[test]
    fn a_limit_is_kept() {
        let mut spool = Spool::new(Cursor::new(Vec::new()), 2, 40);
        assert!(spool.push(&[1.0, 2.0]).is_ok() && spool.push(&[1.0, 2.0]).is_ok());
        assert_eq!(spool.push(&[1.0, 2.0]).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
