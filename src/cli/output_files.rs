//! Files that are written under a name the user gave: never over an input, and over what is there only with `--force`.

use std::fs;
use std::path::Path;

/// Why a file may not be written: a lowercase fragment, and what to do.
pub(super) type Refused = (&'static str, &'static str);

/// Whether `path` may be written by a command that reads `inputs`.
///
/// # Errors
/// It is one of the inputs, under whatever name, or there is a file already and `force` is off.
pub(super) fn may_write<'p>(path: &Path, inputs: impl IntoIterator<Item = &'p Path>, force: bool) -> Result<(), Refused> {
    // A directory cannot be written to at all, which is told later; to a device or a pipe nothing is lost.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Ok(());
    }
    if inputs.into_iter().any(|input| same_file(path, input)) {
        return Err(("this file is read: it cannot be written at the same time", "choose another place"));
    }
    // A link that leads nowhere is there as well.
    match fs::symlink_metadata(path) {
        Ok(_) if !force => Err(("the file is there already", "choose another place, or add `--force` to replace it")),
        _ => Ok(()),
    }
}

/// Whether two names lead to one file, through links of either kind.
fn same_file(a: &Path, b: &Path) -> bool {
    let by_name = || matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b);
    #[cfg(unix)]
    let by_number = || {
        use std::os::unix::fs::MetadataExt as _;
        let number = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino())).ok();
        number(a).is_some_and(|first| number(b) == Some(first))
    };
    #[cfg(not(unix))]
    let by_number = || false;
    by_name() || by_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_needs_force_and_an_input_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["in.csv", "old.csv"] {
            fs::write(at(name), "x").unwrap();
        }
        let asked = |name: &str, force| may_write(&at(name), [at("in.csv").as_path()], force).map_err(|(what, _)| what);
        assert_eq!((asked("new.csv", false), asked("old.csv", true)), (Ok(()), Ok(())));
        assert_eq!(asked("old.csv", false), Err("the file is there already"));
        // What is no file is told by whoever writes.
        assert_eq!(asked(".", false), Ok(()));
        fs::hard_link(at("in.csv"), at("hard.csv")).unwrap();
        let mut names = vec!["in.csv", "hard.csv", "./in.csv"];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("in.csv", at("soft.csv")).unwrap();
            std::os::unix::fs::symlink("gone.csv", at("nowhere.csv")).unwrap();
            names.push("soft.csv");
            assert_eq!(asked("nowhere.csv", false), Err("the file is there already"));
        }
        for name in names.into_iter().filter(|name| cfg!(unix) || *name != "hard.csv") {
            let refused = Err("this file is read: it cannot be written at the same time");
            assert_eq!((asked(name, false), asked(name, true)), (refused, refused), "{name}");
        }
    }
}
