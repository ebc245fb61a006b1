//! Any workload as a file of requests: what `trace convert` writes.

use std::io;

use super::error::WorkloadError;
use super::source::RequestSource;
use super::trace::CsvExport;

/// Why a workload could not be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The workload cannot be read.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The file cannot be written.
    #[error("cannot write the requests: {0}")]
    Write(#[from] io::Error),
}

/// Writes all requests of a workload as shedcast's own CSV and returns how many there were; replayed, they arrive at the
/// same instants. A column of workers is there where requests may ask for one.
///
/// # Errors
/// If the workload cannot be read on, or the file cannot be written.
pub fn convert<W: io::Write>(source: &mut RequestSource, out: W) -> Result<u64, ConvertError> {
    let mut export = CsvExport::new(out, source.names_workers())?;
    let mut written = 0;
    while let Some(r) = source.next()? {
        let class = source.class_names()[usize::from(r.class.0)].as_str();
        export.write(r.arrival, (r.input_tokens, r.output_tokens), class, r.service_time, r.worker)?;
        written += 1;
    }
    export.finish()?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::engine::rng::Streams;
    use crate::workload::config::{TraceConfig, WorkloadConfig};
    use crate::workload::source::Bounds;

    fn converted(path: PathBuf) -> String {
        let trace = TraceConfig { path, class: "trace".into(), ..Default::default() };
        let config = WorkloadConfig { trace: Some(trace), ..Default::default() };
        let mut source = RequestSource::open(&config, Streams::new(1), Bounds::default()).unwrap();
        let mut bytes = vec![];
        convert(&mut source, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_converted_trace_converts_to_the_same_bytes() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traces");
        for name in
            ["azure_2023.csv", "mooncake_superset.jsonl", "vllm_log.jsonl", "burstgpt_1.csv", "dynamo_request_trace.jsonl"]
        {
            let once = converted(fixtures.join(name));
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("once.csv");
            std::fs::write(&path, &once).unwrap();
            assert_eq!(converted(path), once, "{name}");
        }
        let expected = "arrival_ns,input_tokens,output_tokens,class,service_time_ns\n0,32,4,gold,\n19750000,24,3,batch,\n";
        assert_eq!(converted(fixtures.join("mooncake_superset.jsonl")), expected);
    }
}
