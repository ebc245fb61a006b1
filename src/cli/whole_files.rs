//! Files that appear whole in a directory of the user's: results, all together, and a journal that grows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::Failure;
use super::input::{InputFault, read_own};
use super::output_files::may_write;
use crate::report::DirectoryLock;

/// What to do about a journal that cannot be continued.
const ANEW: &str = "start anew with `--force`, without `--resume`";

pub(super) fn failed(path: &Path, what: &str, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, or choose another directory with `--out`",
        _ => "choose another directory with `--out`",
    };
    Failure::Write(format!("{}: cannot {what}: {error}\n  hint: {hint}", path.display()))
}

/// Makes the directory and takes it for this process.
pub(super) fn claim(out: &Path) -> Result<DirectoryLock, Failure> {
    fs::create_dir_all(out).map_err(|e| failed(out, "make the directory", &e))?;
    Ok(DirectoryLock::take(out)?)
}

/// Writes files: all under names of their own first, then renamed in their order.
pub(super) fn write_whole(out: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    stage(out, files)?;
    commit(out, files)
}

/// Writes files that stand among others, none over one that is there unless `force` is on.
pub(super) fn write_new(out: &Path, files: &[(String, Vec<u8>)], force: bool) -> Result<(), Failure> {
    for (name, _) in files {
        let path = out.join(name);
        may_write(&path, [], force)
            .map_err(|(what, hint)| Failure::Write(format!("{}: {what}\n  hint: {hint}", path.display())))?;
    }
    write_whole(out, files)
}

/// Writes the results of a command that an earlier one may have left results of: the last of `files` is the summary, whose presence
/// says that the others are complete; `outdated` removes what those before it are not to be mixed with.
///
/// Until all are written the earlier results stay as they are; from then on there is no summary until all have their names. So
/// whenever the process may be killed, or the disk be full, nothing half is taken for a result.
pub(super) fn replace_results(out: &Path, files: &[(String, Vec<u8>)], outdated: impl FnOnce()) -> Result<(), Failure> {
    stage(out, files)?;
    if let Some((summary, _)) = files.last() {
        remove_if_there(&out.join(summary))?;
    }
    outdated();
    commit(out, files)
}

/// Removes the charts of earlier results whose names begin so: they would be taken for those of these.
pub(super) fn remove_charts(out: &Path, beginnings: &[&str]) {
    // Those of these results wait under names of their own.
    let is_chart = |name: &str| !name.ends_with(".partial") && beginnings.iter().any(|start| name.starts_with(start));
    for entry in fs::read_dir(out.join("charts")).into_iter().flatten().filter_map(Result::ok) {
        if is_chart(&entry.file_name().to_string_lossy()) {
            // What cannot be removed is replaced, or stays: the summary says what belongs to it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes files under names of their own; what was there before stays as it is, also if one cannot be written.
fn stage(out: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    let written = files.iter().try_for_each(|(name, bytes)| {
        let path = partial(out, name);
        let parent = path.parent().unwrap_or(out);
        fs::create_dir_all(parent).map_err(|e| failed(parent, "make the directory", &e))?;
        fs::write(&path, bytes).map_err(|e| failed(&path, "write the file", &e))
    });
    if written.is_err() {
        // Of no use to anybody; whether it can be removed changes nothing.
        files.iter().for_each(|(name, _)| _ = fs::remove_file(partial(out, name)));
    }
    written
}

/// Gives staged files their names, in their order.
fn commit(out: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    files.iter().try_for_each(|(name, _)| {
        let path = out.join(name);
        fs::rename(partial(out, name), &path).map_err(|e| failed(&path, "rename the file", &e))
    })
}

fn partial(out: &Path, name: &str) -> PathBuf {
    out.join(format!("{name}.partial"))
}

fn remove_if_there(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(path, "remove the file of earlier results", &e)),
        _ => Ok(()),
    }
}

/// Refuses a directory that holds something else than the results of `what`, a sweep or a plan, of the scenario `name`. `there` is
/// the name of the scenario whose results it holds, if it does; what `is_ours` may lie there beside.
pub(super) fn check_content(
    out: &Path,
    (what, name): (&str, &str),
    there: Option<&str>,
    is_ours: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let hint = "choose another directory with `--out`, or add `--force`: foreign files stay";
    let refused = |why: String| Err(Failure::Write(format!("{}: {why}\n  hint: {hint}", out.display())));
    match there {
        Some(there) if there == name => return Ok(()),
        Some(there) => return refused(format!("it holds a {what} of `{there}`, not of `{name}`")),
        None => {}
    }
    let entries = fs::read_dir(out).map_err(|e| failed(out, "read the directory", &e))?;
    let mut foreign: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && !name.ends_with(".partial") && !is_ours(name))
        .collect();
    foreign.sort();
    foreign.first().map_or(Ok(()), |first| refused(format!("it is not empty (`{first}`) and holds no {what}")))
}

