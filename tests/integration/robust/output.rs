//! Places that cannot take results: full, closed, read-only, in use. There is a clear error, or the complete earlier files.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;

use super::bench::Bench;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// `shedcast` with `words` under a shell that sets `limits` first.
fn limited(bench: &Bench, limits: &str, words: &str) -> std::process::Output {
    under_shell(bench, limits, Path::new(cargo_bin!("shedcast")), words).output().expect("sh runs")
}

fn under_shell(bench: &Bench, limits: &str, program: &Path, words: &str) -> Command {
    let mut command = Command::new("sh");
    command.current_dir(bench.path()).arg("-c").arg(format!("{limits}; exec \"$0\" {words}")).arg(program);
    command
}

/// A plan whose answer is certain after a run or two of each cell.
const PLAN_WORDS: &str = "plan good.toml --target rate_529\\<=5% --range 1..4 --run-length 21s --no-sensitivity --jobs 1";

#[test]
fn a_full_disk_is_told_and_leaves_the_earlier_results() {
    let bench = Bench::new();
    let plan = format!("{PLAN_WORDS} --quiet --out p");
    for (words, out, blocks) in [
        ("run good.toml --requests-csv --quiet --out r", "r", &[4][..]),
        // With more room the journal fits, and the page of the report does not.
        ("sweep good.toml --grid fleet.workers=1,2 --replications 2 --jobs 1 --quiet --out s", "s", &[4, 56]),
        (&plan, "p", &[4, 56]),
        ("trace convert good.toml t.csv", "t.csv", &[4]),
    ] {
        // Every file may have so many blocks of 512 bytes, and the process is told so, as by a file system that is full.
        let full = |blocks: &u32| format!("trap '' XFSZ; ulimit -f {blocks}");
        let journal_replaced = if matches!(out, "s" | "p" | "t.csv") { format!("{words} --force") } else { words.to_owned() };
        let kept = |bench: &Bench| {
            let mut content = bench.content();
            // The runs that a sweep or a plan has finished are kept for `--resume`.
            content.retain(|name, _| !name.to_string_lossy().ends_with("-journal.jsonl"));
            content
        };
        for blocks in blocks {
            let output = limited(&bench, &full(blocks), &journal_replaced);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words}: {said}");
            assert!(said.contains("cannot write") && said.contains("hint:"), "{words}: {said}");
            let at_first = bench.path().join(out);
            assert!(["summary.json", "sweep.json", "plan.json"].iter().all(|name| !at_first.join(name).exists()));
            assert!(!at_first.is_file());
        }
        assert!(matches!(limited(&bench, "true", &journal_replaced).status.code(), Some(0 | 1)));
        let before = kept(&bench);
        for blocks in blocks {
            let output = limited(&bench, &full(blocks), &journal_replaced);
            assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output.stderr));
            assert!(kept(&bench) == before, "{words}, {blocks} blocks: the earlier results are as they were");
        }
    }
}

#[test]
fn a_process_that_the_limit_ends_leaves_the_earlier_results() {
    let bench = Bench::new();
    let words = "run good.toml --requests-csv --quiet --out r";
    assert_eq!(limited(&bench, "true", words).status.code(), Some(0));
    let before = bench.content();
    // Untold, the system ends the process at the limit.
    let output = limited(&bench, "ulimit -c 0; ulimit -f 4", words);
    assert!(output.status.signal().is_some() || output.status.code() > Some(128), "{:?}", output.status);
    let mut after = bench.content();
    after.retain(|name, _| !name.to_string_lossy().ends_with(".partial"));
    assert!(after == before);
    assert_eq!(limited(&bench, "true", words).status.code(), Some(0));
    assert!(bench.content() == before, "the next run clears up");
}

#[test]
fn standard_output_may_be_full_or_closed() {
    let bench = Bench::new();
    if cfg!(target_os = "linux") {
        let full = || OpenOptions::new().write(true).open("/dev/full").expect("the device");
        for words in [
            &["check", "good.toml"][..],
            &["presets"],
            &["run", "good.toml", "--no-charts"],
            &["trace", "convert", "good.toml", "-"],
        ] {
            let mut command = Command::new(cargo_bin!("shedcast"));
            let output =
                command.current_dir(bench.path()).args(words).stdout(full()).stderr(Stdio::piped()).output().expect("it runs");
            let said = text(&output.stderr);
            assert!(
                output.status.code() == Some(2) && said.starts_with("error: ") && said.contains("No space left"),
                "{words:?}: {said}"
            );
        }
    }
    for words in
        [&["presets"][..], &["run", "good.toml", "--no-charts", "--format", "json"], &["trace", "convert", "good.toml", "-"]]
    {
        let mut command = Command::new(cargo_bin!("shedcast"));
        let mut child = command
            .current_dir(bench.path())
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(0) && !said.contains("error"), "{words:?}: {said}");
    }
}

