//! Makes the daemon in its faults build and takes it aside, where no other build can touch it. Cargo puts
//! every build of a program in the same place, so somebody else's may be there by the time one looks, or
//! nothing for a moment: what is taken is looked at, and if it is not what was built, built again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::console::{ProgramRun, VerbConsole, root};

/// Words that only a build with fault points has.
const MARK: &[u8] = b"BRIDLE_FAULT_SHADOW";

/// Attempts to build until the build is also what is found. Each failure needs another cargo that
/// ends its work in the milliseconds between a build and the copy.
const BUILDS: usize = 5;

/// Builds the daemon with its fault points and takes it to `folder`; the plain one is then put back in
/// its place, so that nobody finds the other one there.
pub(crate) fn faults(folder: &Path, console: &VerbConsole) -> Result<PathBuf> {
    let build = ["build", "--locked", "--package", "bridle"];
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(folder));
    let (made, binary) = (target.join("debug/bridle"), folder.join("bridle"));
    let mut tries = 1;
    loop {
        ProgramRun::cargo(build).args(["--features", "faults"]).run(console)?;
        match take_aside(&made, &binary) {
            Ok(()) => break,
            Err(error) if tries < BUILDS => console.say(format!("{error:#}; building again")),
            Err(error) => return Err(error),
        }
        tries += 1;
    }
    ProgramRun::cargo(build).run(console)?;
    Ok(binary)
}

/// Copies the daemon, and checks that it is the one with fault points.
fn take_aside(made: &Path, binary: &Path) -> Result<()> {
    // A daemon that an earlier run left behind may still run from there, and such a file cannot be
    // written to; its name can be given to another one.
    if let Err(error) = fs::remove_file(binary)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error).with_context(|| format!("cannot replace `{}`", binary.display()));
    }
    fs::copy(made, binary).with_context(|| {
        format!("cannot copy the daemon from `{}` to `{}`", made.display(), binary.display())
    })?;
    let bytes = fs::read(binary).context("cannot read the copy")?;
    let is_marked = bytes.windows(MARK.len()).any(|words| words == MARK);
    ensure!(is_marked, "`{}` has no fault points: another build took its place", made.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use super::{MARK, take_aside};

    /// A folder that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("bridle-take-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn only_a_build_with_fault_points_is_taken() {
        let folder = Folder::new("mark");
        let (made, binary) = (folder.0.join("made"), folder.0.join("bridle"));
        assert!(take_aside(&made, &binary).unwrap_err().to_string().contains("cannot copy"));
        fs::write(&made, "plain").unwrap();
        assert!(take_aside(&made, &binary).unwrap_err().to_string().contains("no fault points"));
        fs::write(&made, [b"some ", MARK, b" more"].concat()).unwrap();
        take_aside(&made, &binary).unwrap();
        assert_eq!(fs::read(&binary).unwrap(), fs::read(&made).unwrap());
    }

    #[test]
    fn a_copy_that_still_runs_is_replaced() {
        let folder = Folder::new("runs");
        let (made, binary) = (folder.0.join("made"), folder.0.join("bridle"));
        // By another process: a file that this one has open for writing may be inherited by a program
        // that another test starts, and could not be run until that one is under way.
        assert!(Command::new("cp").arg("/bin/cat").arg(&binary).status().unwrap().success());
        let mut old = Command::new(&binary).stdin(Stdio::piped()).spawn().unwrap();
        assert!(fs::write(&binary, "").is_err(), "a file that runs cannot be written");
        fs::write(&made, MARK).unwrap();
        take_aside(&made, &binary).unwrap();
        // Closes its stdin, at which it ends.
        assert!(old.wait().unwrap().success());
    }
}