/// The journal of work that is not finished, open for further records; the directory belongs to this process meanwhile.
#[derive(Debug)]
pub(super) struct JournalFile {
    path: PathBuf,
    file: File,
    _lock: DirectoryLock,
}

impl JournalFile {
    /// Begins the journal `name` in `out` with `text`. It is never there without its header, or with a part of `text`.
    pub(super) fn begin(out: &Path, name: &str, text: &[u8], lock: DirectoryLock) -> Result<Self, Failure> {
        let (path, aside) = (out.join(name), partial(out, name));
        let mut file = File::create(&aside).map_err(|e| failed(&path, "make the journal", &e))?;
        if let Err(error) = file.write_all(text).and_then(|()| fs::rename(&aside, &path)) {
            // What is left aside says nothing; that it could not be written is told already.
            let _ = fs::remove_file(&aside);
            return Err(failed(&path, "write the journal", &error));
        }
        Ok(Self { path, file, _lock: lock })
    }

    /// Goes on with the journal `name` in `out` after its first `whole_bytes`: what a killed process left half written is cut off.
    pub(super) fn go_on(out: &Path, name: &str, whole_bytes: usize, lock: DirectoryLock) -> Result<Self, Failure> {
        let path = out.join(name);
        let file = OpenOptions::new().append(true).open(&path).map_err(|e| failed(&path, "open the journal", &e))?;
        file.set_len(whole_bytes as u64).map_err(|e| failed(&path, "cut the journal", &e))?;
        Ok(Self { path, file, _lock: lock })
    }

    /// Adds a line: one write, so that a process that dies leaves at most one torn line.
    pub(super) fn add(&mut self, line: &str) -> Result<(), Failure> {
        self.file.write_all(line.as_bytes()).map_err(|e| failed(&self.path, "write the journal", &e))
    }

    /// Removes the journal: the results hold all of it.
    pub(super) fn remove(self) -> Result<(), Failure> {
        fs::remove_file(&self.path).map_err(|e| failed(&self.path, "remove the journal", &e))
    }
}

/// The text of a journal, if there is one. One that is no text is no journal: it is refused if it is to be continued, else it may be
/// replaced.
pub(super) fn read_journal(path: &Path, resume: bool) -> Result<Option<String>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    match read_own(path) {
        Err(InputFault::Io(error)) => Err(failed(path, "read the journal", &error)),
        Err(fault) if resume => Err(not_continued(path, &format!("the journal {fault}"))),
        Err(_) => Ok(Some(String::new())),
        Ok(text) => Ok(Some(text)),
    }
}

/// A journal that cannot be continued, and why.
pub(super) fn not_continued(path: &Path, why: &str) -> Failure {
    Failure::Write(format!("{}: {why}\n  hint: {ANEW}", path.display()))
}

/// Unfinished `what`, a sweep or a plan, that would be lost.
pub(super) fn unfinished(out: &Path, what: &str) -> Failure {
    let hint = "continue it with `--resume`, or replace it with `--force`";
    Failure::Write(format!("{}: an unfinished {what} is there\n  hint: {hint}", out.display()))
}
