//! shedcast's own trace format: what any workload becomes, to be replayed exactly.

use std::io;

use crate::units::{SimTime, Span};

/// Writes requests as CSV: `arrival_ns,input_tokens,output_tokens,class,service_time_ns`, with a `worker` column if
/// requests may be pinned. Read back, it gives the same requests at the same instants.
pub struct CsvExport<W: io::Write> {
    out: csv::Writer<W>,
    with_worker: bool,
}

impl<W: io::Write> CsvExport<W> {
    /// Starts the file with its header.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(out: W, with_worker: bool) -> io::Result<Self> {
        let mut out = csv::WriterBuilder::new().from_writer(out);
        let header = ["arrival_ns", "input_tokens", "output_tokens", "class", "service_time_ns", "worker"];
        out.write_record(&header[..if with_worker { 6 } else { 5 }]).map_err(unwrapped)?;
        Ok(Self { out, with_worker })
    }

    /// Adds one request; an absent service time or worker is an empty field.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(
        &mut self,
        arrival: SimTime,
        (input_tokens, output_tokens): (u32, u32),
        class: &str,
        service_time: Option<Span>,
        worker: Option<u32>,
    ) -> io::Result<()> {
        let service = service_time.map(|s| s.as_nanos().to_string()).unwrap_or_default();
        let tokens = [input_tokens.to_string(), output_tokens.to_string()];
        let worker = worker.filter(|_| self.with_worker).map(|w| w.to_string()).unwrap_or_default();
        let fields = [&arrival.as_nanos().to_string(), &tokens[0], &tokens[1], class, &service, &worker];
        self.out.write_record(&fields[..if self.with_worker { 6 } else { 5 }]).map_err(unwrapped)
    }

    /// Writes what is buffered.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What the system said, whose kind would be lost inside an error of the CSV writer.
fn unwrapped(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
