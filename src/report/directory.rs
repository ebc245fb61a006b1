//! A directory of results: files appear in it whole, all together, when the run has succeeded.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Every file that a run may leave in its directory, the summary last: its presence says that the others are complete.
pub const RESULT_FILES: [&str; 27] = [
    "resolved.toml",
    "timeseries.csv",
    "worker_timeseries.csv",
    "requests.csv",
    "workers.csv",
    "ranks.csv",
    "threshold_updates.csv",
    "metrics.om",
    "overview.svg",
    "overview.png",
    "charts/traffic.svg",
    "charts/traffic.png",
    "charts/refusals.svg",
    "charts/refusals.png",
    "charts/occupancy.svg",
    "charts/occupancy.png",
    "charts/loads.svg",
    "charts/loads.png",
    "charts/busy.svg",
    "charts/busy.png",
    "charts/updates.svg",
    "charts/updates.png",
    "charts/latency.svg",
    "charts/latency.png",
    "charts.json",
    "report.html",
    SUMMARY,
];

const SUMMARY: &str = "summary.json";
/// Files by which the results of other commands are known, and what they are.
const OTHER_RESULTS: [(&str, &str); 5] = [
    ("sweep.json", "a sweep"),
    ("sweep-shard.jsonl", "a shard of a sweep"),
    ("sweep-journal.jsonl", "an unfinished sweep"),
    ("plan.json", "a plan"),
    ("plan-journal.jsonl", "an unfinished plan"),
];
const RESOLVED: &str = "resolved.toml";
/// Ending of a file that is being written.
const PARTIAL: &str = ".partial";

/// Why results cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The operating system refuses.
    #[error("{}: cannot {what}: {source}\n  hint: {hint}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as a verb.
        what: &'static str,
        /// What the system said.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// Another run writes there.
    #[error("{}: another run is writing its results there\n  hint: wait for it, or choose another directory with `--out`", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("{}: {what}\n  hint: choose another directory with `--out`, or add `--force`: foreign files stay", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// What is there.
        what: String,
    },
}

impl DirectoryError {
    fn io(path: &Path, what: &'static str, source: io::Error) -> Self {
        let hint = match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "choose a directory you may write to with `--out`"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room, or choose another directory with `--out`",
            io::ErrorKind::FileTooLarge => "raise `limits.max_output_bytes`, or leave `requests.csv` out",
            _ => "choose another directory with `--out`",
        };
        Self::Io { path: path.to_owned(), what, source, hint }
    }
}

/// A directory that is being filled. Until [`commit`](Self::commit) its files have names of their own, and are removed when it
/// is dropped; what was there before stays untouched.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Largest file, bytes.
    limit: u64,
    /// Files written so far, by their final names.
    staged: Vec<String>,
    /// Directories made for this run, innermost last: removed again if nothing comes of it.
    made: Vec<PathBuf>,
    committed: bool,
    /// Held while the run lasts: no second run gets the directory.
    _lock: DirectoryLock,
}

impl Directory {
    /// Makes or takes over the directory `path` for results of the scenario `name`; no file may exceed `limit` bytes.
    ///
    /// # Errors
    /// It cannot be made or written to; another run has it; it holds anything but results of a scenario of the same name, and
    /// `force` is off.
    pub fn open(path: &Path, name: &str, force: bool, limit: u64) -> Result<Self, DirectoryError> {
        let made = missing_ancestors(path);
        fs::create_dir_all(path).map_err(|e| DirectoryError::io(path, "make the directory", e))?;
        let lock = DirectoryLock::take(path)?;
        let directory = Self { path: path.to_owned(), limit, staged: Vec::new(), made, committed: false, _lock: lock };
        if !force {
            directory.check_content(name)?;
        }
        directory.check_writable()?;
        directory.sweep();
        Ok(directory)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file to be streamed into. It gets its name with the commit.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn file(&mut self, name: &str) -> Result<LimitedFile, DirectoryError> {
        let path = self.partial(name);
        if let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) {
            fs::create_dir_all(parent).map_err(|e| DirectoryError::io(parent, "make the directory", e))?;
            self.made.push(parent.to_owned());
        }
        let file = File::create(&path).map_err(|e| DirectoryError::io(&path, "make the file", e))?;
        self.staged.push(name.to_owned());
        Ok(LimitedFile { file: BufWriter::new(file), left: self.limit, limit: self.limit })
    }

