//! `shedcast merge`: the shards of one sweep to the result of the whole.

use std::path::Path;

use super::input::{InputFault, read_own};
use super::sweep::{conclude, out_directory};
use super::sweep_args::MergeArgs;
use super::sweep_files::{SHARD, check_content, write_results};
use super::terminal::Terminal;
use super::whole_files::claim;
use super::{ExitStatus, Failure};
use crate::experiment::sweep::{Journal, Shard, merge as join};

/// Reads the shards, checks that they belong together, and writes what an unsharded sweep writes.
pub(super) fn merge(args: &MergeArgs, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    let journals = Failure::all(args.directories.iter().map(|directory| read(directory)))?;
    let scenario = journals.first().map(|(_, journal)| journal.header.scenario.clone()).unwrap_or_default();
    let result = join(journals).map_err(|error| Failure::Sweep(error.to_string()))?;
    let out = out_directory(args.out.as_deref(), &result.description, Shard::WHOLE);
    let _lock = claim(&out)?;
    check_content(&out, &result.description.name, args.force)?;
    write_results(&out, &result, &scenario, &args.draw)?;
    conclude(&result, &out, (args.format, args.quiet, &args.draw), terminal)
}

/// The shard in a directory, with the directory's name.
fn read(directory: &Path) -> Result<(String, Journal), Failure> {
    let path = directory.join(SHARD);
    let bad = |why: String, hint: &str| Failure::Sweep(format!("{}: {why}\n  hint: {hint}", path.display()));
    let text = read_own(&path).map_err(|fault| {
        let hint = match fault {
            InputFault::Io(_) | InputFault::NotAFile(_) => {
                "name the directories of finished shards (`sweep --shard i/n`); finish the others with `--resume`"
            }
            _ => "it was changed: copy it again, or run the shard again",
        };
        bad(format!("the shard {fault}"), hint)
    })?;
    let journal = Journal::parse(&text).map_err(|why| bad(why, "run the shard again with this version"))?;
    // A finished shard is written in one go and renamed: nothing of ours is ever torn.
    if journal.whole_bytes < text.len() {
        return Err(bad("its last line is torn: it was cut".to_owned(), "copy it again, or run the shard again"));
    }
    Ok((directory.display().to_string(), journal))
}
