//! Small files that are written into a directory of the user's.

use std::fs;
use std::io;
use std::path::Path;

use super::Failure;

/// Writes files by name, each under a name of its own first, so that none is ever half there.
pub(super) fn write_all(directory: &Path, files: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    let failed = |path: &Path, error: &io::Error| {
        let hint = "choose another directory with `--out`";
        Failure::Write(format!("{}: cannot write: {error}\n  hint: {hint}", path.display()))
    };
    fs::create_dir_all(directory).map_err(|error| failed(directory, &error))?;
    for (name, bytes) in files {
        let (path, partial) = (directory.join(name), directory.join(format!("{name}.partial")));
        if let Err(error) = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, &path)) {
            // Of no use to anybody; whether it can be removed changes nothing.
            let _ = fs::remove_file(&partial);
            return Err(failed(&path, &error));
        }
    }
    Ok(())
}