    /// Writes a whole file. It gets its name with the commit.
    ///
    /// # Errors
    /// It cannot be written, or is larger than the limit.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), DirectoryError> {
        let mut file = self.file(name)?;
        let written = file.write_all(bytes).and_then(|()| file.flush());
        written.map_err(|e| DirectoryError::io(&self.path.join(name), "write the file", e))
    }

    /// What streaming into `name` failed of, as an error of this directory.
    pub fn stream_error(&self, name: &str, source: io::Error) -> DirectoryError {
        DirectoryError::io(&self.path.join(name), "write the file", source)
    }

    /// Gives all files their names, removes files of earlier results that this run did not write, and tells the names.
    ///
    /// The summary of earlier results goes first and the new one comes last: a directory with a summary is complete, whenever
    /// the process may be killed.
    ///
    /// # Errors
    /// A file cannot be renamed or removed.
    pub fn commit(mut self) -> Result<Vec<String>, DirectoryError> {
        self.remove_if_there(SUMMARY)?;
        for name in RESULT_FILES.iter().filter(|name| !self.staged.iter().any(|staged| staged == *name)) {
            self.remove_if_there(name)?;
        }
        let order = |name: &String| RESULT_FILES.iter().position(|known| known == name);
        self.staged.sort_by_key(order);
        for name in &self.staged {
            let (from, to) = (self.partial(name), self.path.join(name));
            fs::rename(&from, &to).map_err(|e| DirectoryError::io(&to, "rename the file", e))?;
        }
        self.committed = true;
        // An earlier run may have left a folder of charts that is empty now.
        let _ = fs::remove_dir(self.path.join("charts"));
        Ok(std::mem::take(&mut self.staged))
    }

    fn partial(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{PARTIAL}"))
    }

    fn remove_if_there(&self, name: &str) -> Result<(), DirectoryError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Err(DirectoryError::io(&path, "remove the file of earlier results", e))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a directory that holds anything but results of a scenario of this name.
    fn check_content(&self, name: &str) -> Result<(), DirectoryError> {
        let occupied = |what: String| Err(DirectoryError::Occupied { path: self.path.clone(), what });
        if let Ok(text) = fs::read_to_string(self.path.join(RESOLVED)) {
            let of = text.parse::<toml::Table>().ok().and_then(|t| Some(t.get("name")?.as_str()?.to_owned()));
            return match of {
                Some(of) if of == name => Ok(()),
                Some(of) => occupied(format!("it holds the results of `{of}`, not of `{name}`")),
                None => occupied(format!("its `{RESOLVED}` is not one of shedcast's")),
            };
        }
        // Theirs is not this one's to overwrite, but it is no stranger's either.
        for (file, what) in OTHER_RESULTS {
            if self.path.join(file).exists() {
                return occupied(format!("it holds {what} (`{file}`), not the results of a run"));
            }
        }
        let entries = fs::read_dir(&self.path).map_err(|e| DirectoryError::io(&self.path, "read the directory", e))?;
        let mut foreign: Vec<String> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.') && !name.ends_with(PARTIAL) && name != "charts")
            .collect();
        foreign.sort();
        match foreign.first() {
            Some(first) => occupied(format!("it is not empty (`{first}`) and holds no results of shedcast")),
            None => Ok(()),
        }
    }

    /// Tries whether files can be made at all, before a long run.
    fn check_writable(&self) -> Result<(), DirectoryError> {
        let path = self.partial(SUMMARY);
        File::create(&path).map_err(|e| DirectoryError::io(&self.path, "write into the directory", e))?;
        fs::remove_file(&path).map_err(|e| DirectoryError::io(&path, "remove a file", e))
    }

    /// Removes what a killed run left half-written.
    fn sweep(&self) {
        for name in RESULT_FILES {
            let _ = fs::remove_file(self.partial(name));
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        for name in &self.staged {
            let _ = fs::remove_file(self.partial(name));
        }
        // Fails, as it should, where a directory is not empty.
        for made in self.made.iter().rev() {
            let _ = fs::remove_dir(made);
        }
    }
}

