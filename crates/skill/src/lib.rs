//! Skills: one Org file each, read, loaded, called, run again from what was recorded, tested.
//!
//! A skill is prose, blocks of the skill language and tests. [`Skill::load`] makes it ready; [`SkillRun`] is one call
//! of it, which may ask its host for something and wait for the answer; [`test_skill`] runs its tests, each twice: in a
//! live instance, and once more from what the first run recorded. No IO here: files come in as text, requests go out as
//! values.
//!
//! In reading order:
//! - `fault`: what is wrong with a skill, and where
//! - `manifest`: properties, triggers, dependencies, capabilities
//! - `source`: the Org file; `test_source`: its tests
//! - `part`: what its program defines
//! - `program`: what runs it, in the daemon or in a process
//! - `skill`: a skill that is loaded
//! - `request`, `run`: a call, what it asks for, how it ends; `answer`: what it says
//! - `test_run`: its tests, run
//! - `dependency`: the order in which skills are loaded
//! - `template`: the text of a new skill; `shipped`: skills that come with the program

mod fault;

mod manifest;

mod source;
mod test_source;

mod part;
mod program;
mod skill;

mod answer;
mod request;
mod run;

mod test_run;

mod dependency;

mod template;

mod shipped;

pub use bridle_lisp::SKILL_DEFINITIONS;

pub use answer::{SkillAnswer, SkillJudgment, SkillNotice};
pub use dependency::{DependencyFault, dependency_order};
pub use fault::{FaultPlace, SkillFault, SkillFaultKind};
pub use manifest::{
    Capability, CapabilitySet, InvalidSkillId, SkillId, SkillManifest, SkillStimulus, SkillTrigger,
};
pub use part::{ActionPart, ArgumentPart, ArgumentType, PartKind, SkillPart};
pub use program::{
    LoadedProgram, NoProcesses, ProcessProgram, ProgramCall, ProgramStep, SkillProgram,
    SkillRuntime,
};
pub use request::SkillRequest;
pub use run::{CallLog, LoggedRequest, RunProgress, SkillCall, SkillRun};
pub use shipped::{SHIPPED_SKILLS, ShippedSkill};
pub use skill::{Skill, SkillLimits};
pub use source::{MAX_SKILL_BYTES, ProgramText, SkillSource};
pub use template::new_skill;
pub use test_run::{TestReport, test_skill};
pub use test_source::SkillTest;
