//! The probe: what this system can do, tried by a helper that ends afterwards. For the daemon's start
//! and `bridle doctor`.

use std::path::{Path, PathBuf};

use crate::error::JailError;
use crate::layer::JailCapabilities;

/// Program that acts as helper when its first argument is `__jail`.
#[derive(Debug, Clone)]
pub struct HelperProgram {
    path: PathBuf,
}

impl HelperProgram {
    /// Names a program.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> HelperProgram {
        HelperProgram { path: path.into() }
    }

    /// Names the running program, also when its file has been replaced since.
    #[must_use]
    pub fn own() -> HelperProgram {
        HelperProgram::new("/proc/self/exe")
    }

    /// Returns the path of the program.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Asks a helper; the folder must be empty and belong to this user.
///
/// # Errors
///
/// A helper that cannot be started, or that does not answer, is an error: then nothing is known.
#[cfg(target_os = "linux")]
pub(crate) fn probe(helper: &HelperProgram, scratch: &Path) -> Result<JailCapabilities, JailError> {
    use crate::control::{HelperOrder, HelperReport};

    let mut started = crate::spawn::start_helper(helper)?;
    started
        .line
        .send(&HelperOrder::Probe { scratch: scratch.into() }, None)
        .map_err(JailError::Channel)?;
    let answer = started.line.receive::<HelperReport>().map_err(JailError::Channel)?;
    started.child.wait().map_err(JailError::Channel)?;
    match answer {
        Some((HelperReport::Probed(facts), _)) => Ok(JailCapabilities::from_facts(facts)),
        _ => {
            Err(JailError::Channel(std::io::Error::other("the helper gave no answer to the probe")))
        }
    }
}

/// Reports every layer as missing.
///
/// # Errors
///
/// Never fails where there is no Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) fn probe(
    _helper: &HelperProgram,
    _scratch: &Path,
) -> Result<JailCapabilities, JailError> {
    let reasons = vec!["the jail is built from what Linux has".to_owned()];
    Ok(JailCapabilities::from_facts(crate::layer::KernelFacts { reasons, ..Default::default() }))
}
