//! `shedcast merge`: the shards of one sweep to the result of the whole.

use std::fs;

use super::args::ChartFormat;
use super::sweep::{conclude, out_directory};
use super::sweep_args::MergeArgs;
use super::sweep_files::{SHARD, failed, write_results};
use super::terminal::Terminal;
use super::{ExitStatus, Failure};
use crate::experiment::sweep::{Journal, Shard, merge as join};

/// Reads the shards, checks that they belong together, and writes what an unsharded sweep writes.
pub(super) fn merge(args: &MergeArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let mut journals = Vec::new();
    for directory in &args.directories {
        let path = directory.join(SHARD);
        let text = fs::read_to_string(&path).map_err(|error| {
            let hint = "name the directories of finished shards (`sweep --shard i/n`); finish the others with `--resume`";
            Failure::Sweep(format!("{}: cannot read the shard: {error}\n  hint: {hint}", path.display()))
        })?;
        let journal = Journal::parse(&text)
            .map_err(|why| Failure::Sweep(format!("{}: {why}\n  hint: run the shard again with this version", path.display())))?;
        journals.push((directory.display().to_string(), journal));
    }
    let result = join(journals).map_err(|error| Failure::Sweep(error.to_string()))?;
    let out = out_directory(args.out.as_deref(), &result.description, Shard::WHOLE);
    fs::create_dir_all(&out).map_err(|e| failed(&out, "make the directory", &e))?;
    let charts: &[ChartFormat] = if args.no_charts { &[] } else { &args.charts };
    write_results(&out, &result, charts)?;
    conclude(&result, &out, args.quiet, terminal)
}