/// The user that owns nothing, by the number it has on every system that has one.
const NOBODY: u32 = 65_534;

/// `shedcast` as a user whom permissions bind: we, or nobody if we are root.
struct Bound {
    program: PathBuf,
    /// Who, if not we.
    user: Option<u32>,
}

impl Bound {
    /// `None` where no other user can be taken, or none can reach the folder.
    fn new(bench: &Bench, binds_us: bool) -> Option<Self> {
        if binds_us {
            return Some(Self { program: cargo_bin!("shedcast").into(), user: None });
        }
        fs::set_permissions(bench.path(), Permissions::from_mode(0o755)).expect("set");
        // The build may lie where others must not look. By a process of its own: a file that this one had open to write into would be
        // busy while another test starts a process.
        let program = bench.path().join("program");
        let copied = Command::new("cp").arg(cargo_bin!("shedcast")).arg(&program).status().expect("cp runs");
        assert!(copied.success(), "{copied}");
        fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("set");
        let bound = Self { program, user: Some(NOBODY) };
        let can = bound.command(bench, "check good.toml").output().is_ok_and(|output| output.status.success());
        can.then_some(bound)
    }

    fn command(&self, bench: &Bench, words: &str) -> Command {
        let mut command = under_shell(bench, "true", &self.program, words);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }
}

#[test]
fn a_read_only_directory_is_told_before_the_run() {
    let bench = Bench::new();
    for (words, out) in [("run good.toml", "run"), ("sweep good.toml --grid fleet.workers=1,2", "sweep"), (PLAN_WORDS, "plan")] {
        let output = limited(&bench, "true", &format!("{words} --no-charts --quiet --out locked-{out}"));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    }
    let locked = ["locked", "locked-run", "locked-sweep", "locked-plan"].map(|name| bench.path().join(name));
    fs::create_dir(&locked[0]).expect("made");
    let set = |mode| locked.iter().for_each(|path| fs::set_permissions(path, Permissions::from_mode(mode)).expect("set"));
    set(0o555);
    let probe = locked[0].join("probe");
    let binds_us = File::create(&probe).is_err();
    // Where it could be made it is in the way.
    let _ = fs::remove_file(probe);
    let Some(bound) = Bound::new(&bench, binds_us) else {
        println!("skipped: nothing is read-only to this user, and it cannot be another one");
        return;
    };
    let before = bench.content();
    // So much that it would not end: it is told before anything is run.
    for (words, out) in [
        ("run good.toml --set horizon=1000h", "locked-run"),
        ("sweep good.toml --set horizon=1000h --grid fleet.workers=1,2", "locked-sweep"),
        ("plan good.toml --target rate_529\\<=5% --run-length 1000h", "locked-plan"),
    ] {
        for out in ["locked", "locked/new", out] {
            for force in ["", "--force"] {
                let output = bound.command(&bench, &format!("{words} {force} --out {out}")).output().expect("it runs");
                let said = text(&output.stderr);
                let told = said.contains("locked") && said.contains("Permission denied") && said.contains("hint:");
                assert!(output.status.code() == Some(2) && told, "{words} --out {out}: {said}");
            }
        }
    }
    assert!(bench.content() == before, "what was there is as it was");
    // So that the folder can be removed.
    set(0o755);
}

#[test]
fn two_processes_do_not_share_a_directory() {
    let bench = Bench::new();
    let long = ["--set", "horizon=100000h", "--out"];
    for (words, sign) in [
        (&["run", "good.toml", "--requests-csv"][..], "requests.csv.partial"),
        (&["sweep", "good.toml", "--grid", "fleet.workers=1,2"], "sweep-journal.jsonl"),
        (&["plan", "good.toml", "--target", "rate_529<=5%", "--run-length", "scenario"], "plan-journal.jsonl"),
    ] {
        let out = format!("{}-out", words[0]);
        let mut command = Command::new(cargo_bin!("shedcast"));
        command.current_dir(bench.path()).args(words).args(long).arg(&out).stderr(Stdio::null()).stdout(Stdio::null());
        let mut first = command.spawn().expect("it starts");
        let begun = (0..3000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            bench.path().join(&out).join(sign).exists()
        });
        let second = bench.run(&[words, &["--force", "--quiet", "--out", &out]].concat());
        first.kill().expect("it still runs");
        first.wait().expect("it ends");
        let said = text(&second.stderr);
        assert!(begun && second.status.code() == Some(2) && said.contains("another run is writing"), "{words:?}: {said}");
        let third = bench.run(&[words, &["--force", "--quiet", "--out", &out]].concat());
        assert!(matches!(third.status.code(), Some(0 | 1)), "a dead process holds nothing: {}", text(&third.stderr));
    }
}
