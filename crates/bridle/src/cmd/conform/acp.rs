//! `bridle conform acp`: the kit for agents, with a folder for the sessions that it makes.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use bridle_conform::acp::{AgentPrompts, AgentUnderTest, KIT, cases};

use super::forget::RunSessions;
use super::{check, list, nonce, program};
use crate::args::conform::ConformAcpArgs;
use crate::exit::{BridleExit, CommandFailure};

pub(super) fn run(args: &ConformAcpArgs) -> Result<BridleExit, CommandFailure> {
    let cases = cases();
    if args.program.how.list {
        return list(&cases);
    }
    let program = program(&args.program)?;
    let prompts = AgentPrompts {
        plain: args.prompt.clone(),
        slow: args.prompt_slow.clone(),
        tool: args.prompt_tool.clone(),
    };
    let folder = SessionFolder::of(args.folder.as_deref())?;
    let mut peer = AgentUnderTest::new(program, prompts, folder.path.clone());
    check(KIT, &cases, &mut peer, &args.program.how, RunSessions::default())
}

/// Folder of the sessions; one that was made for the run goes with it.
struct SessionFolder {
    path: PathBuf,
    is_made: bool,
}

impl SessionFolder {
    fn of(given: Option<&Path>) -> Result<SessionFolder, CommandFailure> {
        let failed = |path: &Path, error: &std::io::Error| {
            let what = format!("cannot use the folder `{}`", path.display());
            CommandFailure::because(BridleExit::CannotCreate, what, error)
        };
        if let Some(path) = given {
            let path = std::fs::canonicalize(path).map_err(|error| failed(path, &error))?;
            return Ok(SessionFolder { path, is_made: false });
        }
        let path = std::env::temp_dir().join(format!("bridle-conform-{}", nonce()));
        // What is there already is somebody else's.
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| failed(&path, &error))?;
        Ok(SessionFolder { path, is_made: true })
    }
}

impl Drop for SessionFolder {
    fn drop(&mut self) {
        if self.is_made {
            // A folder in the place for such folders: what stays there harms nobody.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
