//! Tells the program which commit it was built from, for `--version`: results do not depend on it.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SHEDCAST_COMMIT");
    println!("cargo::rustc-env=SHEDCAST_COMMIT={}", commit());
}

/// The commit that a packager names, else that of this checkout, else "unknown": a tarball has none. Builds for development do
/// not ask, or every commit would compile the crate anew.
fn commit() -> String {
    if let Some(given) = env::var("SHEDCAST_COMMIT").ok().filter(|text| is_plain(text)) {
        return given;
    }
    if env::var("PROFILE").as_deref() != Ok("release") {
        return "development build".to_owned();
    }
    from_git().map_or_else(|| "commit unknown".to_owned(), |commit| format!("commit {commit}"))
}

fn is_plain(text: &str) -> bool {
    (1..=60).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || " .-_".contains(c))
}

fn from_git() -> Option<String> {
    let root = env::var("CARGO_MANIFEST_DIR").ok()?;
    // The checkout of something else around an unpacked tarball says nothing of this program.
    let top = git(&root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != Path::new(&root).canonicalize().ok()? {
        return None;
    }
    let head = git(&root, &["rev-parse", "--git-path", "HEAD"])?;
    println!("cargo::rerun-if-changed={}", Path::new(&root).join(head).display());
    if let Some(reference) = git(&root, &["symbolic-ref", "-q", "HEAD"])
        && let Some(file) = git(&root, &["rev-parse", "--git-path", &reference])
        && Path::new(&root).join(&file).exists()
    {
        println!("cargo::rerun-if-changed={}", Path::new(&root).join(file).display());
    }
    git(&root, &["rev-parse", "--short=12", "HEAD"]).filter(|text| is_plain(text))
}

fn git(folder: &str, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(words).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