/// The directories that making `path` will make, outermost first.
fn missing_ancestors(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().filter(|p| !p.as_os_str().is_empty()).take_while(|p| !p.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// A directory that belongs to this process until this is dropped, or the process is gone, however it went.
#[derive(Debug)]
pub struct DirectoryLock {
    /// The open directory; nothing where the platform or the file system cannot lock one.
    _file: Option<File>,
}

impl DirectoryLock {
    /// Takes the directory `path`.
    ///
    /// # Errors
    /// Another process has it, or it cannot be opened.
    pub fn take(path: &Path) -> Result<Self, DirectoryError> {
        if !cfg!(unix) {
            return Ok(Self { _file: None });
        }
        let directory = File::open(path).map_err(|e| DirectoryError::io(path, "open the directory", e))?;
        match directory.try_lock() {
            Ok(()) => Ok(Self { _file: Some(directory) }),
            Err(fs::TryLockError::WouldBlock) => Err(DirectoryError::InUse { path: path.to_owned() }),
            // Some network file systems have no locks: then nobody can be kept out.
            Err(fs::TryLockError::Error(_)) => Ok(Self { _file: None }),
        }
    }
}

/// A file that refuses to grow beyond a limit.
#[derive(Debug)]
pub struct LimitedFile {
    file: BufWriter<File>,
    left: u64,
    limit: u64,
}

impl Write for LimitedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            let message = format!("it would be larger than `limits.max_output_bytes` = {}", self.limit);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        let written = self.file.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn filled(path: &Path, name: &str, files: &[&str]) {
        let mut directory = Directory::open(path, name, false, 1000).unwrap();
        directory.write(RESOLVED, format!("name = \"{name}\"\n").as_bytes()).unwrap();
        files.iter().for_each(|file| directory.write(file, b"x").unwrap());
        directory.commit().unwrap();
    }

    #[test]
    fn files_appear_with_the_commit_and_stale_ones_go() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        filled(&path, "n", &[SUMMARY, "requests.csv", "charts/busy.svg"]);
        assert_eq!(names(&path), ["charts", "requests.csv", "resolved.toml", "summary.json"]);
        filled(&path, "n", &[SUMMARY]);
        assert_eq!(names(&path), ["resolved.toml", "summary.json"]);
    }

    #[test]
    fn a_run_that_comes_to_nothing_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b");
        let mut directory = Directory::open(&path, "n", false, 1000).unwrap();
        directory.write("charts/busy.svg", b"x").unwrap();
        drop(directory);
        assert!(names(root.path()).is_empty());
        filled(&path, "n", &[SUMMARY]);
        let mut directory = Directory::open(&path, "n", false, 1000).unwrap();
        directory.write(SUMMARY, b"other").unwrap();
        drop(directory);
        assert_eq!(fs::read(path.join(SUMMARY)).unwrap(), b"x");
    }

    #[test]
    fn other_work_is_not_overwritten_unless_told() {
        let root = tempfile::tempdir().unwrap();
        filled(root.path(), "one", &[SUMMARY]);
        let error = Directory::open(root.path(), "two", false, 1000).unwrap_err().to_string();
        assert!(error.contains("holds the results of `one`, not of `two`") && error.contains("--force"), "{error}");
        drop(Directory::open(root.path(), "two", true, 1000).unwrap());
        let foreign = tempfile::tempdir().unwrap();
        fs::write(foreign.path().join("thesis.tex"), "x").unwrap();
        let error = Directory::open(foreign.path(), "two", false, 1000).unwrap_err().to_string();
        assert!(error.contains("it is not empty (`thesis.tex`)"), "{error}");
        assert_eq!(names(foreign.path()), ["thesis.tex"]);
        fs::write(foreign.path().join("sweep.json"), "x").unwrap();
        let error = Directory::open(foreign.path(), "two", false, 1000).unwrap_err().to_string();
        assert!(error.contains("it holds a sweep (`sweep.json`), not the results of a run"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn two_runs_do_not_share_a_directory() {
        let root = tempfile::tempdir().unwrap();
        let first = Directory::open(root.path(), "n", false, 1000).unwrap();
        assert!(matches!(Directory::open(root.path(), "n", true, 1000), Err(DirectoryError::InUse { .. })));
        drop(first);
        Directory::open(root.path(), "n", false, 1000).unwrap();
    }

    #[test]
    fn a_file_beyond_the_limit_is_an_error_that_says_so() {
        let root = tempfile::tempdir().unwrap();
        let mut directory = Directory::open(root.path(), "n", false, 10).unwrap();
        directory.write("ranks.csv", b"0123456789").unwrap();
        let error = directory.write(SUMMARY, b"0123456789x").unwrap_err().to_string();
        assert!(error.contains("larger than `limits.max_output_bytes` = 10"), "{error}");
    }

    #[test]
    fn a_path_that_is_a_file_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("f");
        fs::write(&file, "x").unwrap();
        assert!(matches!(Directory::open(&file, "n", true, 10), Err(DirectoryError::Io { .. })));
    }
}
