//! Skills in a daemon: a folder of Org files becomes a table of skills, and a thinker that calls them before another one.
//!
//! Called by the daemon, and by `bridle skill` without one. The folder is looked at again and again; a skill that is
//! changed is read, loaded and tested before it takes the place of the old one, which serves until then. A turn ends on
//! the version that it began on: versions are kept by their hash.
//!
//! In reading order:
//! - `storage`: versions, saved values and enabled capabilities in the state directory
//! - `process`: programs that run in processes, in the jail
//! - `shipped_copy`: copies of the skills that come with the program
//! - `registry`: the folder, and the table made of it
//! - `install`: a text that becomes a skill of the folder
//! - `stimulus`: a signal as a skill sees it, and which skill it wakes
//! - `long_result`: results that a prompt names by their place alone
//! - `caller`: answers to requests that need nobody else
//! - `turn_log`: requests and answers of a turn, in its drafts
//! - `thinker`: the thinker that calls skills
//! - `rehearse`: turns of the past, and what another version would have done in them
//! - `provider`: skills that wrap or replace a codec of models
//! - `consultant`: skills that look at signals and judge proposals
//! - `actuator`: skills that carry out orders

mod storage;

mod process;

mod shipped_copy;

mod registry;

mod install;

mod long_result;
mod stimulus;

mod caller;
mod turn_log;

mod rehearse;

mod provider;

mod actuator;
mod consultant;
mod thinker;

pub use actuator::{SkillProposal, SkillProposer, skill_actuators};
pub use consultant::skill_consultants;
pub use install::{InstallFault, SkillInstall};
pub use process::SkillProcesses;
pub use provider::{ProviderStage, call_provider, has_provider_stage};
pub use registry::{SkillEntry, SkillProblem, SkillRegistry, SkillTable};
pub use rehearse::{PastSkillTurn, TurnDifference, rehearse_turn};
pub use shipped_copy::{CopyStanding, ShippedCopy, shipped_copies};
pub use stimulus::SCHEDULE as SKILL_SCHEDULE;
pub use storage::{SkillStorage, StorageError};
pub use thinker::SkillThinker;
