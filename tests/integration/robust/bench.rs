//! A folder to break things in, and the command line run inside it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use flate2::Compression;
use flate2::write::GzEncoder;

/// A fleet and traffic that are fine, and quick to run.
pub const GOOD: &str = r#"name = "good"
horizon = "5s"
[fleet]
workers = 2
engine = "h100-llama-3.1-8b-bf16-vllm"
kv_total_blocks = 1500
engine_request_limit = 24
request_queue_limit = 4
[frontend]
router_mode = "kv"
active_decode_blocks_threshold = 0.9
[workload]
arrivals = { process = "poisson", rate = 30 }
input_tokens = 900
output_tokens = 60
"#;

/// What a scheduler would set, and what changes how messages look.
const NOT_INHERITED: [&str; 7] = [
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_MIN",
    "JOB_COMPLETION_INDEX",
    "SHEDCAST_SHARD_COUNT",
    "NO_COLOR",
    "COLUMNS",
];

/// Nothing here may take longer: a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with files of every bad kind.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// A folder with the good scenario in `good.toml`.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bench = Self { folder };
        bench.write("good.toml", GOOD);
        bench
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("made");
        fs::write(path, content).expect("written");
    }

    /// A text gzipped.
    pub fn write_gzip(&self, name: &str, text: &str, keep: impl Fn(&mut Vec<u8>)) {
        let mut zip = GzEncoder::new(Vec::new(), Compression::default());
        std::io::Write::write_all(&mut zip, text.as_bytes()).expect("memory");
        let mut bytes = zip.finish().expect("memory");
        keep(&mut bytes);
        self.write(name, bytes);
    }

    /// `name` leads to `to`.
    pub fn link(&self, name: &str, to: &str) {
        symlink(to, self.path().join(name)).expect("linked");
    }

    /// `shedcast` with `words`, in the folder.
    pub fn command(&self, words: &[impl AsRef<std::ffi::OsStr>]) -> Command {
        let mut command = Command::new(cargo_bin!("shedcast"));
        command.current_dir(self.path()).args(words).timeout(PATIENCE);
        NOT_INHERITED.iter().for_each(|name| _ = command.env_remove(name));
        command
    }

    /// Runs it to its end.
    pub fn run(&self, words: &[impl AsRef<std::ffi::OsStr>]) -> Output {
        self.command(words).output().expect("it runs")
    }

    /// All files, links and folders below, with the content of files.
    pub fn content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        content_of(self.path())
    }
}

/// All files, links and folders below `root`, with the content of files.
pub fn content_of(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![root.to_path_buf()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let entry = entry.expect("an entry");
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            let bytes = if kind.is_file() { fs::read(&path).expect("a file") } else { Vec::new() };
            found.insert(path.strip_prefix(root).expect("below it").to_path_buf(), bytes);
            if kind.is_dir() {
                ahead.push(path);
            }
        }
    }
    found
}

/// How long a test waits, or a process took: nothing that a result depends on.
#[expect(clippy::disallowed_methods, reason = "the time that processes and readers take is what is tested")]
pub fn now() -> std::time::Instant {
    std::time::Instant::now()
}
